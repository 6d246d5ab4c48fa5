import { parseMicros, type MarketRecord } from '../../domain/index.ts'
import type { FeeFormula, FeeSchedule } from './schedule.ts'

/** One row of the dated table: what held for whom, from when until when, and who says so. */
export type FeeTableRow = {
  readonly venue: MarketRecord['venue']
  /** The category of C or the prefix of a series of B; absent: everything else. */
  readonly family?: string
  readonly from: string
  /** Absent: until now. A hole between two rows means that nobody said when the change came. */
  readonly until?: string
  readonly formula: FeeFormula
  readonly source: string
}

const CENT = 1_000_000
const taker = (rate: number): FeeFormula => ({ kind: 'quadratic', taker: rate, precision: CENT })
const curve = (rate: number, exponent = 1, rebate = 250_000): FeeFormula => ({
  kind: 'curve',
  rate,
  exponent,
  rebate,
})

const KALSHI = 'Kalshi fee schedule; rounding: docs.kalshi.com/getting_started/fee_rounding'
const POLYMARKET = 'docs.polymarket.com/trading/fees'

/** Published fees by time; used where a market's own record holds no schedule. */
export const FEE_TABLE: readonly FeeTableRow[] = [
  // Half rate for the index series; whether makers pay is an attribute of the series.
  ...['INX', 'KXINX', 'NASDAQ100', 'KXNASDAQ100'].map((family) => ({
    venue: 'venueb' as const,
    family,
    from: '2025-01-01',
    formula: taker(35_000),
    source: KALSHI,
  })),
  { venue: 'venueb', from: '2025-01-01', formula: taker(70_000), source: KALSHI },

  // Three formulas inside one year of data. Holes are times of which no page was kept.
  {
    venue: 'venuec',
    from: '2022-11-01',
    until: '2026-01-01',
    formula: { kind: 'none' },
    source: 'no taker fee before January 2026',
  },
  {
    venue: 'venuec',
    family: 'crypto',
    from: '2026-01-08',
    until: '2026-03-01',
    formula: curve(250_000, 2, 200_000),
    source: 'rate 0.25, exponent 2 on 15-minute crypto, January 2026 presets of public tools',
  },
  {
    venue: 'venuec',
    family: 'crypto',
    from: '2026-04-01',
    until: '2026-06-01',
    formula: curve(72_000, 1, 200_000),
    source: `${POLYMARKET} as of spring 2026`,
  },
  {
    venue: 'venuec',
    family: 'crypto',
    from: '2026-06-08',
    formula: curve(70_000, 1, 200_000),
    source: `${POLYMARKET}; feeSchedule of markets of 2026-06-08`,
  },
  {
    venue: 'venuec',
    family: 'sports',
    from: '2026-06-08',
    formula: curve(30_000),
    source: POLYMARKET,
  },
  ...['finance', 'politics', 'mentions', 'tech'].map((family) => ({
    venue: 'venuec' as const,
    family,
    from: '2026-06-08',
    formula: curve(40_000),
    source: POLYMARKET,
  })),
  ...['economics', 'culture', 'weather', 'other'].map((family) => ({
    venue: 'venuec' as const,
    family,
    from: '2026-06-08',
    formula: curve(50_000),
    source: POLYMARKET,
  })),
  {
    venue: 'venuec',
    family: 'geopolitics',
    from: '2026-06-08',
    formula: { kind: 'none' },
    source: POLYMARKET,
  },

  {
    venue: 'venuea',
    from: '2026-05-05',
    formula: { kind: 'shares', bps: 200 },
    source: 'feeRateBps 200 in every answer seen; dev.predict.fun/trading/fees',
  },
]

/** The row that holds for a market at a time. */
export function tableRow(record: MarketRecord, at: number): FeeSchedule | undefined {
  const family = familyOf(record)
  const row = FEE_TABLE.find(
    (each) =>
      each.venue === record.venue &&
      (each.family === undefined || matches(record, each.family, family)) &&
      at >= day(each.from) &&
      (each.until === undefined || at < day(each.until)),
  )
  return row === undefined
    ? undefined
    : { formula: row.formula, basis: 'table', source: `${row.source} (from ${row.from})` }
}

function matches(record: MarketRecord, wanted: string, family: string | undefined): boolean {
  if (record.venue !== 'venueb') return family === wanted
  // KXINX, KXINXU and KXINXY are index series; a longer word is another one only if it starts otherwise.
  return (record.seriesTicker ?? record.marketId).startsWith(wanted)
}

// Rounds on a coin are crypto; other markets only where the venue names the category.
function familyOf(record: MarketRecord): string | undefined {
  if (record.venue !== 'venuec') return undefined
  if (record.asset !== undefined) return 'crypto'
  const gamma = record.native['gamma']
  if (typeof gamma !== 'object' || gamma === null || Array.isArray(gamma)) return undefined
  const { category } = gamma as { readonly category?: unknown }
  return typeof category === 'string' ? category.toLowerCase() : undefined
}

function day(text: string): number {
  return parseMicros(`${text}T00:00:00Z`)
}
