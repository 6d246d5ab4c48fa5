/** The report of a run: as JSON, CSV and an HTML page. */
export { compareReports, type ComparedFigure, type Comparison } from './comparison.ts'
export { comparisonHtml } from './comparison-html.ts'
export type { Baseline, Calibration, CalibrationBucket, Confidence } from './evaluation.ts'
export { reportHtml, type ReportPageOptions } from './html.ts'
export {
  parseReport,
  REPORT_FILE_ERRORS,
  ReportFileError,
  type ReportFileErrorCode,
} from './parse.ts'
export { reportParquet } from './parquet.ts'
export type { Performance } from './performance.ts'
export type { DayRatio } from './ratios.ts'
export { marketPaths, type MarketPath, type PositionStep, type RoundTrip } from './round-trips.ts'
export { hashReport, printReport, REPORT_TABLES, reportCsv, type ReportTable } from './print.ts'
export type {
  BreakdownRow,
  BreakdownTables,
  ClassResult,
  DataInput,
  InputFile,
  Inputs,
  MarketResult,
  Report,
} from './report-shape.ts'
export { DISCLAIMER, QUEUE_DISCLAIMER } from './report.ts'
