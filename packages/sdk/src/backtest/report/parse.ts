import { isVenueId } from '../../domain/index.ts'
import type { Report } from './report-shape.ts'

/** Why a file cannot be shown as a report. */
export const REPORT_FILE_ERRORS = {
  not_json: 'The file is not JSON.',
  not_a_report: 'The file is JSON, but not the report of a backtest.',
  other_format: 'The report has a format that this version does not know.',
  old_report: 'The report was written by an older version, which did not keep all that is shown.',
  damaged: 'The report is incomplete: parts of it are missing or have another type.',
} as const

/** One reason. */
export type ReportFileErrorCode = keyof typeof REPORT_FILE_ERRORS

/** A file that is not a report of this version. */
export class ReportFileError extends Error {
  readonly code: ReportFileErrorCode
  /** What to do about it. */
  readonly hint: string

  constructor(code: ReportFileErrorCode, detail = '') {
    super(`${REPORT_FILE_ERRORS[code]}${detail === '' ? '' : ` ${detail}`}`)
    this.name = 'ReportFileError'
    this.code = code
    this.hint = HINTS[code]
  }
}

const HINTS: Readonly<Record<ReportFileErrorCode, string>> = {
  not_json: 'Choose the file report.json that priorbook backtest --out FOLDER writes.',
  not_a_report: 'Choose the file report.json that priorbook backtest --out FOLDER writes.',
  other_format: 'Open it with the version that wrote it, or run the backtest again.',
  old_report: 'Run the backtest again with this version.',
  damaged: 'Copy the file again, or run the backtest again.',
}

const FORMAT: Report['format'] = 'priorbook-backtest/1'
const LISTS = ['disclaimer', 'notices', 'markets', 'equity', 'settlements', 'fills_kept'] as const
const OBJECTS = ['run', 'headline', 'confidence', 'orders', 'fills', 'gaps', 'coverage'] as const
// Members that reports of older versions do not have.
const LATER = ['performance', 'prices', 'queue'] as const

/** Parses the text of `report.json`; throws a `ReportFileError`. */
export function parseReport(text: string): Report {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ReportFileError('not_json')
  }
  if (!isObject(value) || typeof value['format'] !== 'string') {
    throw new ReportFileError('not_a_report')
  }
  const { format } = value
  if (!format.startsWith('priorbook-backtest/')) throw new ReportFileError('not_a_report')
  if (format !== FORMAT) throw new ReportFileError('other_format', `It is ${format}.`)
  for (const name of LISTS) {
    if (!Array.isArray(value[name])) throw new ReportFileError('damaged', `No list ${name}.`)
  }
  for (const name of OBJECTS) {
    if (!isObject(value[name])) throw new ReportFileError('damaged', `No member ${name}.`)
  }
  for (const name of LATER) {
    if (value[name] === undefined) throw new ReportFileError('old_report', `It has no ${name}.`)
  }
  checkRows(value)
  return value as unknown as Report
}

type Check = (row: Readonly<Record<string, unknown>>) => boolean

// What the drawings read of every row.
const ROWS: Readonly<Record<string, Check>> = {
  markets: ({ market, pnl }) => isMarket(market) && isDecimal(pnl),
  fills_kept: ({ at, market, price, size, feeShares, fee, side }) =>
    isNumber(at) &&
    isMarket(market) &&
    isNumber(price) &&
    isDecimal(size) &&
    isDecimal(feeShares) &&
    isDecimal(fee) &&
    (side === 'buy' || side === 'sell'),
  settlements: ({ market, time, payouts }) =>
    isMarket(market) && isNumber(time) && Array.isArray(payouts) && payouts.every(isDecimal),
  prices: ({ market, points }) =>
    isMarket(market) && Array.isArray(points) && points.every(isPricePoint),
  queue: ({ order, at, ahead }) => isNumber(order) && isNumber(at) && isDecimal(ahead),
}

function checkRows(report: Readonly<Record<string, unknown>>): void {
  for (const [name, isGood] of Object.entries(ROWS)) {
    const rows = report[name]
    if (!Array.isArray(rows)) throw new ReportFileError('damaged', `No list ${name}.`)
    const bad = rows.findIndex((row) => !isObject(row) || !isGood(row))
    if (bad >= 0) throw new ReportFileError('damaged', `Row ${bad + 1} of ${name} is wrong.`)
  }
  const { spans } = report['gaps'] as { readonly spans?: unknown }
  if (!Array.isArray(spans)) throw new ReportFileError('damaged', 'No list gaps.spans.')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}

function isDecimal(value: unknown): boolean {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)
}

function isMarket(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const cut = value.indexOf(':')
  return isVenueId(value.slice(0, cut)) && cut < value.length - 1
}

function isPricePoint(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 3 || !isNumber(value[0])) return false
  return value.slice(1).every((price) => price === null || isNumber(price))
}
