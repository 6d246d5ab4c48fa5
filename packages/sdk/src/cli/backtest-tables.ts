import type { Report } from '../backtest/index.ts'
import { layTable } from '../command-line/index.ts'

// Max markets that the summary lists; the report has all of them.
const MAX_MARKETS = 20

const COLUMNS = [
  { head: '' },
  { head: 'markets', right: true },
  { head: 'fills', right: true },
  { head: 'result', right: true },
  { head: 'fees', right: true },
]

/** The tables of a run over several markets: by market, day, hour of day and time to close. */
export function printTables({ markets, breakdown }: Report): string {
  const traded = markets
    .filter(({ fills }) => fills > 0)
    .toSorted((left, right) => Math.abs(Number(right.pnl)) - Math.abs(Number(left.pnl)))
  if (traded.length === 0) return ''
  const left = traded.length - MAX_MARKETS
  const byMarket = traded.slice(0, MAX_MARKETS).map((row) => ({ ...row, name: row.market }))
  const tables = [
    table('by market', byMarket),
    ...(left > 0 ? [`${left} more markets: markets.csv of --out lists them`] : []),
    table('by day (UTC)', breakdown.by_day),
    table('by hour of day (UTC)', breakdown.by_hour),
    table('by time to close', breakdown.by_time_to_close),
  ]
  return `\n${tables.join('\n')}\n`
}

type Row = {
  readonly name: string
  readonly markets?: number
  readonly fills: number
  readonly pnl: string
  readonly fees: string
}

function table(head: string, rows: readonly Row[]): string {
  const [first, ...rest] = COLUMNS
  const columns = [{ ...first!, head }, ...rest]
  const cells = rows.map(({ name, markets = 1, fills, pnl, fees }) => [
    name,
    String(markets),
    String(fills),
    pnl,
    fees,
  ])
  return `${layTable(columns, cells).join('\n')}\n`
}
