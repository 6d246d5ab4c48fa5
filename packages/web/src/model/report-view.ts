import {
  marketPaths,
  parseReport,
  ReportFileError,
  type Report,
  type ReportFileErrorCode,
} from '@priorbook/sdk/backtest'
import { isVenueId, printScaled, VENUES, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import type { GapSpan } from './gap.ts'

/** Larger files are refused: parsing takes several times their size in memory. */
export const MAX_REPORT_BYTES = 150_000_000

// Room on both sides of a chart, so that marks at its ends are not cut.
const RANGE_ROOM = 0.02

/** Why a file cannot be shown, with what to do about it. */
export type ReportTrouble = {
  readonly code: ReportFileErrorCode | 'too_large' | 'unreadable'
  readonly text: string
  readonly hint: string
}

/** A fill of a report. */
export type ReportFill = Report['fills_kept'][number]

/** What the page keeps of a report: the rest of a large file is let go. */
export type ReportView = {
  readonly name: string
  readonly run: Report['run']
  readonly headline: Report['headline']
  readonly performance: Report['performance']
  readonly notices: readonly string[]
  readonly fillCount: number
  /** Markets with fills, the largest results first. */
  readonly markets: readonly ReportMarket[]
}

// Times in seconds, and values.
type Points = { readonly times: readonly number[]; readonly values: readonly number[] }

/** One traded market of a report. */
export type ReportMarket = {
  readonly market: string
  readonly venue: VenueId
  readonly marketId: string
  readonly title: string | undefined
  readonly pnl: string
  readonly fees: string
  readonly fills: readonly ReportFill[]
  readonly gaps: readonly GapSpan[]
  /** Microseconds: from the first to the last thing that is drawn. */
  readonly range: { readonly from: number; readonly to: number }
  /** Best prices of the first outcome between 0 and 1, with a hole where a gap begins. */
  readonly prices: {
    readonly times: readonly number[]
    readonly bids: readonly (number | null)[]
    readonly asks: readonly (number | null)[]
  }
  /** First outcome less second, in contracts or shares. */
  readonly position: Points
  /** The size ahead of each resting order, when it joined the queue and at its fills. */
  readonly queue: readonly Points[]
}

/** Reads the text of a file: what the page shows of a report, or why it is none. */
export function readReport(
  name: string,
  text: string,
): { readonly view: ReportView } | { readonly trouble: ReportTrouble } {
  try {
    return { view: toView(name, parseReport(text)) }
  } catch (error) {
    if (!(error instanceof ReportFileError)) throw error
    return { trouble: { code: error.code, text: error.message, hint: error.hint } }
  }
}

/** The trouble with a file that is too large to be read at all. */
export function tooLarge(bytes: number): ReportTrouble {
  const [size, most] = [bytes, MAX_REPORT_BYTES].map((one) => `${Math.round(one / 1e6)} MB`)
  return {
    code: 'too_large',
    text: `The file has ${size}; this page reads at most ${most}.`,
    hint: 'Run the backtest with fewer markets or a shorter range, or open report.html.',
  }
}

/** The price of a fill in the first outcome, between 0 and 1, and whether it buys that outcome. */
export function ofFirstOutcome({ outcome, side, price }: ReportFill): {
  readonly price: number
  readonly isBuy: boolean
} {
  const own = price / 10_000
  return { price: outcome === 0 ? own : 1 - own, isBuy: (side === 'buy') === (outcome === 0) }
}

function toView(name: string, report: Report): ReportView {
  const paths = new Map(
    marketPaths(report.fills_kept, report.settlements).map((path) => [path.market, path]),
  )
  const prices = new Map(report.prices.map(({ market, points }) => [market, points]))
  const fills = Map.groupBy(report.fills_kept, ({ market }) => market)
  const gaps = Map.groupBy(report.gaps.spans, ({ market }) => market)
  const orders = new Map(report.orders_kept.map(({ id, market }) => [id, market]))
  const queues = Map.groupBy(report.queue, ({ order }) => orders.get(order))
  const markets = report.markets.flatMap(({ market, title, pnl, fees }) => {
    const path = paths.get(market)
    const cut = market.indexOf(':')
    const venue = market.slice(0, cut)
    if (path === undefined || !isVenueId(venue)) return []
    const points = prices.get(market) ?? []
    const own = (gaps.get(market) ?? []).map(({ reason, start, end }) => ({
      start,
      end: end ?? undefined,
      reason: reason as GapReason,
      scope: 'market' as const,
      detail: null,
    }))
    const { sizeDecimals } = VENUES[venue]
    const [firstStep, lastStep] = [path.steps[0]!.at, path.steps.at(-1)!.at]
    const from = Math.min(points[0]?.[0] ?? firstStep, firstStep)
    const to = Math.max(points.at(-1)?.[0] ?? lastStep, lastStep)
    const room = (to - from) * RANGE_ROOM
    const range = { from: from - room, to: to + room }
    const made: ReportMarket = {
      market,
      venue,
      marketId: market.slice(cut + 1),
      title: title ?? undefined,
      pnl,
      fees,
      fills: fills.get(market) ?? [],
      gaps: own,
      range,
      prices: toLines(points, own, to),
      position: toPosition(path.steps, range, sizeDecimals),
      queue: toQueue(queues.get(market) ?? []),
    }
    return [made]
  })
  const { run, headline, performance, notices } = report
  return {
    name,
    run,
    headline,
    performance,
    notices,
    fillCount: report.fills.count,
    markets: markets.toSorted((a, b) => Math.abs(Number(b.pnl)) - Math.abs(Number(a.pnl))),
  }
}

function toLines(
  points: Report['prices'][number]['points'],
  gaps: readonly GapSpan[],
  end: number,
): ReportMarket['prices'] {
  const rows: (readonly [number, number | null, number | null])[] = []
  // Prices hold until the next point, and nothing is known inside a gap.
  const holdUntil = (at: number): void => {
    const last = rows.at(-1)
    if (last !== undefined && last[0] < at) rows.push([at, last[1], last[2]])
  }
  const starts = gaps.map(({ start }) => start).toSorted((left, right) => left - right)
  for (const point of points) {
    while (starts.length > 0 && starts[0]! <= point[0]) {
      const start = starts.shift()!
      holdUntil(start)
      rows.push([start + 1, null, null])
    }
    rows.push(point)
  }
  holdUntil(Math.min(end, starts[0] ?? end))
  const price = (value: number | null): number | null => (value === null ? null : value / 10_000)
  return {
    times: rows.map(([at]) => at / 1e6),
    bids: rows.map(([, bid]) => price(bid)),
    asks: rows.map(([, , ask]) => price(ask)),
  }
}

function toPosition(
  steps: readonly { readonly at: number; readonly units: number }[],
  { from, to }: ReportMarket['range'],
  decimals: number,
): Points {
  const rows = [{ at: from, units: 0 }, ...steps, { at: to, units: steps.at(-1)?.units ?? 0 }]
  return {
    times: rows.map(({ at }) => at / 1e6),
    values: rows.map(({ units }) => Number(printScaled(units, decimals))),
  }
}

function toQueue(points: Report['queue']): Points[] {
  return [...Map.groupBy(points, ({ order }) => order).values()].map((own) => ({
    times: own.map(({ at }) => at / 1e6),
    values: own.map(({ ahead }) => Number(ahead)),
  }))
}
