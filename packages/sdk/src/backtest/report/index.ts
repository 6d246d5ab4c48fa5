/** The report of a run: as JSON, CSV and an HTML page. */
export type { Baseline, Calibration, CalibrationBucket, Confidence } from './evaluation.ts'
export { reportHtml } from './html.ts'
export { hashReport, printReport, REPORT_TABLES, reportCsv, type ReportTable } from './print.ts'
export type {
  BreakdownRow,
  BreakdownTables,
  ClassResult,
  MarketResult,
  Report,
} from './report-shape.ts'
export { DISCLAIMER, QUEUE_DISCLAIMER } from './report.ts'
