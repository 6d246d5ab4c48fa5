import { DOUBLE_ZERO } from '../domain/index.ts'
import { LimitKeeper } from './account-limits.ts'
import type { Clock } from './clock.ts'
import { createContext } from './context.ts'
import { Desk } from './desk.ts'
import { EventQueue } from './event-queue.ts'
import { AnsweredAccount, PresentAccount } from './known-account.ts'
import { createLatency, type Latency, type StrategyRunOptions } from './run-options.ts'
import { Ledger } from './ledger.ts'
import { isLoss, type MarketState } from './market-state.ts'
import { MarketLife } from './market-life.ts'
import { MatchingEngine } from './matching-engine.ts'
import { printMoney, shownPrice } from './money.ts'
import { Orders, type News, type RunEvent } from './orders.ts'
import { ReceivedWorld } from './received-world.ts'
import { createRandom } from './random.ts'
import type { References } from './references.ts'
import { RunMarket } from './run-market.ts'
import { StrategyHooks, type HookCall } from './strategy-hooks.ts'
import type { GapView, SettlementView } from './strategy.ts'
import { countMarkout, countReject, createTally } from './statistics.ts'

// Max events at one instant: a strategy that sets timers without end would stop the clock.
const MAX_EVENTS_AT_ONCE = 100_000

/** What a run shares with the others over the same events. */
export interface RunEnvironment {
  readonly markets: ReadonlyMap<string, MarketState>
  readonly references: Pick<References, 'find'>
  readonly clock: Clock
  /** An event was added to the queue of the run at a place. */
  noteDue(place: number, at: number): void
}

/**
 * One strategy with its orders, account and future. It owns no book: the world calls it before and
 * after each change of the shared ones.
 */
export class StrategyRun {
  readonly options: StrategyRunOptions
  /** The place among the runs of the world, which sets it. */
  place = 0
  readonly queue: EventQueue<RunEvent>
  readonly hooks: StrategyHooks
  readonly ledger: Ledger
  readonly orders: Orders
  readonly engine: MatchingEngine
  readonly life: MarketLife
  readonly tally = createTally()
  /** The run's side of each market by its index; undefined where the run never acted. */
  readonly markets: (RunMarket | undefined)[] = []
  /** The markets in which the run has acted, in the order of its first action. */
  readonly active: RunMarket[] = []
  readonly settlements: SettlementView[] = []
  /** What has reached a strategy whose feed is delayed. */
  readonly received: ReceivedWorld | undefined
  /** Undefined where the account has no limits. */
  private readonly limits: LimitKeeper | undefined
  private readonly clock: Clock
  private readonly latency: Latency
  private readonly answered: AnsweredAccount | undefined
  private receivedAt = DOUBLE_ZERO
  private instant = -Infinity
  private eventsAtInstant = 0

  constructor(environment: RunEnvironment, options: StrategyRunOptions) {
    const { markets, references } = environment
    const { seed, params, strategy } = options
    this.options = options
    const { clock } = environment
    this.clock = clock
    this.queue = new EventQueue<RunEvent>((at) => environment.noteDue(this.place, at), clock)
    this.hooks = new StrategyHooks(strategy, clock)
    this.ledger = new Ledger(options.cash)
    const { queue, hooks, ledger, tally } = this
    const orders = new Orders(queue, ledger, hooks, tally, options)
    this.orders = orders
    const { limits } = options
    this.limits = limits === undefined ? undefined : new LimitKeeper(limits, ledger)
    this.engine = new MatchingEngine(options, queue, ledger, orders, hooks, tally, this.limits)
    this.life = new MarketLife(queue, hooks)
    const find = (name: string): RunMarket | undefined => {
      const state = markets.get(name)
      return state === undefined ? undefined : this.marketOf(state)
    }
    this.latency = createLatency(options.latency, seed)
    const { latency } = this
    this.received = latency.feed === undefined ? undefined : new ReceivedWorld()
    const present = new PresentAccount(this.markets, ledger, orders)
    this.answered = latency.acknowledge === undefined ? undefined : new AnsweredAccount(present)
    if (this.answered !== undefined) this.answerLater(this.answered, latency.acknowledge!)
    const desk = new Desk(markets, find, queue, latency, ledger, orders, tally)
    const { answered } = this
    if (answered !== undefined) {
      desk.onChange = (state) => answered.apply(answered.snapshot(state, undefined))
    }
    const random = createRandom(seed, 'strategy')
    const account = this.answered ?? present
    const seen = {
      markets: this.received?.markets ?? markets,
      references: this.received?.references ?? references,
    }
    hooks.setContext(createContext({ clock, ...seen, account, desk, hooks, random, params }))
  }

  // Orders that are sent are known at once; what becomes of them, when the answer has arrived.
  private answerLater(answered: AnsweredAccount, delay: () => number): void {
    const { hooks, queue, orders } = this
    orders.onSent = (order) => answered.sent(order.view())
    let last = 0
    hooks.answer = (market, order, hook, run) => {
      const account = answered.snapshot(market, order)
      last = Math.max(last, queue.now + delay())
      queue.add(last, { kind: 'answer', hook, run, account })
    }
  }

  /** Lets news reach the strategy after the delay of its feed, in the order in which they happened. */
  deliver(at: number, news: News): void {
    // A strategy that failed is not called any more.
    if (!this.hooks.isAlive) return
    this.receivedAt = Math.max(this.receivedAt, at + (this.latency.feed?.() ?? 0))
    this.queue.add(this.receivedAt, { kind: 'news', news })
  }

  /** Calls a hook about an event: now, or where the feed is delayed, when the event has arrived. */
  receive(at: number, hook: string, run: HookCall): void {
    if (this.received === undefined) this.call(at, hook, run)
    else this.deliver(at, { kind: 'call', hook, run })
  }

  /** The first event of the tape is about to be applied. */
  start(at: number): void {
    this.clock.now = at
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
      if (!this.isRefused(event)) this.handle(event)
      if (this.limits !== undefined) this.checkLoss(queue.now)
      hooks.flush()
    }
  }

  /** Calls a hook at a time. */
  call(at: number, hook: string, run: HookCall): void {
    this.clock.now = at
    this.hooks.call(hook, run)
  }

  /** The recording of a market breaks off, or the market closes. */
  gapOpens(state: MarketState, view: GapView, at: number): void {
    this.clock.now = at
    const market = this.markets[state.index]
    if (market !== undefined && view.reason === 'market_closed') this.cancelAll(market, 'closed')
    if (view.reason === 'market_closed' && this.received === undefined) this.life.end(state)
    if (market !== undefined && isLoss(view.reason)) {
      market.statistics.moveNear(at - this.options.nearGap)
      if (this.options.gapPolicy === 'cancel') {
        this.tally.gapCancels += this.cancelAll(market, 'gap')
      }
    }
  }

  gapCloses(state: MarketState, view: GapView, at: number): void {
    this.clock.now = at
    const market = this.markets[state.index]
    if (market !== undefined && isLoss(view.reason)) market.statistics.gapEnd = at
  }

  /** The first row of a market is about to be applied; a strategy with a delayed feed hears of it with that row. */
  marketBegins(state: MarketState, at: number): void {
    if (this.received !== undefined) return
    this.clock.now = at
    this.life.beginOnce(state)
    this.hooks.flush()
  }

  /** A new record of a market became known. */
  recordChanged(state: MarketState, at: number): void {
    if (this.received !== undefined) return
    this.clock.now = at
    this.life.recordChanged(state)
    this.hooks.flush()
  }

  /** The market stops accepting orders: resting ones end. */
  marketCloses(market: RunMarket, at: number): void {
    this.clock.now = at
    this.cancelAll(market, 'closed')
    this.hooks.flush()
  }

  /** Cancels what rests where the loss has reached its limit; called after every change of the equity. */
  checkLoss(at: number): void {
    if (this.limits === undefined || !this.limits.stops(this.ledger.equityNow)) return
    this.clock.now = at
    for (const market of this.active) this.cancelAll(market, 'loss_limit')
  }

  // Requests beyond the rate of the account do nothing, except that they are refused.
  private isRefused(event: RunEvent): boolean {
    if (this.limits === undefined) return false
    if (event.kind !== 'arrive' && event.kind !== 'cancel' && event.kind !== 'replace') return false
    const { order } = event
    if (!this.limits.isTooFast(order.market.venue, this.queue.now)) return false
    if (event.kind === 'cancel') countReject(this.tally, 'rate_limit')
    else if (order.isOpen) this.orders.reject(this.marketOf(order.market), order, 'rate_limit')
    return true
  }

  /** The market's record changed while orders rest: they end at its close time. */
  closeTimeMoves(market: RunMarket, at: number): void {
    this.clock.now = at
    this.engine.awaitClose(market)
  }

  /** The market pays `payouts` money units per share. */
  settle(state: MarketState, payouts: readonly number[], at: number): void {
    this.clock.now = at
    const market = this.markets[state.index]
    if (market !== undefined) {
      this.marketCloses(market, at)
      if (!market.position.isEmpty) this.payOut(market, payouts)
      market.forgetAll()
      market.updateBusy()
    }
    this.ledger.sample(at)
    this.hooks.flush()
  }

  /** The tape ends. */
  finish(at: number): void {
    this.drain(at + 1)
    this.clock.now = at
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
        if (!order.isOpen) {
          // A cancel has overtaken it: it only ends the order that it replaces.
          if (old.isOpen) orders.end(market, old, 'cancelled', 'replaced')
          return
        }
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
      case 'news':
        this.hear(event.news)
        return
      case 'answer':
        this.answered!.apply(event.account)
        this.hooks.call(event.hook, event.run)
        return
      case 'closeDue':
        return this.life.closeDue(event.market)
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
    const market = new RunMarket(state, this.ledger, this.place)
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

  private cancelAll(market: RunMarket, reason: 'closed' | 'gap' | 'loss_limit'): number {
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
    const tell: HookCall = (strategy, context) => strategy.onSettle?.(view, context)
    if (this.hooks.answer === undefined) this.hooks.call('onSettle', tell)
    else this.hooks.answer(market.state, undefined, 'onSettle', tell)
  }

  private hear(news: News): void {
    const { hooks } = this
    const received = this.received!
    switch (news.kind) {
      case 'book': {
        const view = received.book(news.book, news.row)
        this.life.beginOnce(received.stateOf(news.book.market))
        if (hooks.strategy.onBook !== undefined) hooks.bookSeen(view)
        if (hooks.strategy.onQuote !== undefined && received.quoteMoved(news.book)) {
          hooks.quoteSeen(view)
        }
        return
      }
      case 'record': {
        const view = received.record(news.state, news.record)
        this.life.recordChanged(received.stateOf(news.state))
        hooks.call('onMarket', (strategy, context) => strategy.onMarket?.(view, context))
        return
      }
      case 'gap':
        received.gap(news.state, news.gap, news.view.edge, this.queue.now)
        if (news.view.reason === 'market_closed') this.life.end(received.stateOf(news.state))
        hooks.call('onGap', (strategy, context) => strategy.onGap?.(news.view, context))
        return
      case 'reference': {
        const view = received.reference(news.event)
        hooks.call('onReference', (strategy, context) => strategy.onReference?.(view, context))
        return
      }
      case 'referenceGap':
        for (const view of received.references.views(news.gap, news.edge)) {
          hooks.call('onReferenceGap', (strategy, context) => {
            strategy.onReferenceGap?.(view, context)
          })
        }
        return
      case 'call':
        hooks.call(news.hook, news.run)
    }
  }
}
