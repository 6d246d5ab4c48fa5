import { PriorbookError, VENUES, VENUE_IDS, type Gap, type MarketRecord } from '../domain/index.ts'
import type { ReferenceEvent } from '../replay/index.ts'
import { EngineOrder, type ParsedOrder } from './engine-order.ts'
import type { EventQueue } from './event-queue.ts'
import { chargeBound, type FeeFormula } from './fees.ts'
import type { Ledger, Position } from './ledger.ts'
import { KeptOrders } from './kept-orders.ts'
import { KeptSteps, type StepFacts } from './kept-steps.ts'
import type { AccountSnapshot } from './known-account.ts'
import type { InstrumentBook, MarketState } from './market-state.ts'
import { MONEY_ONE, notional, payoutOf, PRICE_ONE, priceOne } from './money.ts'
import { OpenOrders } from './open-orders.ts'
import type { EndReason, OrderState, OrderView, RejectReason } from './order.ts'
import type { RunMarket } from './run-market.ts'
import { countReject, type PendingMarkout, type Tally } from './statistics.ts'
import type { ReceivedRow } from './received-world.ts'
import type { HookCall, StrategyHooks } from './strategy-hooks.ts'
import type { GapView } from './strategy.ts'

/** Something that reaches a strategy later than it happened. */
export type News =
  | { readonly kind: 'book'; readonly book: InstrumentBook; readonly row: ReceivedRow }
  | { readonly kind: 'record'; readonly state: MarketState; readonly record: MarketRecord }
  | {
      readonly kind: 'gap'
      readonly state: MarketState
      readonly gap: Gap
      readonly view: GapView
    }
  | { readonly kind: 'reference'; readonly event: ReferenceEvent }
  | { readonly kind: 'referenceGap'; readonly gap: Gap; readonly edge: 'open' | 'close' }
  | { readonly kind: 'call'; readonly hook: string; readonly run: HookCall }

/** An event of a run's future. */
export type RunEvent =
  | { readonly kind: 'news'; readonly news: News }
  /** The venue's answer about the account: an order or a fill, and what the account then held. */
  | {
      readonly kind: 'answer'
      readonly hook: string
      readonly run: HookCall
      readonly account: AccountSnapshot
    }
  | { readonly kind: 'arrive'; readonly order: EngineOrder }
  | { readonly kind: 'cancel'; readonly order: EngineOrder }
  | {
      readonly kind: 'replace'
      readonly old: EngineOrder
      readonly order: EngineOrder
      /** True where the new order has the size that remains of the old one. */
      readonly keepsSize: boolean
    }
  /** The venue stops matching by the clock. */
  | { readonly kind: 'close'; readonly market: RunMarket }
  | { readonly kind: 'expire'; readonly order: EngineOrder }
  | { readonly kind: 'timer'; readonly tag: string }
  | { readonly kind: 'closeDue'; readonly market: MarketState }
  /** A request that never became an order is reported to the strategy. */
  | { readonly kind: 'refused'; readonly view: OrderView }
  | { readonly kind: 'markout'; readonly market: RunMarket; readonly fill: PendingMarkout }

/** The orders of a run: creation, reservations, and how they end. */
export class Orders {
  readonly open: OpenOrders = new OpenOrders()
  /** Called with every order that is sent, where the strategy must remember it. */
  onSent: ((order: EngineOrder) => void) | undefined
  /** What happened to the first orders. */
  readonly steps = new KeptSteps()
  private readonly kept: KeptOrders
  private readonly queue: EventQueue<RunEvent>
  private readonly ledger: Ledger
  private readonly hooks: StrategyHooks
  private readonly tally: Tally
  /** Orders up to this id keep the steps that explain them. */
  private readonly explain: number
  private lastId = 0

  constructor(
    queue: EventQueue<RunEvent>,
    ledger: Ledger,
    hooks: StrategyHooks,
    tally: Tally,
    limits: { readonly keep: number; readonly explain: number },
  ) {
    this.queue = queue
    this.ledger = ledger
    this.hooks = hooks
    this.tally = tally
    this.explain = limits.explain
    this.kept = new KeptOrders(limits.keep, this.open)
  }

  /** The id of the next request, counted as sent. */
  nextId(): number {
    this.tally.sent++
    return ++this.lastId
  }

  /** Creates an order that is on its way to the venue. */
  create(id: number, parsed: ParsedOrder): EngineOrder {
    const order = new EngineOrder(id, parsed, this.queue.now)
    noteQuotes(order)
    order.isExplained = id <= this.explain
    this.open.add(order)
    this.kept.add(order)
    this.onSent?.(order)
    return order
  }

  /** Open orders, all or of one market. */
  list(market: string | undefined): readonly EngineOrder[] {
    const orders = this.open.list()
    return market === undefined ? orders : orders.filter((each) => each.market.name === market)
  }

  /** An order that is open or among those of the report. */
  find(id: number): OrderView | undefined {
    return this.open.get(id)?.view() ?? this.kept.find(id)
  }

  /** The first orders of the run, for the report. */
  views(): readonly OrderView[] {
    return this.kept.views()
  }

  /** Sets cash and units aside for the rest of an order. */
  reserve({ position }: RunMarket, order: EngineOrder, formula: FeeFormula): void {
    order.reservedCash = cashNeeded(position, order, formula)
    position.account.reserved += order.reservedCash
    const { closedOutcome } = order
    if (closedOutcome === undefined) return
    order.reservedUnits = coveredUnits(position, order)
    position.reserved[closedOutcome] += order.reservedUnits
  }

  release({ position }: RunMarket, order: EngineOrder): void {
    position.account.reserved -= order.reservedCash
    order.reservedCash = 0
    const { closedOutcome } = order
    if (closedOutcome !== undefined) position.reserved[closedOutcome] -= order.reservedUnits
    order.reservedUnits = 0
  }

  /**
   * Sets cash and units aside anew for all resting orders of a market whose position has changed, oldest
   * first, so that no unit covers two of them. A reduce-only order is cut to what it can still reduce. Where
   * the cash does not cover all of them, the newest end with the current step.
   */
  renew(market: RunMarket): void {
    if (market.levels.size === 0) return
    const { position, state } = market
    const formula = feesOf(state, this.queue.now)
    const orders = market.resting()
    for (const order of orders) this.release(market, order)
    for (const order of orders) {
      if (order.remaining === 0) continue
      if (order.reduceOnly) {
        const most = Math.max(0, position.free(order.closedOutcome!))
        if (most < order.remaining) {
          order.remaining = most
          order.size = order.filled + most
          if (most === 0) endSoon(market, order, 'reduce_only')
        }
      }
      this.reserve(market, order, formula)
    }
    while (position.account.free < 0 && orders.length > 0) {
      const order = orders.pop()!
      if (order.remaining === 0) continue
      this.release(market, order)
      endSoon(market, order, 'insufficient_cash')
    }
  }

  /** Ends an order that is filled completely. */
  complete(market: RunMarket, order: EngineOrder): void {
    this.release(market, order)
    order.state = 'filled'
    this.tally.whole++
    this.open.delete(order.id)
    this.kept.end(order)
    this.notify(order)
  }

  /** Ends an order that is not filled completely. */
  end(
    market: RunMarket,
    order: EngineOrder,
    state: OrderState,
    reason: EndReason | undefined,
  ): void {
    const hadUnits = order.reservedUnits > 0
    this.release(market, order)
    order.state = state
    order.reason = reason
    this.open.delete(order.id)
    if (state === 'cancelled') this.tally.cancelled++
    if (state === 'expired') this.tally.expired++
    market.remove(order)
    // Its units cover the orders behind it.
    if (hadUnits) this.renew(market)
    this.ledger.noteCapital(market.position, this.queue.now)
    if (order.isExplained) {
      this.step(order, { rule: `${state}${reason === undefined ? '' : `: ${reason}`}` })
    }
    this.kept.end(order)
    this.notify(order)
  }

  /** Ends an order that the venue does not accept. */
  reject(market: RunMarket, order: EngineOrder, reason: RejectReason, before?: number): void {
    countReject(this.tally, reason)
    if (order.isExplained) this.step(order, { rule: `refused: ${reason}`, before })
    this.end(market, order, 'rejected', reason)
  }

  /** Rejects a request that never became an order. */
  refuse(id: number, reason: RejectReason): void {
    countReject(this.tally, reason)
    if (this.hooks.strategy.onOrder === undefined) return
    const view: OrderView = Object.freeze({
      id,
      // The request may not name a market or venue at all.
      market: '',
      venue: VENUE_IDS[0],
      outcome: 0,
      side: 'buy',
      price: undefined,
      size: '0',
      filled: '0',
      amount: undefined,
      state: 'rejected',
      reason,
      timeInForce: 'GTC',
      sentAt: this.queue.now,
      arrivedAt: undefined,
      tag: undefined,
    })
    // A hook must not be called from inside the hook that sent the request.
    this.queue.add(this.queue.now, { kind: 'refused', view })
  }

  /** Ends everything that is still open when the run ends; the strategy is no longer called. */
  finish(marketOf: (state: MarketState) => RunMarket): void {
    for (const order of this.open.list()) {
      const market = marketOf(order.market)
      this.release(market, order)
      this.ledger.noteCapital(market.position, this.queue.now)
      order.state = 'cancelled'
      order.reason = 'run_end'
    }
  }

  /** Calls `onOrder` once the engine has finished its step. */
  notify(order: EngineOrder): void {
    const { hooks } = this
    if (hooks.answer !== undefined) {
      const view = order.view()
      hooks.answer(order.market, view, 'onOrder', (strategy, context) =>
        strategy.onOrder?.(view, context),
      )
    } else if (hooks.strategy.onOrder !== undefined) {
      hooks.deferOrder(order)
    }
  }

  /** Adds a step to an order whose steps are kept. */
  step(order: EngineOrder, facts: StepFacts): void {
    this.steps.add(order.id, this.queue.now, facts)
  }
}

/** The most cash that the rest of an order can need: at its limit, with the highest fee. */
export function cashNeeded(position: Position, order: EngineOrder, formula: FeeFormula): number {
  const { venue } = position.account
  const { remaining } = order
  const price = order.price!
  const covered = coveredUnits(position, order)
  if (order.side === 'buy') {
    const fee = chargeBound(formula, venue, price, remaining)
    const cost = notional(venue, price, remaining, 'up') + fee
    // Where pairs turn into cash at once, they pay for themselves.
    return Math.max(0, cost - payoutOf(venue, MONEY_ONE, covered))
  }
  if (!VENUES[venue].trading.netsOutcomes) return 0
  const short = remaining - covered
  if (short === 0) return 0
  // A sale can fill above its limit: the other outcome is then cheaper, but its fee may be higher.
  const fee = chargeBound(formula, venue, priceOne(venue) / 2, short)
  return notional(venue, priceOne(venue) - price, short, 'up') + fee
}

// The units of an order that the position covers and no other order has set aside.
function coveredUnits(position: Position, { closedOutcome, remaining }: EngineOrder): number {
  if (closedOutcome === undefined) return 0
  return Math.max(0, Math.min(remaining, position.free(closedOutcome)))
}

function endSoon(market: RunMarket, order: EngineOrder, reason: EndReason): void {
  order.remaining = 0
  order.ending = reason
  market.markDirty()
}

/** The fee formula of a market; throws where it is not known. */
export function feesOf(state: MarketState, at: number): FeeFormula {
  const fees = state.fees(at)
  if ('unknown' in fees) {
    throw new PriorbookError('fee_unknown', `${fees.unknown}; set assume.fees`)
  }
  return fees.formula
}

// Best prices of the order's outcome at the time of sending, for slippage.
function noteQuotes(order: EngineOrder): void {
  const book = order.market.primary
  if (book === undefined) return
  const { ladder } = book
  const bid = book.shown(ladder.bestBid)
  const ask = ladder.bestAsk === ladder.one ? 0 : book.shown(ladder.bestAsk)
  const isSame = order.outcome === book.outcome
  order.sentBid = isSame ? bid : ask === 0 ? 0 : PRICE_ONE - ask
  order.sentAsk = isSame ? ask : bid === 0 ? 0 : PRICE_ONE - bid
}
