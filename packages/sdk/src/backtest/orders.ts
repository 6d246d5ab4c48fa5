import { PriorbookError, VENUES, VENUE_IDS, type Gap, type MarketRecord } from '../domain/index.ts'
import type { ReferenceEvent } from '../replay/index.ts'
import { EngineOrder, type ParsedOrder } from './engine-order.ts'
import type { EventQueue } from './event-queue.ts'
import { chargeBound, type FeeFormula } from './fees.ts'
import type { Ledger, Position } from './ledger.ts'
import type { AccountSnapshot } from './known-account.ts'
import type { InstrumentBook, MarketState } from './market-state.ts'
import { MONEY_ONE, notional, payoutOf, PRICE_ONE, priceOne } from './money.ts'
import type { EndReason, OrderState, OrderView, RejectReason } from './order.ts'
import type { RunMarket } from './run-market.ts'
import { countReject, type PendingMarkout, type Tally } from './statistics.ts'
import type { ReceivedRow } from './received-world.ts'
import type { HookCall, StrategyHooks } from './strategy-hooks.ts'
import type { GapView } from './strategy.ts'
import type { KeptStep, PackedGlance } from './why.ts'

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

// Max steps that are kept of one order.
const MAX_STEPS = 100

/** The orders of a run: creation, reservations, and how they end. */
export class Orders {
  readonly open = new Map<number, EngineOrder>()
  /** Called with every order that is sent, where the strategy must remember it. */
  onSent: ((order: EngineOrder) => void) | undefined
  /** What happened to the first orders, by id. */
  readonly explained = new Map<number, readonly KeptStep[]>()
  /** The first orders of the run, for the report; of those that have ended only the view. */
  private readonly kept: (EngineOrder | OrderView)[] = []
  private readonly queue: EventQueue<RunEvent>
  private readonly ledger: Ledger
  private readonly hooks: StrategyHooks
  private readonly tally: Tally
  private readonly limits: { readonly keep: number; readonly explain: number }
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
    this.limits = limits
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
    if (id <= this.limits.explain) this.explained.set(id, (order.steps = []))
    this.open.set(id, order)
    if (this.kept.length < this.limits.keep) order.place = this.kept.push(order) - 1
    this.onSent?.(order)
    return order
  }

  /** Open orders, all or of one market. */
  list(market: string | undefined): EngineOrder[] {
    return [...this.open.values()].filter(
      (order) => market === undefined || order.market.name === market,
    )
  }

  /** An order that is open or among those of the report. */
  find(id: number): OrderView | undefined {
    const order = this.open.get(id) ?? this.kept.find((each) => each.id === id)
    return order === undefined ? undefined : viewOf(order)
  }

  /** The first orders of the run, for the report. */
  views(): readonly OrderView[] {
    return this.kept.map(viewOf)
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
    this.keepEnded(order)
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
    if (order.steps !== undefined) {
      this.step(order, { rule: `${state}${reason === undefined ? '' : `: ${reason}`}` })
    }
    this.keepEnded(order)
    this.notify(order)
  }

  private keepEnded(order: EngineOrder): void {
    if (order.place >= 0) this.kept[order.place] = order.view()
  }

  /** Ends an order that the venue does not accept. */
  reject(market: RunMarket, order: EngineOrder, reason: RejectReason, before?: PackedGlance): void {
    countReject(this.tally, reason)
    if (order.steps !== undefined) this.step(order, { rule: `refused: ${reason}`, before })
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
    for (const order of this.open.values()) {
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

  /** Adds a step to the explanation of an order. */
  step(
    order: EngineOrder,
    step: { readonly [Key in keyof Omit<KeptStep, 'at'>]?: KeptStep[Key] | undefined } & {
      readonly rule: string
    },
  ): void {
    if (order.steps === undefined || order.steps.length > MAX_STEPS) return
    const { rule, before, after, ahead, size, price, rows } = step
    const known: { -readonly [Key in keyof KeptStep]: KeptStep[Key] } = { at: this.queue.now, rule }
    if (before !== undefined) known.before = before
    if (after !== undefined) known.after = after
    if (ahead !== undefined) known.ahead = ahead
    if (size !== undefined) known.size = size
    if (price !== undefined) known.price = price
    if (rows !== undefined) known.rows = rows
    order.steps.push(known)
  }
}

function viewOf(order: EngineOrder | OrderView): OrderView {
  return order instanceof EngineOrder ? order.view() : order
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
  market.isDirty = true
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
