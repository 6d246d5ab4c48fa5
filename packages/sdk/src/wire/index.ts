/** The wire: what the service sends and the client reads. Pages of books as JSON, NDJSON and CSV. */
export { CSV_COLUMNS } from './dialect.ts'
export * from './interleave.ts'
export * from './page.ts'
export * from './problems.ts'
export * from './render.ts'
export type { TimeFormat } from './time-text.ts'
