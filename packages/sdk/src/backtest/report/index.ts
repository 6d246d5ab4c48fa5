/** The report of a run: JSON, CSV and a page. */
export type { Baseline } from './baselines.ts'
export { hashReport, printReport } from './hash.ts'
export type { Confidence } from './bootstrap.ts'
export type { Calibration, CalibrationBucket } from './calibration.ts'
export { REPORT_TABLES, reportCsv, type ReportTable } from './csv.ts'
export { reportHtml } from './html.ts'
export type { ClassResult, MarketResult, Report } from './report-shape.ts'
export { DISCLAIMER, QUEUE_DISCLAIMER } from './report.ts'
