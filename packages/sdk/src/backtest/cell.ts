import {
  POW10,
  PriorbookError,
  printScaled,
  VENUES,
  VENUE_IDS,
  type VenueId,
} from '../domain/index.ts'
import type { BookColumns } from '../tape/index.ts'
import { Account, bookFill, mergePairs, payOut, revenueOf, splitPairs } from './account.ts'
import { Agenda } from './agenda.ts'
import { addChance, CellMarket, chanceBuckets } from './cell-market.ts'
import { createContext } from './context.ts'
import {
  EngineOrder,
  outcomeIndex,
  parseOrder,
  parseUnits,
  type ParsedOrder,
} from './engine-order.ts'
import { EquityCurve } from './equity.ts'
import { charge, chargeBound, type FeeFormula } from './fees/index.ts'
import { EVIDENCE_CLASSES, type Evidence, type FillView } from './fill.ts'
import { createLatency, type Latency, type LatencyOptions } from './latency.ts'
import { isLoss, type MarketState, type Track } from './market-state.ts'
import { affordable, MONEY_ONE, notional, payoutOf, PRICE_ONE, printMoney } from './money.ts'
import type { EndReason, OrderRequest, OrderState, OrderView, RejectReason } from './order.ts'
import { RestingLevel, type QueueModel } from './queue.ts'
import { createRandom, type Random } from './random.ts'
import { isOnTick, type VenueRules } from './rules.ts'
import type { GapView, Params, SettlementView, Strategy, StrategyContext } from './strategy.ts'
import { createTally, MARKOUTS } from './tally.ts'
import type { BookGlance, WhyStep } from './why.ts'

/** What happens to resting orders when the market is not observed any more. */
export const GAP_POLICIES = ['cancel', 'freeze'] as const

/** `cancel`: they end where the gap begins; `freeze`: they stay, unfilled, and queue anew after it. */
export type GapPolicy = (typeof GAP_POLICIES)[number]

/** One run of one strategy over the tape that it shares with others. */
export type CellOptions = {
  readonly strategy: Strategy
  readonly params: Params
  readonly seed: number
  readonly queue: QueueModel
  /** True where the same run is made with all queue models: results of resting orders are a bracket. */
  readonly isBracketed: boolean
  readonly latency: LatencyOptions
  readonly gapPolicy: GapPolicy
  /** Money units by venue. */
  readonly cash: Readonly<Record<VenueId, number>>
  /** How long a print may come after its change of the book, in microseconds. */
  readonly printLag: number
  /** Fills this close to a gap are reported apart, in microseconds. */
  readonly nearGap: number
  /** How many orders, fills and stories are kept for the report. */
  readonly keep: number
  readonly explain: number
}

/** What a cell needs to know of the run that it is part of. */
export interface CellWorld {
  readonly markets: ReadonlyMap<string, MarketState>
  /** Something is planned at a time. */
  noteDue(at: number): void
}

/** Where a strategy failed. */
export type Failure = { readonly hook: string; readonly at: number; readonly message: string }

type Plan =
  | { readonly kind: 'arrive'; readonly order: EngineOrder }
  | { readonly kind: 'cancel'; readonly order: EngineOrder }
  | { readonly kind: 'replace'; readonly old: EngineOrder; readonly order: EngineOrder }
  | { readonly kind: 'expire'; readonly order: EngineOrder }
  | { readonly kind: 'timer'; readonly tag: string }
  | { readonly kind: 'told'; readonly view: OrderView }
  | {
      readonly kind: 'markout'
      readonly market: CellMarket
      readonly isTaker: boolean
      readonly horizon: number
      readonly framePrice: number
      /** +1: gains when the frame's mid rises. */
      readonly sign: number
      readonly shares: number
    }

// A strategy that plans without end at one instant would stop the clock.
const MOST_AT_ONCE = 100_000
const MOST_LOGS = 1000
const GLANCE_DEPTH = 5

/**
 * The engine of one strategy: orders, queue, account. It owns no book; the world hands it every event
 * before and after the shared book changes.
 */
export class Cell {
  readonly options: CellOptions
  readonly accounts: Readonly<Record<VenueId, Account>>
  readonly tally = createTally()
  readonly curve: EquityCurve
  readonly markets: (CellMarket | undefined)[] = []
  /** Markets that something happened in. */
  readonly active: CellMarket[] = []
  readonly orders: EngineOrder[] = []
  readonly fills: FillView[] = []
  readonly logs: string[] = []
  readonly settlements: SettlementView[] = []
  readonly agenda = new Agenda<Plan>()
  readonly fillCount = { value: 0 }
  now = 0
  failure: Failure | undefined
  /** Money units bound in positions and set aside for orders, its peak and its integral over time. */
  capital = 0
  capitalPeak = 0
  capitalTime = 0
  private capitalSince = 0
  private lastCapital = 0
  private readonly world: CellWorld
  private readonly latency: Latency
  private readonly random: Random
  private readonly context: StrategyContext
  private readonly live = new Map<number, EngineOrder>()
  private readonly outbox: (() => void)[] = []
  private nextOrder = 1
  private instant = -1
  private atInstant = 0

  constructor(world: CellWorld, options: CellOptions) {
    this.world = world
    this.options = options
    const accounts = VENUE_IDS.map((venue) => [venue, new Account(venue, options.cash[venue])])
    this.accounts = Object.fromEntries(accounts) as Record<VenueId, Account>
    this.curve = new EquityCurve(this.equity())
    this.random = createRandom(options.seed, 'strategy')
    this.latency = createLatency(options.latency, createRandom(options.seed, 'latency'))
    this.context = createContext(this, this.random, world, options.params)
  }

  get isAlive(): boolean {
    return this.failure === undefined
  }

  // ---------------------------------------------------------------- what the world tells

  start(at: number): void {
    this.now = at
    this.capitalSince = at
    this.call('onStart', (strategy) => strategy.onStart?.(this.context))
  }

  /** Does everything that is due before a time. */
  drain(until: number): void {
    const { agenda } = this
    while (agenda.next < until && this.isAlive) {
      const { at, what } = agenda.take()!
      this.now = at
      if (at !== this.instant) {
        this.instant = at
        this.atInstant = 0
      } else if (++this.atInstant > MOST_AT_ONCE) {
        this.fail('onTimer', new Error('plans without end at one instant'))
        return
      }
      this.perform(what)
      this.flush()
    }
  }

  /** A row of the market's own ladder is about to be applied. */
  beforeRow(cell: CellMarket, track: Track, columns: BookColumns, row: number, at: number): void {
    this.now = at
    const { key, size } = columns
    const factor = POW10[4 - columns.priceDecimals]!
    const end = columns.changeEnd[row]!
    for (let index = columns.changeStart(row); index < end; index++) {
      const side = (key[index]! & 1) as 0 | 1
      const price = (key[index]! >>> 1) * factor
      const levelKey = price * 2 + side
      const after = size[index]!
      const taken = cell.taken.get(levelKey)
      if (taken !== undefined && after < taken) {
        if (after === 0) cell.taken.delete(levelKey)
        else cell.taken.set(levelKey, after)
      }
      const level = cell.levels.get(levelKey)
      if (level === undefined) continue
      const before = track.sizeAt(side, price)
      if (!cell.state.isPolled) level.resize(at, before, after)
      else if (!cell.state.inGap && isTouch(track, side, price)) {
        level.shrinkUnseen(before, after, (order, filled, evidence) => {
          this.fillMaker(cell, order, filled, evidence, [track.rowId])
        })
      }
    }
  }

  /** The row was applied. */
  afterRow(cell: CellMarket, track: Track, at: number): void {
    this.now = at
    for (const level of cell.levels.values()) {
      level.expire(at, track.sizeAt(level.side, level.price))
    }
    if (!cell.state.inGap) this.meetBook(cell, track)
    this.settleLevels(cell)
    this.flush()
  }

  /** The book of the market starts anew: what was taken is gone, and orders queue at the end. */
  bookRestarts(cell: CellMarket, track: Track, at: number): void {
    this.now = at
    cell.taken.clear()
    for (const level of cell.levels.values()) {
      level.requeue(track.sizeAt(level.side, level.price))
    }
    if (!cell.state.inGap) this.meetBook(cell, track)
    this.settleLevels(cell)
    this.flush()
  }

  /** Calls `onBook`. */
  bookSeen(track: Track, at: number): void {
    this.now = at
    try {
      this.options.strategy.onBook!(track.view!, this.context)
    } catch (error) {
      this.fail('onBook', error)
    }
  }

  /** A print in the market's frame: the taker bought or sold the frame's outcome. */
  printed(
    cell: CellMarket,
    at: number,
    price: number,
    size: number,
    isBuy: boolean,
    row: string,
  ): void {
    this.now = at
    const { state } = cell
    if (state.inGap || state.isPolled) return
    const track = state.primary!
    const side = isBuy ? 1 : 0
    const met = [...cell.levels.values()]
      .filter(
        (level) => level.side === side && (isBuy ? level.price <= price : level.price >= price),
      )
      .sort((left, right) => (isBuy ? left.price - right.price : right.price - left.price))
    let left = size
    for (const level of met) {
      if (left === 0) break
      const onFill = (order: EngineOrder, filled: number, evidence: Evidence): void =>
        this.fillMaker(cell, order, filled, evidence, [row, track.rowId])
      left =
        level.price === price
          ? level.printAt(at, left, onFill)
          : level.printThrough(at, left, onFill)
    }
    this.settleLevels(cell)
    this.flush()
  }

  gapOpens(state: MarketState, view: GapView, at: number): void {
    this.now = at
    const cell = this.markets[state.index]
    if (cell !== undefined && isLoss(view.reason)) {
      cell.moveNear(at - this.options.nearGap)
      if (this.options.gapPolicy === 'cancel') {
        for (const order of cell.resting()) {
          this.tally.gapCancels++
          this.end(cell, order, 'cancelled', 'gap')
        }
      }
    }
    this.call('onGap', (strategy) => strategy.onGap?.(view, this.context))
    this.flush()
  }

  gapCloses(state: MarketState, view: GapView, at: number): void {
    this.now = at
    const cell = this.markets[state.index]
    if (cell !== undefined && isLoss(view.reason)) cell.gapEnd = at
    this.call('onGap', (strategy) => strategy.onGap?.(view, this.context))
    this.flush()
  }

  /** The market takes no orders any more. */
  marketCloses(cell: CellMarket, at: number): void {
    this.now = at
    for (const order of cell.resting()) this.end(cell, order, 'cancelled', 'closed')
    this.flush()
  }

  /** The market pays. */
  settle(state: MarketState, payouts: readonly number[], at: number): void {
    this.now = at
    const cell = this.markets[state.index]
    if (cell !== undefined) {
      this.marketCloses(cell, at)
      const { units } = cell.holding
      if (units[0] !== 0 || units[1] !== 0) {
        const { paid, fee } = payOut(cell.account, cell.holding, payouts)
        cell.paid += paid - fee
        this.noteCapital()
        const view: SettlementView = Object.freeze({
          market: state.name,
          payouts: Object.freeze(payouts.map((payout) => printMoney(payout))),
          paid: printMoney(paid - fee),
          time: at,
        })
        if (this.settlements.length < this.options.keep) this.settlements.push(view)
        this.call('onSettle', (strategy) => strategy.onSettle?.(view, this.context))
      }
      cell.taken.clear()
      cell.noteBusy()
    }
    this.samplePoint(at)
    this.flush()
  }

  /** Calls a hook of the strategy; a strategy that throws is done. */
  call(hook: string, run: (strategy: Strategy) => void): void {
    if (!this.isAlive) return
    try {
      run(this.options.strategy)
    } catch (error) {
      this.fail(hook, error)
    }
  }

  /** The context, for hooks that the world calls. */
  get strategyContext(): StrategyContext {
    return this.context
  }

  samplePoint(at: number): void {
    this.curve.add(at, this.equity(), this.capital)
  }

  finish(at: number): void {
    this.drain(at + 1)
    this.now = at
    this.call('onEnd', (strategy) => strategy.onEnd?.(this.context))
    for (const order of this.live.values()) {
      order.state = 'cancelled'
      order.reason = 'run_end'
    }
    this.capitalTime += this.capital * (at - this.capitalSince)
    this.capitalSince = at
    this.samplePoint(at)
  }

  /** Cash and positions at their marks, all venues. */
  equity(): number {
    let equity = 0
    for (const venue of VENUE_IDS) equity += this.accounts[venue].cash
    for (const cell of this.active) equity += this.valueOf(cell)
    return equity
  }

  /** What the holding of a market is worth: payouts, or what its net side would be sold for. */
  valueOf({ state, holding }: CellMarket): number {
    const [first, second] = holding.units as [number, number]
    if (first === 0 && second === 0) return 0
    const net = first - second
    return (
      payoutOf(state.venue, state.valueOf(0, net), first) +
      payoutOf(state.venue, state.valueOf(1, net), second)
    )
  }

  // ---------------------------------------------------------------- what the strategy asks

  send(request: OrderRequest): number {
    const id = this.nextOrder++
    this.tally.sent++
    const parsed = parseOrder(request, this.world.markets)
    if (typeof parsed === 'string') {
      this.refuse(id, parsed)
      return id
    }
    const order = this.create(id, parsed)
    this.plan(this.now + this.latency.entry(), { kind: 'arrive', order })
    return id
  }

  cancel(id: number): void {
    const order = this.live.get(id)
    if (order === undefined) {
      this.countReason('unknown_order')
      return
    }
    this.plan(this.now + this.latency.cancel(), { kind: 'cancel', order })
  }

  replace(id: number, change: Pick<OrderRequest, 'price' | 'size'>): number {
    const next = this.nextOrder++
    this.tally.sent++
    const old = this.live.get(id)
    if (old === undefined) {
      this.refuse(next, 'unknown_order')
      return next
    }
    const decimals = VENUES[old.market.venue].sizeDecimals
    const parsed = parseOrder(
      {
        market: old.market.name,
        outcome: old.outcome,
        side: old.side,
        size: change.size ?? printScaled(old.remaining, decimals),
        ...((change.price ?? old.price) === undefined ? {} : { price: change.price ?? old.price! }),
        timeInForce: old.timeInForce,
        ...(old.expires === undefined ? {} : { expires: old.expires }),
        postOnly: old.postOnly,
        reduceOnly: old.reduceOnly,
        ...(old.tag === undefined ? {} : { tag: old.tag }),
      },
      this.world.markets,
    )
    if (typeof parsed === 'string') {
      this.refuse(next, parsed)
      return next
    }
    const order = this.create(next, parsed)
    this.plan(this.now + this.latency.cancel(), { kind: 'replace', old, order })
    return next
  }

  merge(market: string, size: unknown): boolean {
    const cell = this.cellOf(market)
    if (cell === undefined) return false
    const { units, reserved } = cell.holding
    const most = size === undefined ? Infinity : parseUnits(cell.state, size)
    if (most === undefined) return false
    const free = Math.min(units[0]! - reserved[0]!, units[1]! - reserved[1]!)
    if (size !== undefined && most > free) return false
    const merged = mergePairs(cell.account, cell.holding, Math.min(most, free))
    this.tally.mergedUnits += merged
    this.noteCapital()
    return merged > 0
  }

  split(market: string, size: unknown): boolean {
    const cell = this.cellOf(market)
    if (cell === undefined || cell.state.venue === 'venueb') return false
    const units = parseUnits(cell.state, size)
    if (units === undefined || cell.state.refusal(this.now) !== undefined) return false
    const done = splitPairs(cell.account, cell.holding, units)
    this.noteCapital()
    return done
  }

  timer(at: number, tag: string): void {
    if (!Number.isSafeInteger(at)) {
      throw new PriorbookError('invalid_time', `a timer at ${at} is not a time in microseconds`)
    }
    this.plan(Math.max(at, this.now), { kind: 'timer', tag })
  }

  forecast(market: string, chance: number, outcome: number | string | undefined): void {
    const cell = this.cellOf(market)
    const index = cell === undefined ? undefined : outcomeIndex(cell.state, outcome)
    if (cell === undefined || index === undefined || !(chance >= 0 && chance <= 1)) return
    const first = index === 0 ? chance : 1 - chance
    const said = (cell.forecasts ??= {
      count: 0,
      sum: 0,
      squares: 0,
      midCount: 0,
      midSum: 0,
      midSquares: 0,
      pairedSum: 0,
      pairedSquares: 0,
      buckets: chanceBuckets(),
    })
    said.count++
    said.sum += first
    said.squares += first * first
    addChance(said.buckets, first, 1)
    const mid = midOf(cell.state)
    if (mid === undefined) return
    said.midCount++
    said.midSum += mid
    said.midSquares += mid * mid
    said.pairedSum += first
    said.pairedSquares += first * first
  }

  openOrders(market: string | undefined): EngineOrder[] {
    return [...this.live.values()].filter(
      (order) => market === undefined || order.market.name === market,
    )
  }

  order(id: number): EngineOrder | undefined {
    return this.live.get(id) ?? this.orders.find((order) => order.id === id)
  }

  /** The run's side of a market, made when first needed. */
  cellOf(name: string): CellMarket | undefined {
    const state = this.world.markets.get(name)
    return state === undefined ? undefined : this.cellFor(state)
  }

  // ---------------------------------------------------------------- inside

  private cellFor(state: MarketState): CellMarket {
    const known = this.markets[state.index]
    if (known !== undefined) return known
    const made = new CellMarket(state, this.accounts[state.venue])
    this.markets[state.index] = made
    this.active.push(made)
    return made
  }

  private create(id: number, parsed: ParsedOrder): EngineOrder {
    const order = new EngineOrder(id, parsed, this.now)
    const track = order.market.primary
    if (track !== undefined) {
      const { ladder, factor } = track
      const bid = ladder.bestBid * factor
      const ask = ladder.bestAsk === ladder.one ? 0 : ladder.bestAsk * factor
      const same = order.outcome === track.outcome
      order.sentBid = same ? bid : ask === 0 ? 0 : PRICE_ONE - ask
      order.sentAsk = same ? ask : bid === 0 ? 0 : PRICE_ONE - bid
    }
    if (id <= this.options.explain) order.steps = []
    this.live.set(id, order)
    if (this.orders.length < this.options.keep) this.orders.push(order)
    return order
  }

  private plan(at: number, what: Plan): void {
    this.agenda.add(at, what)
    this.world.noteDue(at)
  }

  private perform(plan: Plan): void {
    switch (plan.kind) {
      case 'arrive':
        if (plan.order.isOpen) this.arrive(plan.order)
        return
      case 'cancel':
        if (plan.order.state === 'resting') {
          this.end(this.cellFor(plan.order.market), plan.order, 'cancelled', 'cancelled')
        } else if (plan.order.isOpen) {
          // The cancel overtook the order: it ends on arrival.
          this.end(this.cellFor(plan.order.market), plan.order, 'cancelled', 'cancelled')
        }
        return
      case 'replace':
        if (!plan.old.isOpen) {
          this.reject(this.cellFor(plan.order.market), plan.order, 'unknown_order')
          return
        }
        this.end(this.cellFor(plan.old.market), plan.old, 'cancelled', 'replaced')
        this.arrive(plan.order)
        return
      case 'expire':
        if (plan.order.state === 'resting') {
          this.end(this.cellFor(plan.order.market), plan.order, 'expired', undefined)
        }
        return
      case 'timer':
        this.call('onTimer', (strategy) =>
          strategy.onTimer?.(Object.freeze({ at: this.now, tag: plan.tag }), this.context),
        )
        return
      case 'told':
        this.call('onOrder', (strategy) => strategy.onOrder?.(plan.view, this.context))
        return
      case 'markout':
        this.markout(plan)
    }
  }

  private arrive(order: EngineOrder): void {
    const { market: state } = order
    const cell = this.cellFor(state)
    order.arrivedAt = this.now
    const refusal = state.refusal(this.now)
    if (refusal !== undefined) {
      if (refusal === 'in_gap') this.tally.gapRejects++
      return this.reject(cell, order, refusal)
    }
    const rules = state.rules()
    if (rules === undefined) return this.reject(cell, order, 'rules_unknown')
    const formula = this.feesOf(state)
    const wrong = this.judge(cell, order, rules)
    if (wrong !== undefined) return this.reject(cell, order, wrong)

    const track = state.primary!
    state.isUsed = true
    const same = order.outcome === track.outcome
    order.frameSide = (order.side === 'buy') === same ? 0 : 1
    const worst = order.frameSide === 0 ? PRICE_ONE - 1 : 1
    order.framePrice =
      order.price === undefined ? worst : same ? order.price : PRICE_ONE - order.price
    if (order.frameSide === 0 ? cell.bestAsk <= order.framePrice : cell.bestBid >= order.framePrice)
      return this.reject(cell, order, 'self_cross')

    const reach = this.reach(cell, track, order)
    const before = order.steps === undefined ? undefined : this.glance(cell, track, order.outcome)
    if (order.postOnly && reach.units > 0) return this.reject(cell, order, 'would_take', before)
    if (reach.units > 0 && (rules.minimumValue > reach.worth || this.isTooSmall(order, rules))) {
      return this.reject(cell, order, 'below_minimum', before)
    }
    const short = this.fund(cell, order, formula)
    if (short !== undefined) return this.reject(cell, order, short, before)
    const isWhole = order.money === undefined ? reach.units >= order.remaining : reach.isWhole
    if (order.timeInForce === 'FOK' && !isWhole) {
      return this.reject(cell, order, 'not_filled_whole', before)
    }

    this.tally.arrived++
    const unit = POW10[VENUES[state.venue].sizeDecimals]!
    this.tally.wanted += (order.money === undefined ? order.size : reach.units) / unit
    order.state = 'resting'
    const stopped = this.take(cell, track, order, formula)
    this.step(order, {
      rule: order.filled > 0 ? 'took what the recorded book showed' : 'met the book',
      before,
      after: order.steps === undefined ? undefined : this.glance(cell, track, order.outcome),
      size: order.filled,
      rows: [track.rowId],
    })
    if (order.money !== undefined) order.size = order.filled
    if (order.remaining === 0) this.done(cell, order)
    else if (order.timeInForce === 'GTC' || order.timeInForce === 'GTD') {
      this.rest(cell, track, order, formula, rules)
    } else this.end(cell, order, 'cancelled', stopped ?? 'ioc')
    cell.noteBusy()
    this.noteCapital()
  }

  // What the venue checks before it looks at the book.
  private judge(cell: CellMarket, order: EngineOrder, rules: VenueRules): RejectReason | undefined {
    const { price, size, expires } = order
    if (price !== undefined && !isOnTick(rules, price)) return 'off_tick'
    if (expires !== undefined && expires - rules.gtdEarly <= this.now) return 'expired'
    if (order.money !== undefined) {
      return order.money < rules.minimumValue ? 'below_minimum' : undefined
    }
    if (size % rules.sizeStep !== 0) return 'size_step'
    if (order.reduceOnly) {
      const { units, reserved } = cell.holding
      const other = order.side === 'sell' ? order.outcome : 1 - order.outcome
      const canReduce = order.side === 'sell' || cell.state.venue === 'venueb'
      const held = canReduce ? units[other]! - reserved[other]! : 0
      if (held <= 0) return 'reduce_only'
      order.remaining = order.size = Math.min(size, held)
    }
    return price !== undefined && order.size < rules.minimumSize ? 'below_minimum' : undefined
  }

  private isTooSmall(order: EngineOrder, rules: VenueRules): boolean {
    // The minimum size of a venue is one of resting orders; what takes has a minimum value.
    return order.money === undefined && rules.minimumValue === 0 && order.size < rules.minimumSize
  }

  // How much of the recorded book an order could take, without taking it.
  private reach(
    cell: CellMarket,
    track: Track,
    order: EngineOrder,
  ): { readonly units: number; readonly worth: number; readonly isWhole: boolean } {
    const { venue } = cell.state
    let units = 0
    let worth = 0
    let money = order.money ?? Infinity
    this.walk(cell, track, order, (price, available) => {
      const own = order.outcome === track.outcome ? price : PRICE_ONE - price
      const wanted =
        order.money === undefined ? order.remaining - units : affordable(venue, own, money)
      const size = Math.min(available, wanted)
      units += size
      const value = notional(venue, own, size, 'up')
      worth += value
      money -= value
      return size === available && (order.money === undefined ? units < order.remaining : true)
    })
    // A buy by money is whole when what is left buys nothing at the next price.
    return { units, worth, isWhole: order.money !== undefined && money < MONEY_ONE / 100 }
  }

  /** Walks the other side of the frame's book, net of what was taken, up to the order's price. */
  private walk(
    cell: CellMarket,
    track: Track,
    order: EngineOrder,
    visit: (price: number, available: number) => boolean,
  ): void {
    const { ladder, factor } = track
    const isBuy = order.frameSide === 0
    const end = isBuy ? ladder.one : 0
    let at = isBuy ? ladder.bestAsk : ladder.bestBid
    while (at !== end) {
      const price = at * factor
      if (isBuy ? price > order.framePrice : price < order.framePrice) return
      const side = isBuy ? 1 : 0
      const taken = cell.taken.get(price * 2 + side) ?? 0
      const available = ladder.size[at * 2 + side]! - taken
      if (available > 0 && !visit(price, available)) return
      at = isBuy ? ladder.nextAsk(at) : ladder.nextBid(at)
    }
  }

  // Cash and shares that the whole order may need; market orders are cut to the cash level by level.
  private fund(
    cell: CellMarket,
    order: EngineOrder,
    formula: FeeFormula,
  ): RejectReason | undefined {
    const { holding, account, state } = cell
    const { outcome } = order
    if (order.side === 'sell' && state.venue !== 'venueb') {
      const held = holding.units[outcome]! - holding.reserved[outcome]!
      return order.size > held ? 'insufficient_position' : undefined
    }
    if (order.price === undefined) return account.free <= 0 ? 'insufficient_cash' : undefined
    return this.need(cell, order, formula) > account.free ? 'insufficient_cash' : undefined
  }

  // What must be set aside for what is left of an order, at its limit and with the highest fee.
  private need(cell: CellMarket, order: EngineOrder, formula: FeeFormula): number {
    const { holding, state } = cell
    const { remaining, outcome } = order
    const price = order.price!
    if (order.side === 'buy') {
      const fee = chargeBound(formula, state.venue, price, remaining)
      const cost = notional(state.venue, price, remaining, 'up') + fee
      // Pairs pay for themselves where they turn into money at once.
      const pairs = state.venue === 'venueb' ? Math.min(remaining, holding.units[1 - outcome]!) : 0
      return Math.max(0, cost - payoutOf(state.venue, MONEY_ONE, pairs))
    }
    if (state.venue !== 'venueb') return 0
    const short = remaining - Math.min(remaining, holding.units[outcome]!)
    if (short === 0) return 0
    const other = PRICE_ONE - price
    // A sale can fill above its limit, the purchase of the other outcome is then cheaper.
    const fee = chargeBound(formula, state.venue, PRICE_ONE / 2, short)
    return notional(state.venue, other, short, 'up') + fee
  }

  private take(
    cell: CellMarket,
    track: Track,
    order: EngineOrder,
    formula: FeeFormula,
  ): EndReason | undefined {
    const { state, account, holding } = cell
    const { venue } = state
    let stopped: EndReason | undefined
    this.walk(cell, track, order, (price, available) => {
      const own = order.outcome === track.outcome ? price : PRICE_ONE - price
      let size = Math.min(available, order.remaining)
      if (order.money !== undefined) size = Math.min(available, affordable(venue, own, order.money))
      if (order.price === undefined) {
        // What closes a position needs no cash; the rest must be paid with its fee.
        const cost = order.side === 'buy' ? own : PRICE_ONE - own
        const closing = order.side === 'buy' ? 1 - order.outcome : order.outcome
        const isFree = order.side === 'sell' || venue === 'venueb'
        const held = isFree ? Math.min(size, holding.units[closing]!) : 0
        const fee = chargeBound(formula, venue, own, size)
        const paid = affordable(venue, cost, Math.max(0, account.free - fee))
        if (held + paid < size) {
          size = held + paid
          stopped = 'insufficient_cash'
        }
      }
      if (size <= 0) return false
      const key = price * 2 + (1 - order.frameSide)
      cell.taken.set(key, (cell.taken.get(key) ?? 0) + size)
      this.fill(cell, order, price, size, 'taker', 'book_cross', [track.rowId])
      if (order.money !== undefined) {
        order.money -= notional(venue, own, size, 'up')
        return size === available
      }
      return order.remaining > 0 && stopped === undefined
    })
    if (order.money !== undefined) order.remaining = 0
    return stopped
  }

  private rest(
    cell: CellMarket,
    track: Track,
    order: EngineOrder,
    formula: FeeFormula,
    rules: VenueRules,
  ): void {
    const { state } = cell
    if (state.isPolled && !this.options.isBracketed) {
      if (order.filled === 0) {
        this.tally.arrived--
        return this.reject(cell, order, 'bracket_required')
      }
      return this.end(cell, order, 'cancelled', 'bracket_required')
    }
    if (formula.kind === 'quadratic' && formula.maker === undefined) {
      throw new PriorbookError(
        'fee_unknown',
        `whether makers pay a fee on ${state.name} is not known; say it with assume.fees.venuebMaker`,
      )
    }
    order.enteredAt = this.now
    const side = order.frameSide
    order.ahead = track.sizeAt(side, order.framePrice)
    this.reserve(cell, order, formula)
    const key = order.framePrice * 2 + side
    let level = cell.levels.get(key)
    if (level === undefined) {
      const { queue, printLag } = this.options
      level = new RestingLevel<EngineOrder>(side, order.framePrice, queue, printLag)
      cell.levels.set(key, level)
    }
    level.orders.push(order)
    cell.noteBest()
    if (order.expires !== undefined) {
      this.plan(order.expires - rules.gtdEarly, { kind: 'expire', order })
    }
    this.step(order, {
      rule: `rests behind what is displayed (${this.options.queue} queue)`,
      ahead: order.ahead,
      price: order.price,
    })
    this.outbox.push(() => this.tellOrder(order))
  }

  // The other side came to the price of resting orders: they would have met before it was displayed.
  private meetBook(cell: CellMarket, track: Track): void {
    const { ladder, factor } = track
    if (ladder.bestAsk !== ladder.one && ladder.bestAsk * factor <= cell.bestBid) {
      this.meetSide(cell, track, 0)
    }
    if (ladder.bestBid !== 0 && ladder.bestBid * factor >= cell.bestAsk) {
      this.meetSide(cell, track, 1)
    }
  }

  private meetSide(cell: CellMarket, track: Track, side: 0 | 1): void {
    const evidence = cell.state.isPolled ? 'snapshot_inferred' : 'book_cross'
    const levels = [...cell.levels.values()]
      .filter((level) => level.side === side)
      .sort((left, right) => (side === 0 ? right.price - left.price : left.price - right.price))
    for (const level of levels) {
      for (const order of level.orders) {
        this.walk(cell, track, order, (price, available) => {
          const size = Math.min(available, order.remaining)
          if (size <= 0) return false
          const key = price * 2 + (1 - side)
          cell.taken.set(key, (cell.taken.get(key) ?? 0) + size)
          this.fillMaker(cell, order, size, evidence, [track.rowId])
          return order.remaining > 0
        })
      }
    }
  }

  private fillMaker(
    cell: CellMarket,
    order: EngineOrder,
    size: number,
    evidence: Evidence,
    rows: readonly string[],
  ): void {
    this.step(order, { rule: evidence, ahead: order.ahead, size, price: order.price, rows })
    this.fill(cell, order, order.framePrice, size, 'maker', evidence, rows)
  }

  private fill(
    cell: CellMarket,
    order: EngineOrder,
    framePrice: number,
    size: number,
    liquidity: 'taker' | 'maker',
    evidence: Evidence,
    rows: readonly string[],
  ): void {
    const { state, account, holding } = cell
    const { venue } = state
    const track = state.primary!
    const { outcome, side } = order
    const price = outcome === track.outcome ? framePrice : PRICE_ONE - framePrice
    const revenue = revenueOf(venue, side, price, size)
    const formula = this.feesOf(state)
    const fee = charge(formula, { venue, liquidity, side, price, size, revenue }, order.fee)
    this.release(cell, order)
    bookFill(account, holding, outcome, side, price, size, fee)
    if (order.money === undefined) order.remaining -= size
    order.filled += size
    if (liquidity === 'maker' && order.remaining > 0) this.reserve(cell, order, formula)
    this.noteCapital()
    this.count(cell, order, { framePrice, price, size, liquidity, evidence, revenue, fee })
    const decimals = VENUES[venue].sizeDecimals
    const id = ++this.fillCount.value
    const view: FillView = Object.freeze({
      id,
      order: order.id,
      market: state.name,
      venue,
      outcome,
      side,
      liquidity,
      price,
      size: printScaled(size, decimals),
      fee: printMoney(fee.value),
      feeShares: printScaled(fee.shares, decimals),
      at: this.now,
      evidence,
      rows: Object.freeze([...rows]),
      bookAge: this.now - track.at,
      tag: order.tag,
    })
    if (this.fills.length < this.options.keep) this.fills.push(view)
    if (this.options.strategy.onFill !== undefined) {
      this.outbox.push(() => {
        this.call('onFill', (strategy) => strategy.onFill?.(view, this.context))
      })
    }
  }

  private count(
    cell: CellMarket,
    order: EngineOrder,
    done: {
      readonly framePrice: number
      readonly price: number
      readonly size: number
      readonly liquidity: 'taker' | 'maker'
      readonly evidence: Evidence
      readonly revenue: number
      readonly fee: { readonly cash: number; readonly shares: number; readonly value: number }
    },
  ): void {
    const { tally } = this
    const { price, size, fee, revenue } = done
    const { side, outcome } = order
    const isTaker = done.liquidity === 'taker'
    const shares = size / POW10[VENUES[cell.state.venue].sizeDecimals]!
    if (order.filled === size) tally.touched++
    tally.got += shares
    tally.volume += Math.abs(revenue)
    const age = this.now - cell.state.primary!.at
    tally.bookAge += age
    tally.bookAgeMost = Math.max(tally.bookAgeMost, age)
    if (isTaker) {
      tally.takerFills++
      const sign = side === 'buy' ? 1 : -1
      const touch = side === 'buy' ? order.sentAsk : order.sentBid
      if (touch !== 0) {
        tally.takerShares += shares
        tally.slipTouch += sign * (price - touch) * shares
      }
      if (order.sentBid !== 0 && order.sentAsk !== 0) {
        tally.slipMidShares += shares
        tally.slipMid += sign * (price - (order.sentBid + order.sentAsk) / 2) * shares
      }
    } else tally.makerFills++
    if (cell.fills++ === 0) cell.firstFillAt = this.now
    const units = side === 'buy' ? size - fee.shares : -size
    const isNear = this.now - cell.gapEnd < this.options.nearGap
    cell.trimRecent(this.now - this.options.nearGap)
    const evidence = EVIDENCE_CLASSES.indexOf(done.evidence)
    cell.count(
      { at: this.now, evidence, cash: revenue - fee.cash, fees: fee.value, outcome, units },
      isNear,
    )
    // A sale is a purchase of the other outcome at what is left of 1.
    const bought = side === 'buy' ? outcome : 1 - outcome
    const chance = (side === 'buy' ? price : PRICE_ONE - price) / PRICE_ONE
    addChance(cell.entries[bought as 0 | 1], chance, shares)
    const gains = order.frameSide === 0 ? 1 : -1
    for (let horizon = 0; horizon < MARKOUTS.length; horizon++) {
      this.plan(this.now + MARKOUTS[horizon]!, {
        kind: 'markout',
        market: cell,
        isTaker,
        horizon,
        framePrice: done.framePrice,
        sign: gains,
        shares,
      })
    }
  }

  private markout(plan: Plan & { readonly kind: 'markout' }): void {
    const { state } = plan.market
    const markout = this.tally.markouts[plan.isTaker ? 'taker' : 'maker'][plan.horizon]!
    const { ladder, factor } = state.primary!
    if (state.inGap || ladder.bestBid === 0 || ladder.bestAsk === ladder.one) {
      markout.missing++
      return
    }
    const mid = ((ladder.bestBid + ladder.bestAsk) * factor) / 2
    markout.fills++
    markout.shares += plan.shares
    markout.gain += plan.sign * (mid - plan.framePrice) * plan.shares
  }

  private feesOf(state: MarketState): FeeFormula {
    const fees = state.fees(this.now)
    if ('unknown' in fees) {
      throw new PriorbookError('fee_unknown', `${fees.unknown}; say what to assume: assume.fees`)
    }
    return fees.formula
  }

  private reserve(cell: CellMarket, order: EngineOrder, formula: FeeFormula): void {
    order.reservedCash = this.need(cell, order, formula)
    cell.account.reserved += order.reservedCash
    if (order.side === 'sell') {
      const { units, reserved } = cell.holding
      const free = units[order.outcome]! - reserved[order.outcome]!
      order.reservedUnits = Math.max(0, Math.min(order.remaining, free))
      reserved[order.outcome]! += order.reservedUnits
    }
  }

  private release(cell: CellMarket, order: EngineOrder): void {
    cell.account.reserved -= order.reservedCash
    cell.holding.reserved[order.outcome]! -= order.reservedUnits
    order.reservedCash = 0
    order.reservedUnits = 0
  }

  // Levels whose orders are filled or gone leave the map.
  private settleLevels(cell: CellMarket): void {
    let isChanged = false
    for (const [key, level] of cell.levels) {
      for (let index = level.orders.length - 1; index >= 0; index--) {
        const order = level.orders[index]!
        if (order.remaining > 0 && order.state === 'resting') continue
        level.orders.splice(index, 1)
        if (order.state === 'resting') this.done(cell, order)
      }
      if (level.orders.length === 0) {
        cell.levels.delete(key)
        isChanged = true
      }
    }
    if (isChanged) cell.noteBest()
    cell.noteBusy()
  }

  private done(cell: CellMarket, order: EngineOrder): void {
    this.release(cell, order)
    order.state = 'filled'
    this.tally.whole++
    this.live.delete(order.id)
    this.outbox.push(() => this.tellOrder(order))
  }

  private end(
    cell: CellMarket,
    order: EngineOrder,
    state: OrderState,
    reason: EndReason | undefined,
  ): void {
    this.release(cell, order)
    order.state = state
    order.reason = reason
    this.live.delete(order.id)
    if (state === 'cancelled') this.tally.cancelled++
    if (state === 'expired') this.tally.expired++
    const key = order.framePrice * 2 + order.frameSide
    const level = cell.levels.get(key)
    const index = level?.orders.indexOf(order) ?? -1
    if (level !== undefined && index >= 0) {
      level.orders.splice(index, 1)
      if (level.orders.length === 0) cell.levels.delete(key)
      cell.noteBest()
    }
    cell.noteBusy()
    this.noteCapital()
    this.step(order, { rule: `${state}${reason === undefined ? '' : `: ${reason}`}` })
    this.outbox.push(() => this.tellOrder(order))
  }

  private reject(
    cell: CellMarket,
    order: EngineOrder,
    reason: RejectReason,
    before?: BookGlance,
  ): void {
    this.countReason(reason)
    this.step(order, { rule: `refused: ${reason}`, before })
    this.end(cell, order, 'rejected', reason)
  }

  // A request that never became an order.
  private refuse(id: number, reason: RejectReason): void {
    this.countReason(reason)
    const { strategy } = this.options
    if (strategy.onOrder === undefined) return
    const view = Object.freeze({
      id,
      market: '',
      venue: 'venuea' as const,
      outcome: 0,
      side: 'buy' as const,
      price: undefined,
      size: '0',
      filled: '0',
      state: 'rejected' as const,
      reason,
      timeInForce: 'GTC' as const,
      sentAt: this.now,
      arrivedAt: undefined,
      tag: undefined,
    })
    // Not from inside the hook that sent it: that would be a call inside a call.
    this.plan(this.now, { kind: 'told', view })
  }

  private countReason(reason: RejectReason): void {
    this.tally.rejected++
    this.tally.reasons[reason] = (this.tally.reasons[reason] ?? 0) + 1
  }

  private tellOrder(order: EngineOrder): void {
    const { strategy } = this.options
    if (strategy.onOrder === undefined) return
    const view = order.view()
    this.call('onOrder', () => strategy.onOrder!(view, this.context))
  }

  // Hooks are called when the engine's own work is done, so that they see whole states.
  private flush(): void {
    const { outbox } = this
    for (let index = 0; index < outbox.length; index++) outbox[index]!()
    outbox.length = 0
  }

  /** Follows the money that is bound. */
  private noteCapital(): void {
    let capital = 0
    for (const venue of VENUE_IDS) capital += this.accounts[venue].reserved
    for (const { holding } of this.active) capital += holding.cost[0]! + holding.cost[1]!
    this.capitalTime += this.lastCapital * (this.now - this.capitalSince)
    this.capitalSince = this.now
    this.capital = this.lastCapital = capital
    if (capital > this.capitalPeak) this.capitalPeak = capital
  }

  private glance(cell: CellMarket, track: Track, outcome: number): BookGlance {
    const { ladder, factor } = track
    const same = outcome === track.outcome
    const side = (which: 0 | 1): [number, number][] => {
      const { price, size } = which === 0 ? ladder.bids(GLANCE_DEPTH) : ladder.asks(GLANCE_DEPTH)
      return price.map((ticks, index) => {
        const frame = ticks * factor
        const taken = cell.taken.get(frame * 2 + which) ?? 0
        return [same ? frame : PRICE_ONE - frame, size[index]! - taken]
      })
    }
    return same ? { bids: side(0), asks: side(1) } : { bids: side(1), asks: side(0) }
  }

  private step(
    order: EngineOrder,
    step: { readonly [Key in keyof Omit<WhyStep, 'at'>]?: WhyStep[Key] | undefined } & {
      readonly rule: string
    },
  ): void {
    if (order.steps === undefined || order.steps.length > 100) return
    const known = Object.entries(step).filter(([, value]) => value !== undefined)
    order.steps.push({ at: this.now, ...Object.fromEntries(known) } as WhyStep)
  }

  log(text: string): void {
    if (this.logs.length < MOST_LOGS) this.logs.push(`${this.now} ${text.slice(0, 500)}`)
  }

  private fail(hook: string, error: unknown): void {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    this.failure ??= { hook, at: this.now, message: message.slice(0, 1000) }
  }
}

/** The mid of the first outcome as a chance, where there are both sides. */
export function midOf(state: MarketState): number | undefined {
  const track = state.primary
  if (track === undefined || state.inGap) return undefined
  const { ladder, factor } = track
  if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return undefined
  const mid = ((ladder.bestBid + ladder.bestAsk) * factor) / 2 / PRICE_ONE
  return track.outcome === 0 ? mid : 1 - mid
}

function isTouch(track: Track, side: 0 | 1, price: number): boolean {
  const { ladder, factor } = track
  return side === 0 ? ladder.bestBid * factor <= price : ladder.bestAsk * factor >= price
}
