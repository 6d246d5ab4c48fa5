import { floorOf, printMicros, VENUE_IDS, type Micros } from '../../domain/index.ts'
import { DEFAULT_LATENCY } from '../run-options.ts'
import { printMoney } from '../money.ts'
import { EVIDENCE, EVIDENCE_CLASSES, REJECT_REASONS, type RejectReason } from '../order.ts'
import { MARKOUTS, type Tally } from '../statistics.ts'
import type { StrategyRun } from '../strategy-run.ts'
import type { World } from '../world.ts'
import { breakdownOf } from './breakdown.ts'
import { baselinesOf, bootstrap, calibrationOf, rounded, type Confidence } from './evaluation.ts'
import { classResult, classSums, marketResults, type MarketPnl } from './market-results.ts'
import { performanceOf } from './performance.ts'
import type { MarketResult, Report } from './report-shape.ts'
import { pricesOf, queueOf } from './traces.ts'

/** What recorded books cannot tell, in the words of the interface document. */
export const DISCLAIMER =
  'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.'

/** What this report adds to them. */
export const QUEUE_DISCLAIMER =
  'Results of resting orders come from a model, because no venue records its queue. Collateral of all venues is added one to one.'

/** What the caller of the run asked for. */
export type ReportOptions = {
  readonly from?: number
  readonly to?: number
  readonly assume?: unknown
}

/** Builds the report of one run; `bracket` holds the runs of the same strategy with all queue models. */
export function buildReport(
  world: World,
  run: StrategyRun,
  bracket: readonly StrategyRun[],
  options: ReportOptions,
): Report {
  const { ledger, orders, engine, hooks } = run
  const markets = marketResults(world, run)
  const traded = markets.filter(({ result }) => result.fills > 0)
  const belowFloors = floorNotices(world, options.from)
  const spread = bracketOf(bracket)
  const unpaidVoids = countUnpaidVoids(world, run)
  const confidence = bootstrap(sumByEvent(traded), run.options.seed)
  const kept = orders.views()
  const fills = engine.fills.views()
  return {
    format: 'priorbook-backtest/1',
    status: hooks.isAlive ? 'complete' : 'failed',
    failure: hooks.failure ?? null,
    disclaimer: [DISCLAIMER, QUEUE_DISCLAIMER],
    notices: [
      ...refusalNotices(run),
      ...belowFloors,
      ...noticesOf(world, run, unpaidVoids, spread, confidence),
    ],
    run: runSection(world, run, options),
    headline: headlineOf(world, run, traded),
    bracket: spread,
    confidence,
    performance: performanceOf(world, run, fills),
    ...activitySections(run.tally),
    ...evidenceSections(world, run),
    exposure: exposureOf(traded, unpaidVoids),
    calibration: calibrationOf(world, run),
    baselines: baselinesOf(world),
    coverage: {
      observations: world.observations,
      trades: world.counts.trades,
      samples: world.counts.samples,
      revisions: world.counts.revisions,
      trades_without_side: world.counts.sidelessTrades,
      data: Object.fromEntries([...world.dataRows].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      observed: observedShare(world),
      below_floor: belowFloors,
    },
    venues: venueSections(run),
    markets: markets.map(({ result }) => result),
    breakdown: breakdownOf(run),
    equity: ledger.curve.points.map(({ at, equity, capital }) => [at, equity, capital]),
    settlements: run.settlements,
    orders_kept: kept,
    fills_kept: fills,
    logs: hooks.logs,
    prices: pricesOf(world, run),
    queue: queueOf(run, kept),
  }
}

function runSection(world: World, { options: run }: StrategyRun, options: ReportOptions) {
  return {
    strategy: run.strategy.name ?? 'strategy',
    params: run.params,
    seed: run.seed,
    queue: run.queue,
    latency: { ...DEFAULT_LATENCY, ...run.latency },
    ...(run.limits === undefined ? {} : { limits: run.limits }),
    gap_policy: run.gapPolicy,
    print_lag_us: run.printLag,
    near_gap_us: run.nearGap,
    cash: Object.fromEntries(VENUE_IDS.map((venue) => [venue, printMoney(run.cash[venue])])),
    assume: options.assume ?? {},
    from: printMicros((options.from ?? world.firstAt) as Micros),
    to: printMicros((options.to ?? world.now) as Micros),
  } satisfies Report['run']
}

function headlineOf(
  world: World,
  { ledger, tally }: StrategyRun,
  traded: readonly MarketPnl[],
): Report['headline'] {
  const end = ledger.equity()
  const pnl = end - ledger.start
  const pnlTraded = sumOf(traded, (market) => market.pnl)
  const pnlSettled = sumOf(traded, (market) => (isSettled(market) ? market.pnl : 0))
  const accounts = VENUE_IDS.map((venue) => ledger.accounts[venue])
  const span = Math.max(1, world.now - world.firstAt)
  return {
    pnl: printMoney(pnl),
    pnl_settled: printMoney(pnlSettled),
    pnl_open: printMoney(pnlTraded - pnlSettled),
    start: printMoney(ledger.start),
    end: printMoney(end),
    fees: printMoney(sumOf(accounts, ({ flows }) => flows.fees + flows.shareFees)),
    settlement_fees_and_rounding: printMoney(pnl - pnlTraded),
    rebates_apart: printMoney(sumOf(accounts, ({ flows }) => flows.rebates)),
    peak_capital: printMoney(ledger.capitalPeak),
    return_on_peak_capital: ratio(pnl, ledger.capitalPeak),
    mean_capital: printMoney(Math.round(ledger.capitalTime / span)),
    max_drawdown: printMoney(ledger.curve.drawdown),
    volume: printMoney(tally.volume),
  }
}

function activitySections(
  tally: Tally,
): Pick<Report, 'orders' | 'fills' | 'slippage' | 'markouts'> {
  const fills = tally.takerFills + tally.makerFills
  return {
    orders: {
      sent: tally.sent,
      arrived: tally.arrived,
      rejected: tally.rejected,
      reasons: Object.fromEntries(
        Object.entries(tally.reasons).toSorted(([left], [right]) => (left < right ? -1 : 1)),
      ),
      cancelled: tally.cancelled,
      expired: tally.expired,
      with_fills: tally.touched,
      filled_whole: tally.whole,
      fill_rate_orders: ratio(tally.touched, tally.arrived),
      fill_rate_size: ratio(tally.got, tally.wanted),
    },
    fills: {
      count: fills,
      taker: tally.takerFills,
      maker: tally.makerFills,
      mean_book_age_ms: ratio(tally.bookAge / 1000, fills),
      max_book_age_ms: rounded(tally.bookAgeMax / 1000),
    },
    slippage: {
      from_touch: ratio(tally.slipTouch, tally.slipTouchShares),
      from_mid: ratio(tally.slipMid, tally.slipMidShares),
    },
    markouts: MARKOUTS.map((micros, index) => {
      const taker = tally.markouts.taker[index]!
      const maker = tally.markouts.maker[index]!
      return {
        seconds: micros / 1e6,
        taker: ratio(taker.gain, taker.shares),
        maker: ratio(maker.gain, maker.shares),
        fills: taker.fills + maker.fills,
        missing: taker.missing + maker.missing,
      }
    }),
  }
}

function evidenceSections(world: World, run: StrategyRun): Pick<Report, 'evidence' | 'gaps'> {
  const sums = classSums(run)
  const indexes = [...EVIDENCE_CLASSES.keys()]
  const missing = sumOf(world.list, (state) => state.missingUntil(world.now))
  return {
    evidence: Object.fromEntries(
      EVIDENCE_CLASSES.map((name, index) => [
        name,
        { ...classResult(sums, [index * 2, index * 2 + 1]), meaning: EVIDENCE[name] },
      ]),
    ) as Report['evidence'],
    gaps: {
      near: classResult(
        sums,
        indexes.map((index) => index * 2 + 1),
      ),
      apart: classResult(
        sums,
        indexes.map((index) => index * 2),
      ),
      count: sumOf(world.list, ({ gapsSeen }) => gapsSeen),
      seconds: rounded(missing / 1e6),
      orders_cancelled: run.tally.gapCancels,
      orders_refused: run.tally.gapRejects,
      spans: world.gapSpans.map((span) => ({ ...span, end: span.end ?? null })),
    },
  }
}

function exposureOf(traded: readonly MarketPnl[], unpaidVoids: number): Report['exposure'] {
  const settled = traded.filter(isSettled)
  const lockUps = settled.flatMap(({ result }) => result.locked_s ?? [])
  return {
    markets_traded: traded.length,
    settled: settled.length,
    open: traded.length - settled.length,
    void_unpaid: unpaidVoids,
    disputed: traded.filter(({ result }) => result.disputes > 0).length,
    mean_lock_up_s: ratio(
      sumOf(lockUps, (seconds) => seconds),
      lockUps.length,
    ),
    max_lock_up_s: lockUps.length === 0 ? null : Math.max(...lockUps),
  }
}

function venueSections({ ledger }: StrategyRun): Report['venues'] {
  return VENUE_IDS.map((venue) => {
    const { start, cash, flows } = ledger.accounts[venue]
    return {
      venue,
      start: printMoney(start),
      cash: printMoney(cash),
      bought: printMoney(flows.bought),
      sold: printMoney(flows.sold),
      fees: printMoney(flows.fees),
      share_fees: printMoney(flows.shareFees),
      paid_out: printMoney(flows.paidOut),
      merged: printMoney(flows.merged),
      split: printMoney(flows.split),
    }
  })
}

function isSettled({ result }: { readonly result: MarketResult }): boolean {
  return result.payouts !== null
}

function sumByEvent(markets: readonly MarketPnl[]): number[] {
  const events = new Map<string, number>()
  for (const { result } of markets) {
    events.set(result.event, (events.get(result.event) ?? 0) + Number(result.pnl))
  }
  return [...events.values()]
}

function bracketOf(runs: readonly StrategyRun[]): Report['bracket'] {
  if (runs.length !== 3) return null
  const units = runs.map(({ ledger }) => ledger.equity() - ledger.start)
  const pnl = units.map(printMoney)
  return {
    pessimistic: pnl[0]!,
    proportional: pnl[1]!,
    optimistic: pnl[2]!,
    smallest: printMoney(Math.min(...units)),
    largest: printMoney(Math.max(...units)),
    maker_fills: runs.map(({ tally }) => tally.makerFills),
    is_one_number: new Set(pnl).size === 1,
  }
}

function countUnpaidVoids(world: World, run: StrategyRun): number {
  return world.list.filter(
    ({ record, payouts, index }) =>
      record?.status === 'voided' &&
      payouts === undefined &&
      (run.markets[index]?.statistics.fills ?? 0) > 0,
  ).length
}

function observedShare(world: World): number {
  let span = 0
  let missing = 0
  for (const state of world.list) {
    const own = Math.max(0, state.lastAt - state.firstAt)
    span += own
    missing += Math.min(own, state.missingUntil(state.lastAt))
  }
  return span === 0 ? 1 : rounded(1 - missing / span)
}

function floorNotices(world: World, from: number | undefined): string[] {
  if (from === undefined) return []
  const notices = world.list.flatMap(({ venue, record }) => {
    const floor = floorOf(venue, 'books', { asset: record?.asset, window: record?.window })
    return floor !== undefined && from < floor
      ? [`books of ${venue} begin at ${printMicros(floor)}: nothing before it is part of this run`]
      : []
  })
  return [...new Set(notices)]
}

// Without fills a result of 0 says nothing, so the reasons come first.
function refusalNotices({ tally, active, engine }: StrategyRun): string[] {
  // Refused cancels are among the refusals, so that their number alone does not say it.
  if (tally.sent === 0 || tally.arrived > 0 || engine.fillCount > 0) return []
  if (tally.rejected < tally.sent) return []
  const reasons = Object.entries(tally.reasons)
    .toSorted(([left, many], [right, few]) => few - many || (left < right ? -1 : 1))
    .map(([reason, count]) => `${count} ${reason}: ${REJECT_REASONS[reason as RejectReason]}`)
  const notices = [
    `All ${tally.sent} orders were refused and nothing was traded. ${reasons.join(' ')}`,
  ]
  if (tally.reasons.rules_unknown === undefined) return notices
  const unknown = active.filter(
    ({ state }) => state.rules()?.isPartial ?? state.rules() === undefined,
  )
  const venues = new Set(unknown.map(({ state }) => state.venue))
  const ticks = [...venues].map((venue) => `${venue}-tick=0.01`).join(',')
  notices.push(
    `Assume a tick that the venue is known to have had: assume.rules, on the command line --assume ${ticks}.`,
  )
  return notices
}

function noticesOf(
  world: World,
  { hooks, tally, options, engine }: StrategyRun,
  unpaidVoids: number,
  bracket: Report['bracket'],
  confidence: Confidence,
): string[] {
  const { failure } = hooks
  const late = sumOf(world.list, ({ lateChanges }) => lateChanges)
  const notices: (readonly [applies: boolean, text: string])[] = [
    [
      failure !== undefined,
      `The strategy failed in ${failure?.hook} and was stopped there: ${failure?.message}`,
    ],
    [
      options.isOnlyModel,
      `The strategy is an object, so only the ${options.queue} queue model was run: export a function that creates it to run all three.`,
    ],
    [
      bracket !== null && !bracket.is_one_number,
      'The queue models disagree, so the result of resting orders is not one number. The models are three guesses about the queue: their results are neither ordered nor bounds, and the truth may lie outside them.',
    ],
    [
      bracket === null && tally.makerFills > 0,
      `Resting orders were filled by the ${options.queue} model alone.`,
    ],
    [
      confidence.events > 0 && confidence.is_small,
      `Only ${confidence.events} independent ${confidence.events === 1 ? 'event has' : 'events have'} fills: too few for a 95 % band, and a result that one more event can turn around.`,
    ],
    [
      unpaidVoids > 0,
      `${unpaidVoids} voided markets have no payout: their positions are marked, not paid.`,
    ],
    [late > 0, `${late} final results changed after they were paid; the changes are not booked.`],
    [
      engine.fillCount > engine.fills.count,
      `${engine.fillCount} fills, of which the first ${engine.fills.count} are listed.`,
    ],
  ]
  return notices.flatMap(([applies, text]) => (applies ? [text] : []))
}

function sumOf<T>(list: readonly T[], valueOf: (item: T) => number): number {
  return list.reduce((sum, item) => sum + valueOf(item), 0)
}

function ratio(value: number, by: number): number | null {
  return by === 0 ? null : rounded(value / by)
}
