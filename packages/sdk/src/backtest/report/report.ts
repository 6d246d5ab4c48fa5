import { floorOf, POW10, printMicros, VENUES, VENUE_IDS, type Micros } from '../../domain/index.ts'
import type { Cell } from '../cell.ts'
import { EVIDENCE, EVIDENCE_CLASSES } from '../fill.ts'
import { DEFAULT_LATENCY } from '../latency.ts'
import { eventOf } from '../market-state.ts'
import { divideBig, MONEY_ONE, printMoney } from '../money.ts'
import { MARKOUTS } from '../tally.ts'
import type { World } from '../world.ts'
import { baselinesOf } from './baselines.ts'
import { bootstrap, rounded } from './bootstrap.ts'
import { calibrationOf } from './calibration.ts'
import type { ClassResult, MarketResult, Report } from './report-shape.ts'

/** The words of the interface document about what recorded books cannot tell. */
export const DISCLAIMER =
  'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.'

/** What this report adds to them. */
export const QUEUE_DISCLAIMER =
  'Results of resting orders are models of a queue that nobody recorded. Collateral of all venues is counted one to one.'

/** What the report says about the run beside its results. */
export type ReportOptions = {
  readonly from?: number
  readonly to?: number
  readonly assume?: unknown
  readonly strategy?: unknown
}

/** Builds the report of one cell; `bracket` are the cells of the same run with all queue models. */
export function buildReport(
  world: World,
  cell: Cell,
  bracket: readonly Cell[],
  options: ReportOptions,
): Report {
  const { tally, options: run } = cell
  const markets = world.list.map((state) => marketResult(world, cell, state.index))
  const traded = markets.filter(({ fills }) => fills > 0)
  const classes = classResults(cell)
  const start = VENUE_IDS.reduce((sum, venue) => sum + cell.accounts[venue].start, 0)
  const end = cell.equity()
  const pnl = end - start
  const fees = VENUE_IDS.reduce((sum, venue) => {
    const { flows } = cell.accounts[venue]
    return sum + flows.fees + flows.shareFees
  }, 0)
  const settled = traded.filter(({ payouts }) => payouts !== null)
  const pnlOf = (results: readonly MarketResult[]): number =>
    results.reduce((sum, result) => sum + moneyOf(result.pnl), 0)
  const byMarket = pnlOf(traded)
  const span = Math.max(1, world.now - world.firstAt)
  const unpaidVoids = world.list.filter(
    ({ record, payouts, index }) =>
      record?.status === 'voided' && payouts === undefined && (cell.markets[index]?.fills ?? 0) > 0,
  )
  const lockUps = settled.flatMap(({ locked_s }) => locked_s ?? [])
  const rebates = VENUE_IDS.reduce((sum, venue) => sum + cell.accounts[venue].flows.rebates, 0)
  const below = belowFloor(world, options.from)
  const spread = bracketOf(bracket)
  return {
    format: 'priorbook-backtest/1',
    status: cell.failure === undefined ? 'complete' : 'failed',
    failure: cell.failure ?? null,
    disclaimer: [DISCLAIMER, QUEUE_DISCLAIMER],
    notices: noticesOf(world, cell, below, unpaidVoids.length, spread),
    run: {
      strategy: run.strategy.name ?? 'strategy',
      params: run.params,
      seed: run.seed,
      queue: run.queue,
      latency: { ...DEFAULT_LATENCY, ...run.latency },
      gap_policy: run.gapPolicy,
      print_lag_us: run.printLag,
      near_gap_us: run.nearGap,
      cash: Object.fromEntries(VENUE_IDS.map((venue) => [venue, printMoney(run.cash[venue])])),
      assume: options.assume ?? {},
      from: printMicros((options.from ?? world.firstAt) as Micros),
      to: printMicros((options.to ?? world.now) as Micros),
    },
    headline: {
      pnl: printMoney(pnl),
      pnl_settled: printMoney(pnlOf(settled)),
      pnl_open: printMoney(byMarket - pnlOf(settled)),
      start: printMoney(start),
      end: printMoney(end),
      fees: printMoney(fees),
      settlement_fees_and_rounding: printMoney(pnl - byMarket),
      rebates_apart: printMoney(rebates),
      peak_capital: printMoney(cell.capitalPeak),
      return_on_peak_capital: cell.capitalPeak === 0 ? null : rounded(pnl / cell.capitalPeak),
      mean_capital: printMoney(Math.round(cell.capitalTime / span)),
      max_drawdown: printMoney(cell.curve.drawdown),
      volume: printMoney(tally.volume),
    },
    bracket: spread,
    confidence: bootstrap(byEvent(traded), run.seed),
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
      count: tally.takerFills + tally.makerFills,
      taker: tally.takerFills,
      maker: tally.makerFills,
      mean_book_age_ms: ratio(tally.bookAge / 1000, tally.takerFills + tally.makerFills),
      max_book_age_ms: rounded(tally.bookAgeMost / 1000),
    },
    slippage: {
      from_touch: ratio(tally.slipTouch, tally.takerShares),
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
    evidence: Object.fromEntries(
      EVIDENCE_CLASSES.map((name, index) => [
        name,
        { ...resultOf(classes, [index * 2, index * 2 + 1]), meaning: EVIDENCE[name] },
      ]),
    ) as Report['evidence'],
    gaps: {
      near: resultOf(classes, [1, 3, 5, 7]),
      apart: resultOf(classes, [0, 2, 4, 6]),
      count: world.list.reduce((sum, { gapsSeen }) => sum + gapsSeen, 0),
      seconds: rounded(
        world.list.reduce((sum, state) => sum + state.missingUntil(world.now), 0) / 1e6,
      ),
      orders_cancelled: tally.gapCancels,
      orders_refused: tally.gapRejects,
      spans: world.gapSpans.map((span) => ({ ...span, end: span.end ?? null })),
    },
    exposure: {
      markets_traded: traded.length,
      settled: settled.length,
      open: traded.length - settled.length,
      void_unpaid: unpaidVoids.length,
      disputed: traded.filter(({ disputes }) => disputes > 0).length,
      mean_lock_up_s: ratio(
        lockUps.reduce((sum, each) => sum + each, 0),
        lockUps.length,
      ),
      max_lock_up_s: lockUps.length === 0 ? null : Math.max(...lockUps),
    },
    calibration: calibrationOf(world, cell),
    baselines: baselinesOf(world),
    coverage: {
      observations: world.observations,
      trades: world.counts.trades,
      samples: world.counts.samples,
      revisions: world.counts.revisions,
      trades_without_side: world.counts.sidelessTrades,
      observed: observedShare(world),
      below_floor: below,
    },
    venues: VENUE_IDS.map((venue) => {
      const account = cell.accounts[venue]
      const { flows } = account
      return {
        venue,
        start: printMoney(account.start),
        cash: printMoney(account.cash),
        bought: printMoney(flows.bought),
        sold: printMoney(flows.sold),
        fees: printMoney(flows.fees),
        share_fees: printMoney(flows.shareFees),
        paid_out: printMoney(flows.paidOut),
        merged: printMoney(flows.merged),
        split: printMoney(flows.split),
      }
    }),
    markets,
    equity: cell.curve.points.map(({ at, equity, capital }) => [at, equity, capital]),
    settlements: cell.settlements,
    orders_kept: cell.orders.map((order) => order.view()),
    fills_kept: cell.fills,
    logs: cell.logs,
  }
}

function marketResult(world: World, cell: Cell, index: number): MarketResult {
  const state = world.list[index]!
  const own = cell.markets[index]
  const { record, payouts } = state
  let pnl = 0
  let fees = 0
  for (const bucket of own?.buckets ?? []) {
    if (bucket === undefined) continue
    pnl += bucket.cash
    fees += bucket.fees
  }
  if (own !== undefined) pnl += valueOfUnits(cell, index, totalUnits(own.buckets))
  const span = Math.max(1, state.lastAt - state.firstAt)
  const missing = Math.min(span, state.missingUntil(Math.max(state.lastAt, state.firstAt)))
  const schedule = state.fees(world.now)
  return {
    market: state.name,
    event: eventOf(state),
    title: record?.title ?? null,
    status: record?.status ?? null,
    fills: own?.fills ?? 0,
    pnl: printMoney(pnl),
    fees: printMoney(fees),
    payouts: payouts === undefined ? null : payouts.map((payout) => printMoney(payout)),
    locked_s:
      payouts === undefined || own === undefined || own.fills === 0
        ? null
        : rounded(Math.max(0, state.settledAt - own.firstFillAt) / 1e6),
    disputes: state.disputes,
    late_changes: state.lateChanges,
    observations: state.observations,
    trades: state.trades,
    gaps: state.gapsSeen,
    gap_s: rounded(state.missingUntil(world.now) / 1e6),
    coverage: rounded(1 - missing / span),
    polled: state.isPolled,
    fee_basis: 'unknown' in schedule ? 'unknown' : `${schedule.basis}: ${schedule.source}`,
    tick_source: state.rules()?.source ?? null,
    rows: state.tracks.map(({ key, firstSequence, sequence, rows }) => ({
      key,
      first_sequence: firstSequence,
      last_sequence: sequence,
      rows,
    })),
  }
}

function totalUnits(
  buckets: readonly ({ readonly units: readonly [number, number] } | undefined)[],
): [number, number] {
  const total: [number, number] = [0, 0]
  for (const bucket of buckets) {
    total[0] += bucket?.units[0] ?? 0
    total[1] += bucket?.units[1] ?? 0
  }
  return total
}

// Signed units at the value that the whole holding of the market has.
function valueOfUnits(cell: Cell, index: number, units: readonly [number, number]): number {
  const own = cell.markets[index]!
  const { state } = own
  const [first, second] = totalUnits(own.buckets)
  const net = first - second
  const unit = BigInt(POW10[VENUES[state.venue].sizeDecimals]!)
  const exact =
    BigInt(units[0]) * BigInt(state.valueOf(0, net)) +
    BigInt(units[1]) * BigInt(state.valueOf(1, net))
  return divideBig(exact, unit, 'down')
}

type Sums = { fills: number; pnl: number; fees: number }

// By evidence × 2 + near a gap, over all markets.
function classResults(cell: Cell): Sums[] {
  const sums = Array.from({ length: EVIDENCE_CLASSES.length * 2 }, () => ({
    fills: 0,
    pnl: 0,
    fees: 0,
  }))
  for (const own of cell.active) {
    for (const [index, bucket] of own.buckets.entries()) {
      if (bucket === undefined) continue
      const sum = sums[index]!
      sum.fills += bucket.fills
      sum.fees += bucket.fees
      sum.pnl += bucket.cash + valueOfUnits(cell, own.state.index, bucket.units)
    }
  }
  return sums
}

function resultOf(sums: readonly Sums[], indexes: readonly number[]): ClassResult {
  const total = { fills: 0, pnl: 0, fees: 0 }
  for (const index of indexes) {
    total.fills += sums[index]!.fills
    total.pnl += sums[index]!.pnl
    total.fees += sums[index]!.fees
  }
  return { fills: total.fills, pnl: printMoney(total.pnl), fees: printMoney(total.fees) }
}

function byEvent(markets: readonly MarketResult[]): number[] {
  const events = new Map<string, number>()
  for (const { event, pnl } of markets) events.set(event, (events.get(event) ?? 0) + Number(pnl))
  return [...events.values()]
}

function bracketOf(cells: readonly Cell[]): Report['bracket'] {
  if (cells.length !== 3) return null
  const pnl = cells.map((cell) => {
    const start = VENUE_IDS.reduce((sum, venue) => sum + cell.accounts[venue].start, 0)
    return printMoney(cell.equity() - start)
  })
  return {
    pessimistic: pnl[0]!,
    proportional: pnl[1]!,
    optimistic: pnl[2]!,
    maker_fills: cells.map(({ tally }) => tally.makerFills),
    is_one_number: new Set(pnl).size === 1,
  }
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

function belowFloor(world: World, from: number | undefined): string[] {
  if (from === undefined) return []
  const said = world.list.flatMap(({ venue, record }) => {
    const floor = floorOf(venue, 'books', { asset: record?.asset, window: record?.window })
    return floor !== undefined && from < floor
      ? [`books of ${venue} begin at ${printMicros(floor)}: nothing before it is part of this run`]
      : []
  })
  return [...new Set(said)]
}

function noticesOf(
  world: World,
  cell: Cell,
  below: readonly string[],
  unpaidVoids: number,
  bracket: Report['bracket'],
): string[] {
  const notices = [...below]
  const { failure, tally, options } = cell
  if (failure !== undefined) {
    notices.push(`The strategy failed in ${failure.hook} and was stopped there: ${failure.message}`)
  }
  if (bracket !== null && !bracket.is_one_number) {
    notices.push(
      'The queue models disagree: the result of the resting orders lies between them and is not one number.',
    )
  }
  const hasSingleModel = bracket === null && tally.makerFills > 0
  if (hasSingleModel)
    notices.push(`Resting orders were filled by the ${options.queue} model alone.`)
  if (unpaidVoids > 0) {
    notices.push(
      `${unpaidVoids} voided markets said no payout: their positions are marked, not paid.`,
    )
  }
  const late = world.list.reduce((sum, { lateChanges }) => sum + lateChanges, 0)
  if (late > 0)
    notices.push(`${late} final results changed after they were paid; not booked again.`)
  if (cell.fillCount.value > cell.fills.length) {
    notices.push(
      `${cell.fillCount.value} fills, of which the first ${cell.fills.length} are listed.`,
    )
  }
  return notices
}

function ratio(value: number, by: number): number | null {
  return by === 0 ? null : rounded(value / by)
}

function moneyOf(text: string): number {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.')
  const units = Number(whole) * MONEY_ONE + Number(fraction.padEnd(8, '0'))
  return text.startsWith('-') ? -units : units
}
