/** The parts of Apache Parquet that files of the service and converted files use. */
export * from './parquet-format.ts'
