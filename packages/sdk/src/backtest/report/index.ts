/** The report of a run: JSON, CSV and a page. */
export type { Baseline } from './baselines.ts'
export { hashReport, printReport } from './hash.ts'
export type { Confidence } from './bootstrap.ts'
export type { Calibration, CalibrationBucket } from './calibration.ts'
export { REPORT_TABLES, reportCsv, type ReportTable } from './csv.ts'
export { reportHtml } from './html.ts'
export {
  DISCLAIMER,
  QUEUE_DISCLAIMER,
  type ClassResult,
  type MarketResult,
  type Report,
} from './report.ts'
