import { printScaled } from '../../domain/index.ts'
import { MONEY_DECIMALS, parseMoney } from '../money.ts'
import { bootstrap, type Confidence } from './evaluation.ts'
import type { DayRatio } from './ratios.ts'
import type { Report } from './report-shape.ts'

/** One figure of two reports. */
export type ComparedFigure = {
  readonly name: string
  readonly first: string
  readonly second: string
  /** Second less first; empty where the figure is not a number. */
  readonly difference: string
  /** True where the second is better, false where it is worse; undefined where neither can be said. */
  readonly isBetter: boolean | undefined
}

/** Two reports beside each other. */
export type Comparison = {
  readonly figures: readonly ComparedFigure[]
  /** What the runs do not have in common: settings, markets, data and code. */
  readonly differences: readonly (readonly [name: string, first: string, second: string])[]
  /** The result of each market in both, the largest differences first. */
  readonly markets: readonly {
    readonly market: string
    readonly first: string | null
    readonly second: string | null
    readonly difference: string
  }[]
  /** Second less first over events, resampled: events, not fills, are independent. */
  readonly confidence: Confidence
}

/** Compares two reports figure by figure. */
export function compareReports(first: Report, second: Report): Comparison {
  return {
    figures: FIGURES.map(([name, read, better]) => figureOf(name, read, better, first, second)),
    differences: differencesOf(first, second),
    markets: marketsOf(first, second),
    confidence: bootstrap(byEvent(first, second), first.run.seed),
  }
}

type Value = string | number | null | undefined
type Better = 'more' | 'less' | undefined

const FIGURES: readonly (readonly [name: string, read: (report: Report) => Value, Better])[] = [
  ['result', ({ headline }) => headline.pnl, 'more'],
  ['settled', ({ headline }) => headline.pnl_settled, 'more'],
  ['open', ({ headline }) => headline.pnl_open, undefined],
  ['fees', ({ headline }) => headline.fees, 'less'],
  ['volume', ({ headline }) => headline.volume, undefined],
  ['largest drawdown', ({ headline }) => headline.max_drawdown, 'less'],
  ['peak capital', ({ headline }) => headline.peak_capital, undefined],
  ['return on peak capital', ({ headline }) => headline.return_on_peak_capital, 'more'],
  ['Sharpe, a year', ({ performance }) => performance.sharpe.annual, 'more'],
  ['its standard error', ({ performance }) => errorOf(performance.sharpe), undefined],
  ['Sortino, a year', ({ performance }) => performance.sortino.annual, 'more'],
  ['its standard error', ({ performance }) => errorOf(performance.sortino), undefined],
  ['round trips', ({ performance }) => performance.round_trips.count, undefined],
  ['win rate', ({ performance }) => performance.round_trips.win_rate, 'more'],
  ['turnover', ({ performance }) => performance.turnover, undefined],
  ['maker share', ({ performance }) => performance.maker_share, undefined],
  ['time in the market', ({ performance }) => performance.time_in_market, undefined],
  ['orders sent', ({ orders }) => orders.sent, undefined],
  ['orders refused', ({ orders }) => orders.rejected, 'less'],
  ['fills', ({ fills }) => fills.count, undefined],
  ['fill rate', ({ orders }) => orders.fill_rate_size, undefined],
  ['slippage from the mid', ({ slippage }) => slippage.from_mid, 'less'],
  ['observed', ({ coverage }) => coverage.observed, undefined],
]

function errorOf(ratio: DayRatio): number | null {
  return ratio.annual_error
}

function figureOf(
  name: string,
  read: (report: Report) => Value,
  better: Better,
  first: Report,
  second: Report,
): ComparedFigure {
  const [left, right] = [read(first), read(second)]
  const shown = { name, first: textOf(left), second: textOf(right) }
  const difference = lessOf(left, right)
  if (difference === undefined) return { ...shown, difference: '', isBetter: undefined }
  const sign = Math.sign(Number(difference))
  const isBetter = better === undefined || sign === 0 ? undefined : sign > 0 === (better === 'more')
  return { ...shown, difference, isBetter }
}

// Money is subtracted exactly, statistics as numbers.
function lessOf(left: Value, right: Value): string | undefined {
  if (typeof left === 'string' && typeof right === 'string') return lessMoney(left, right)
  if (typeof left === 'number' && typeof right === 'number') return textOf(right - left)
  return undefined
}

function lessMoney(left: string, right: string): string {
  return printScaled(parseMoney(right) - parseMoney(left), MONEY_DECIMALS)
}

function textOf(value: Value): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'string' ? value : String(Math.round(value * 1e6) / 1e6 + 0)
}

function differencesOf(first: Report, second: Report): (readonly [string, string, string])[] {
  const facts = (report: Report): Record<string, string> => {
    const { run, inputs } = report
    return {
      strategy: run.strategy,
      parameters: JSON.stringify(run.params),
      seed: String(run.seed),
      queue: run.queue,
      latency: JSON.stringify(run.latency),
      limits: JSON.stringify(run.limits ?? {}),
      'gap policy': run.gap_policy,
      cash: JSON.stringify(run.cash),
      assumptions: JSON.stringify(run.assume),
      range: `${run.from} to ${run.to}`,
      markets: String(report.markets.length),
      status: report.status,
      Priorbook: inputs?.priorbook ?? 'not said',
      'strategy file': inputs?.strategy.sha256 ?? 'not said',
      files: inputs?.files.map(({ sha256 }) => sha256).join(', ') ?? 'not said',
      'data files':
        inputs?.data?.map(({ feed, sha256 }) => `${feed} ${sha256}`).join(', ') ?? 'not said',
      rows: inputs?.rows_sha256 ?? 'not said',
    }
  }
  const [left, right] = [facts(first), facts(second)]
  return Object.keys(left)
    .filter((name) => left[name] !== right[name])
    .map((name) => [name, left[name]!, right[name]!])
}

function marketsOf(first: Report, second: Report): Comparison['markets'] {
  const own = (report: Report): Map<string, string> =>
    new Map(report.markets.filter(({ fills }) => fills > 0).map(({ market, pnl }) => [market, pnl]))
  const [left, right] = [own(first), own(second)]
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((market) => {
      const [a, b] = [left.get(market), right.get(market)]
      const difference = lessMoney(a ?? '0', b ?? '0')
      return { market, first: a ?? null, second: b ?? null, difference }
    })
    .toSorted((a, b) => Math.abs(Number(b.difference)) - Math.abs(Number(a.difference)))
}

// Events that either run traded.
function byEvent(first: Report, second: Report): number[] {
  const sums = new Map<string, number>()
  for (const [sign, report] of [[-1, first] as const, [1, second] as const]) {
    for (const { event, fills, pnl } of report.markets) {
      if (fills > 0) sums.set(event, (sums.get(event) ?? 0) + sign * Number(pnl))
    }
  }
  return [...sums.values()]
}
