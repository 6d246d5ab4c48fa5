import { printMicros, type Micros } from '../../domain/index.ts'
import { printMoney, printShownPrice } from '../money.ts'
import type { Report } from './report-shape.ts'
import { quoteCell } from '../../wire/index.ts'

/** The report as JSON text: the same run gives the same bytes. */
export function printReport(report: Report): string {
  return `${JSON.stringify(report, undefined, 1)}\n`
}

/** The SHA-256 of the report's JSON text. */
export async function hashReport(report: Report): Promise<string> {
  const bytes = new TextEncoder().encode(printReport(report))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The tables of a report that can be exported as CSV. */
export const REPORT_TABLES = ['fills', 'orders', 'markets', 'equity', 'settlements'] as const

/** One table. */
export type ReportTable = (typeof REPORT_TABLES)[number]

/** One table of a report as CSV with a header line; times are ISO, lists are JSON text. */
export function reportCsv(report: Report, table: ReportTable): string {
  return PRINTERS[table](report)
}

type Value = string | number | null | undefined
type Columns<Row> = Readonly<Record<string, (row: Row) => Value>>

const time = (at: number | undefined): string => (at === undefined ? '' : printMicros(at as Micros))
const price = (shown: number | undefined): string =>
  shown === undefined ? '' : printShownPrice(shown)

const FILLS: Columns<Report['fills_kept'][number]> = {
  id: ({ id }) => id,
  order: ({ order }) => order,
  time: ({ at }) => time(at),
  market: ({ market }) => market,
  outcome: ({ outcome }) => outcome,
  side: ({ side }) => side,
  liquidity: ({ liquidity }) => liquidity,
  price: (fill) => price(fill.price),
  size: ({ size }) => size,
  fee: ({ fee }) => fee,
  fee_shares: ({ feeShares }) => feeShares,
  evidence: ({ evidence }) => evidence,
  rows: ({ rows }) => JSON.stringify(rows),
  book_age_us: ({ bookAge }) => bookAge,
  tag: ({ tag }) => tag,
}

const ORDERS: Columns<Report['orders_kept'][number]> = {
  id: ({ id }) => id,
  market: ({ market }) => market,
  outcome: ({ outcome }) => outcome,
  side: ({ side }) => side,
  price: (order) => price(order.price),
  size: ({ size }) => size,
  filled: ({ filled }) => filled,
  state: ({ state }) => state,
  reason: ({ reason }) => reason,
  time_in_force: ({ timeInForce }) => timeInForce,
  sent: ({ sentAt }) => time(sentAt),
  arrived: ({ arrivedAt }) => time(arrivedAt),
  tag: ({ tag }) => tag,
}

const MARKETS: Columns<Report['markets'][number]> = {
  market: ({ market }) => market,
  event: ({ event }) => event,
  title: ({ title }) => title,
  status: ({ status }) => status,
  fills: ({ fills }) => fills,
  pnl: ({ pnl }) => pnl,
  fees: ({ fees }) => fees,
  payouts: ({ payouts }) => (payouts === null ? '' : JSON.stringify(payouts)),
  locked_s: ({ locked_s }) => locked_s,
  coverage: ({ coverage }) => coverage,
}

const EQUITY: Columns<Report['equity'][number]> = {
  time: ([at]) => time(at),
  equity: ([, equity]) => printMoney(equity),
  capital: ([, , capital]) => printMoney(capital),
}

const SETTLEMENTS: Columns<Report['settlements'][number]> = {
  time: (settlement) => time(settlement.time),
  market: ({ market }) => market,
  payouts: ({ payouts }) => JSON.stringify(payouts),
  paid: ({ paid }) => paid,
}

const PRINTERS: Readonly<Record<ReportTable, (report: Report) => string>> = {
  fills: ({ fills_kept }) => printTable(FILLS, fills_kept),
  orders: ({ orders_kept }) => printTable(ORDERS, orders_kept),
  markets: ({ markets }) => printTable(MARKETS, markets),
  equity: ({ equity }) => printTable(EQUITY, equity),
  settlements: ({ settlements }) => printTable(SETTLEMENTS, settlements),
}

function printTable<Row>(columns: Columns<Row>, rows: readonly Row[]): string {
  const lines = [
    Object.keys(columns),
    ...rows.map((row) => Object.values(columns).map((read) => read(row))),
  ]
  return `${lines.map((line) => line.map(printCell).join(',')).join('\n')}\n`
}

// A tag of a strategy may look like a formula, which a spreadsheet must not run.
function printCell(value: Value): string {
  if (value === null || value === undefined) return ''
  const text = String(value)
  const safe = typeof value === 'string' && /^[=+@\t\r]/.test(text) ? `'${text}` : text
  return quoteCell(safe)
}
