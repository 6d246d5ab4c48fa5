import { createContext } from './context.ts'
import { Desk } from './desk.ts'
import { EventQueue } from './event-queue.ts'
import { createLatency, type StrategyRunOptions } from './run-options.ts'
import { Ledger } from './ledger.ts'
import { isLoss, type InstrumentBook, type MarketState } from './market-state.ts'
import { MatchingEngine } from './matching-engine.ts'
import { printMoney, shownPrice } from './money.ts'
import { Orders, type RunEvent } from './orders.ts'
import { createRandom } from './random.ts'
import type { References } from './references.ts'
import { RunMarket } from './run-market.ts'
import { StrategyHooks, type HookCall } from './strategy-hooks.ts'
import type { GapView, SettlementView } from './strategy.ts'
import { countMarkout, createTally } from './statistics.ts'

// Max events at one instant: a strategy that sets timers without end would stop the clock.
const MAX_EVENTS_AT_ONCE = 100_000

/** What a run shares with the others over the same events. */
export interface RunEnvironment {
  readonly markets: ReadonlyMap<string, MarketState>
  readonly references: Pick<References, 'find'>
  /** An event was added to a run's queue. */
  noteDue(at: number): void
}

/**
 * One strategy with its orders, account and future. It owns no book: the world calls it before and
 * after each change of the shared ones.
 */
export class StrategyRun {
  readonly options: StrategyRunOptions
  readonly queue: EventQueue<RunEvent>
  readonly hooks: StrategyHooks
  readonly ledger: Ledger
  readonly orders: Orders
  readonly engine: MatchingEngine
  readonly tally = createTally()
  /** The run's side of each market by its index; undefined where the run never acted. */
  readonly markets: (RunMarket | undefined)[] = []
  /** The markets in which the run has acted, in the order of its first action. */
  readonly active: RunMarket[] = []
  readonly settlements: SettlementView[] = []
  private instant = -1
  private eventsAtInstant = 0

  constructor(environment: RunEnvironment, options: StrategyRunOptions) {
    const { markets, references } = environment
    const { seed, params, strategy } = options
    this.options = options
    this.queue = new EventQueue<RunEvent>((at) => environment.noteDue(at))
    this.hooks = new StrategyHooks(strategy, this.queue)
    this.ledger = new Ledger(options.cash)
    const { queue, hooks, ledger, tally } = this
    const orders = new Orders(queue, ledger, hooks, tally, options)
    this.orders = orders
    this.engine = new MatchingEngine(options, queue, ledger, orders, hooks, tally)
    const find = (name: string): RunMarket | undefined => {
      const state = markets.get(name)
      return state === undefined ? undefined : this.marketOf(state)
    }
    const latency = createLatency(options.latency, createRandom(seed, 'latency'))
    const desk = new Desk(markets, find, queue, latency, ledger, orders, tally)
    const random = createRandom(seed, 'strategy')
    const own = this.markets
    hooks.setContext(
      createContext({
        clock: queue,
        markets,
        references,
        own,
        desk,
        orders,
        ledger,
        hooks,
        random,
        params,
      }),
    )
  }

  /** The first event of the tape is about to be applied. */
  start(at: number): void {
    this.queue.now = at
    this.ledger.begin(at)
    this.hooks.call('onStart', (strategy, context) => strategy.onStart?.(context))
  }

  /** Handles every event that is due before a time. */
  drain(until: number): void {
    const { queue, hooks } = this
    while (queue.next < until && hooks.isAlive) {
      const event = queue.shift()!
      if (queue.now !== this.instant) {
        this.instant = queue.now
        this.eventsAtInstant = 0
      } else if (++this.eventsAtInstant > MAX_EVENTS_AT_ONCE) {
        hooks.fail('onTimer', new Error('timers without end at one instant'))
        return
      }
      this.handle(event)
      hooks.flush()
    }
  }

  /** Calls `onBook`, which the strategy must have. */
  bookSeen(book: InstrumentBook, at: number): void {
    this.queue.now = at
    this.hooks.bookSeen(book.view!)
  }

  /** Calls a hook at a time. */
  call(at: number, hook: string, run: HookCall): void {
    this.queue.now = at
    this.hooks.call(hook, run)
  }

  /** The recording of a market breaks off, or the market closes. */
  gapOpens(state: MarketState, view: GapView, at: number): void {
    this.queue.now = at
    const market = this.markets[state.index]
    if (market !== undefined && view.reason === 'market_closed') this.cancelAll(market, 'closed')
    if (market !== undefined && isLoss(view.reason)) {
      market.statistics.moveNear(at - this.options.nearGap)
      if (this.options.gapPolicy === 'cancel') {
        this.tally.gapCancels += this.cancelAll(market, 'gap')
      }
    }
    this.hooks.call('onGap', (strategy, context) => strategy.onGap?.(view, context))
    this.hooks.flush()
  }

  gapCloses(state: MarketState, view: GapView, at: number): void {
    this.queue.now = at
    const market = this.markets[state.index]
    if (market !== undefined && isLoss(view.reason)) market.statistics.gapEnd = at
    this.hooks.call('onGap', (strategy, context) => strategy.onGap?.(view, context))
    this.hooks.flush()
  }

  /** The market stops accepting orders: resting ones end. */
  marketCloses(market: RunMarket, at: number): void {
    this.queue.now = at
    this.cancelAll(market, 'closed')
    this.hooks.flush()
  }

  /** The market's record changed while orders rest: they end at its close time. */
  closeTimeMoves(market: RunMarket, at: number): void {
    this.queue.now = at
    this.engine.awaitClose(market)
  }

  /** The market pays `payouts` money units per share. */
  settle(state: MarketState, payouts: readonly number[], at: number): void {
    this.queue.now = at
    const market = this.markets[state.index]
    if (market !== undefined) {
      this.marketCloses(market, at)
      if (!market.position.isEmpty) this.payOut(market, payouts)
      market.consumed.clear()
      market.updateBusy()
    }
    this.ledger.sample(at)
    this.hooks.flush()
  }

  /** The tape ends. */
  finish(at: number): void {
    this.drain(at + 1)
    this.queue.now = at
    this.hooks.call('onEnd', (strategy, context) => strategy.onEnd?.(context))
    this.orders.finish((state) => this.marketOf(state))
    this.ledger.finish(at)
  }

  private handle(event: RunEvent): void {
    const { orders } = this
    switch (event.kind) {
      case 'arrive':
        if (event.order.isOpen) this.engine.arrive(this.marketOf(event.order.market), event.order)
        return
      case 'cancel':
        // A cancel may overtake its order, which then ends on the way.
        if (event.order.isOpen) {
          orders.end(this.marketOf(event.order.market), event.order, 'cancelled', 'cancelled')
        }
        return
      case 'replace': {
        const { old, order, keepsSize } = event
        const market = this.marketOf(order.market)
        if (!old.isOpen) return orders.reject(market, order, 'unknown_order')
        // What was filled on the way is not ordered again.
        if (keepsSize) order.size = order.remaining = old.remaining
        orders.end(market, old, 'cancelled', 'replaced')
        return this.engine.arrive(market, order)
      }
      case 'expire':
        if (event.order.state === 'resting') {
          orders.end(this.marketOf(event.order.market), event.order, 'expired', undefined)
        }
        return
      case 'close':
        this.close(event.market)
        return
      case 'timer': {
        const timer = Object.freeze({ at: this.queue.now, tag: event.tag })
        this.hooks.call('onTimer', (strategy, context) => strategy.onTimer?.(timer, context))
        return
      }
      case 'refused':
        this.hooks.call('onOrder', (strategy, context) => strategy.onOrder?.(event.view, context))
        return
      case 'markout': {
        const { inGap, primary, one } = event.market.state
        const mid = inGap ? undefined : primary!.mid
        countMarkout(this.tally, event.fill, mid === undefined ? undefined : shownPrice(mid, one))
      }
    }
  }

  private marketOf(state: MarketState): RunMarket {
    const known = this.markets[state.index]
    if (known !== undefined) return known
    const market = new RunMarket(state, this.ledger)
    this.markets[state.index] = market
    this.active.push(market)
    return market
  }

  // The close time may have moved since.
  private close(market: RunMarket): void {
    market.closeAt = Infinity
    if (market.levels.size === 0) return
    if (this.queue.now >= market.state.closesAt) this.cancelAll(market, 'closed')
    else this.engine.awaitClose(market)
  }

  private cancelAll(market: RunMarket, reason: 'closed' | 'gap'): number {
    const orders = market.resting()
    for (const order of orders) this.orders.end(market, order, 'cancelled', reason)
    return orders.length
  }

  private payOut(market: RunMarket, payouts: readonly number[]): void {
    const { now } = this.queue
    const paid = market.position.payOut(payouts)
    market.updateHolding()
    this.ledger.noteCapital(market.position, now)
    const view: SettlementView = Object.freeze({
      market: market.state.name,
      payouts: Object.freeze(payouts.map((payout) => printMoney(payout))),
      paid: printMoney(paid),
      time: now,
    })
    if (this.settlements.length < this.options.keep) this.settlements.push(view)
    this.hooks.call('onSettle', (strategy, context) => strategy.onSettle?.(view, context))
  }
}
