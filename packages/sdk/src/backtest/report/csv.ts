import { printMicros, printScaled, type Micros } from '../../domain/index.ts'
import { PRICE_DECIMALS } from '../money.ts'
import type { Report } from './report-shape.ts'

/** The tables of a report that can be had as CSV. */
export const REPORT_TABLES = ['fills', 'orders', 'markets', 'equity', 'settlements'] as const

/** One of them. */
export type ReportTable = (typeof REPORT_TABLES)[number]

/** One table of a report as CSV with a header line; times are ISO, lists are JSON text. */
export function reportCsv(report: Report, table: ReportTable): string {
  const rows = ROWS[table](report)
  return `${rows.map((row) => row.map(cell).join(',')).join('\n')}\n`
}

type Cell = string | number | boolean | null | undefined

const time = (at: number | undefined): string => (at === undefined ? '' : printMicros(at as Micros))
const price = (ticks: number | undefined): string =>
  ticks === undefined ? '' : printScaled(ticks, PRICE_DECIMALS)
const money = (units: number): string => printScaled(units, 8)

const ROWS: Readonly<Record<ReportTable, (report: Report) => Cell[][]>> = {
  fills: ({ fills_kept }) => [
    [
      'id',
      'order',
      'time',
      'market',
      'outcome',
      'side',
      'liquidity',
      'price',
      'size',
      'fee',
      'fee_shares',
      'evidence',
      'rows',
      'book_age_us',
      'tag',
    ],
    ...fills_kept.map((fill) => [
      fill.id,
      fill.order,
      time(fill.at),
      fill.market,
      fill.outcome,
      fill.side,
      fill.liquidity,
      price(fill.price),
      fill.size,
      fill.fee,
      fill.feeShares,
      fill.evidence,
      JSON.stringify(fill.rows),
      fill.bookAge,
      fill.tag,
    ]),
  ],
  orders: ({ orders_kept }) => [
    [
      'id',
      'market',
      'outcome',
      'side',
      'price',
      'size',
      'filled',
      'state',
      'reason',
      'time_in_force',
      'sent',
      'arrived',
      'tag',
    ],
    ...orders_kept.map((order) => [
      order.id,
      order.market,
      order.outcome,
      order.side,
      price(order.price),
      order.size,
      order.filled,
      order.state,
      order.reason,
      order.timeInForce,
      time(order.sentAt),
      time(order.arrivedAt),
      order.tag,
    ]),
  ],
  markets: ({ markets }) => [
    [
      'market',
      'event',
      'title',
      'status',
      'fills',
      'pnl',
      'fees',
      'payouts',
      'locked_s',
      'coverage',
    ],
    ...markets.map((each) => [
      each.market,
      each.event,
      each.title,
      each.status,
      each.fills,
      each.pnl,
      each.fees,
      each.payouts === null ? '' : JSON.stringify(each.payouts),
      each.locked_s,
      each.coverage,
    ]),
  ],
  equity: ({ equity }) => [
    ['time', 'equity', 'capital'],
    ...equity.map(([at, value, capital]) => [time(at), money(value), money(capital)]),
  ],
  settlements: ({ settlements }) => [
    ['time', 'market', 'payouts', 'paid'],
    ...settlements.map((each) => [
      time(each.time),
      each.market,
      JSON.stringify(each.payouts),
      each.paid,
    ]),
  ],
}

// Text of strategies (tags) may start like a formula; a spreadsheet must not run it.
function cell(value: Cell): string {
  if (value === null || value === undefined) return ''
  const text = String(value)
  const safe = typeof value === 'string' && /^[=+@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
