import { POW10, PriorbookError, VENUES } from '../domain/index.ts'
import type { BookEvent } from '../replay/index.ts'
import type { LimitKeeper } from './account-limits.ts'
import type { EngineOrder } from './engine-order.ts'
import type { EventQueue } from './event-queue.ts'
import { charge, chargeBound, type FeeCharge, type FeeFormula } from './fees.ts'
import { matchOrder, type LevelFill, type Match } from './fills.ts'
import { KeptFills, toFillView, type FillRecord } from './kept-fills.ts'
import { revenueOf, type Ledger } from './ledger.ts'
import type { InstrumentBook } from './market-state.ts'
import { affordable, priceOne, shownPrice } from './money.ts'
import { EVIDENCE_CLASSES, type EndReason, type Evidence, type RejectReason } from './order.ts'
import { cashNeeded, feesOf, type Orders, type RunEvent } from './orders.ts'
import { RestingLevel } from './queue.ts'
import type { RowChanges } from './row-changes.ts'
import type { RowRef } from './row-ref.ts'
import type { RunMarket } from './run-market.ts'
import type { StrategyRunOptions } from './run-options.ts'
import { countSlippage, MARKOUTS, type Tally } from './statistics.ts'
import type { StrategyHooks } from './strategy-hooks.ts'
import type { OrderRules } from './venues/index.ts'

type FillFacts = {
  readonly bookPrice: number
  readonly size: number
  readonly liquidity: 'taker' | 'maker'
  readonly evidence: Evidence
  readonly row: RowRef
  readonly other: RowRef | undefined
}

/**
 * The venue's part of a run: accepts orders, matches them against the recorded book, lets them rest,
 * and fills resting orders by what the tape shows later.
 */
export class MatchingEngine {
  readonly fills: KeptFills
  fillCount = 0
  private readonly options: StrategyRunOptions
  private readonly queue: EventQueue<RunEvent>
  private readonly ledger: Ledger
  private readonly orders: Orders
  private readonly hooks: StrategyHooks
  private readonly tally: Tally
  /** Undefined where the account has no limits. */
  private readonly limits: LimitKeeper | undefined

  constructor(
    options: StrategyRunOptions,
    queue: EventQueue<RunEvent>,
    ledger: Ledger,
    orders: Orders,
    hooks: StrategyHooks,
    tally: Tally,
    limits?: LimitKeeper,
  ) {
    this.limits = limits
    this.options = options
    this.fills = new KeptFills(options.keep)
    this.queue = queue
    this.ledger = ledger
    this.orders = orders
    this.hooks = hooks
    this.tally = tally
  }

  /** An order reaches the venue. */
  arrive(market: RunMarket, order: EngineOrder): void {
    const { state } = market
    const { now } = this.queue
    order.arrivedAt = now
    const refusal = state.refusal(now)
    if (refusal !== undefined) {
      if (refusal === 'in_gap') this.tally.gapRejects++
      return this.orders.reject(market, order, refusal)
    }
    const rules = state.rules()
    if (rules === undefined) return this.orders.reject(market, order, 'rules_unknown')
    const formula = feesOf(state, now)
    const violation = checkRules(market, order, rules, now)
    if (violation !== undefined) return this.orders.reject(market, order, violation)

    const book = state.primary!
    state.isUsed = true
    placeInBook(order, book)
    const match = matchOrder(order, book, market.consumed, state.venue)
    if (crossesOwn(market, order, match)) return this.orders.reject(market, order, 'self_cross')
    const { steps } = this.orders
    const before = order.isExplained
      ? steps.glance(book, market.consumed, order.outcome)
      : undefined
    const rejected =
      this.limits?.refusal(
        market,
        order,
        order.money === undefined ? order.remaining : match.units,
      ) ?? checkMatch(market, order, match, rules, formula)
    if (rejected !== undefined) return this.orders.reject(market, order, rejected, before)

    this.tally.arrived++
    const unit = POW10[VENUES[state.venue].sizeDecimals]!
    this.tally.wanted += (order.money === undefined ? order.size : match.units) / unit
    order.state = 'resting'
    const stopped = this.take(market, book, order, match.fills, formula)
    if (order.isExplained) {
      this.orders.step(order, {
        rule: order.filled > 0 ? 'took what the recorded book showed' : 'met the book',
        before,
        after: order.filled === 0 ? before : steps.glance(book, market.consumed, order.outcome),
        size: order.filled,
        row: book.row,
      })
    }
    if (order.remaining === 0) this.orders.complete(market, order)
    else if (order.canRest) this.rest(market, book, order, formula, rules)
    else this.orders.end(market, order, 'cancelled', stopped ?? 'ioc')
    if (market.isDirty) this.removeEnded(market)
    market.updateBusy()
    this.ledger.noteCapital(market.position, now)
  }

  /** Lets resting orders end when the venue stops matching, whether or not a row comes then. */
  awaitClose(market: RunMarket): void {
    const { closesAt } = market.state
    if (closesAt >= market.closeAt) return
    market.closeAt = closesAt
    this.queue.add(Math.max(this.queue.now, closesAt), { kind: 'close', market })
  }

  /** A row of the primary book is about to be applied: decreases may concern resting orders. */
  beforeRow(market: RunMarket, book: InstrumentBook, changes: RowChanges, event: BookEvent): void {
    const { at } = event
    this.queue.clock.now = at
    const { levels } = market
    const { count, keys, before: sizes } = changes
    const hasConsumed = market.consumed.size > 0
    let isConcerned = false
    for (let index = 0; index < count; index++) {
      const levelKey = keys[index]!
      const after = changes.after[index]!
      const consumed = hasConsumed ? market.consumed.get(levelKey) : undefined
      if (consumed !== undefined) {
        isConcerned = true
        if (after === 0) market.forget(levelKey)
        else if (after < consumed) market.consumed.set(levelKey, after)
      }
      const level = levels.get(levelKey)
      if (level === undefined) continue
      isConcerned = true
      const before = sizes[index]!
      if (!market.state.isPolled) {
        // Most rows add to their levels, or wait for a print that an earlier row waits for too.
        if (level.resize(at, before, after)) market.awaitExpiry(level.expiresAt)
      } else if (!market.state.inGap && isTouch(book, level.side, level.price)) {
        this.shrinkUnseen(market, book, level, before, after, event.sequence)
      }
    }
    if (!isConcerned) market.refreshMask()
  }

  // Apart, because a function with a closure allocates its variables with every call.
  private shrinkUnseen(
    market: RunMarket,
    book: InstrumentBook,
    level: RestingLevel<EngineOrder>,
    before: number,
    after: number,
    sequence: number,
  ): void {
    level.shrinkUnseen(before, after, (order, filled, evidence) => {
      this.fillMaker(market, order, filled, evidence, book.row, { series: book.series, sequence })
    })
  }

  /** The row has been applied. */
  afterRow(market: RunMarket, book: InstrumentBook, at: number): void {
    this.queue.clock.now = at
    if (at > market.expireAt) {
      market.expireAt = Infinity
      for (const level of market.levels.list) {
        level.expire(at)
        market.awaitExpiry(level.expiresAt)
      }
    }
    if (!market.state.inGap) this.meetBook(market, book)
    this.wrapUp(market)
  }

  /** The book was replaced: consumed units are forgotten, and resting orders go to the end of the queue. */
  bookRestarts(market: RunMarket, book: InstrumentBook, at: number): void {
    this.queue.clock.now = at
    market.forgetAll()
    for (const level of market.levels.list) {
      level.requeue(book.sizeAt(level.side, level.price))
    }
    if (!market.state.inGap) this.meetBook(market, book)
    this.wrapUp(market)
  }

  /** A trade print at a price of the primary book; `isBuy` where the taker bought its outcome. */
  printed(
    market: RunMarket,
    at: number,
    price: number,
    size: number,
    isBuy: boolean,
    print: RowRef,
  ): void {
    this.queue.clock.now = at
    const { state } = market
    if (state.inGap || state.isPolled) return
    const book = state.primary!
    const onFill = (order: EngineOrder, filled: number, evidence: Evidence): void =>
      this.fillMaker(market, order, filled, evidence, print, book.row)
    let left = size
    for (const level of levelsOf(market, isBuy ? 1 : 0)) {
      if (left === 0 || (isBuy ? level.price > price : level.price < price)) break
      left =
        level.price === price
          ? level.printAt(at, left, onFill)
          : level.printThrough(at, left, onFill)
    }
    this.wrapUp(market)
  }

  // Fills level by level. A market order stops where the cash ends, so each fill is booked at once.
  private take(
    market: RunMarket,
    book: InstrumentBook,
    order: EngineOrder,
    fills: readonly LevelFill[],
    formula: FeeFormula,
  ): EndReason | undefined {
    let stopped: EndReason | undefined
    for (const level of fills) {
      const most = order.price === undefined ? mostPayable(market, order, level, formula) : Infinity
      const size = Math.min(level.size, most)
      if (size < level.size) stopped = 'insufficient_cash'
      if (size <= 0) break
      const { bookPrice } = level
      market.consume(bookPrice * 2 + (1 - order.bookSide), size)
      this.fill(market, order, {
        bookPrice,
        size,
        liquidity: 'taker',
        evidence: 'book_cross',
        row: book.row,
        other: undefined,
      })
      if (stopped !== undefined) break
    }
    if (order.money !== undefined) {
      order.remaining = 0
      order.size = order.filled
    }
    return stopped
  }

  private rest(
    market: RunMarket,
    book: InstrumentBook,
    order: EngineOrder,
    formula: FeeFormula,
    rules: OrderRules,
  ): void {
    const { state, levels } = market
    const { queue: model, printLag, isBracketed } = this.options
    if (state.isPolled && !isBracketed) {
      if (order.filled > 0) return this.orders.end(market, order, 'cancelled', 'bracket_required')
      this.tally.arrived--
      return this.orders.reject(market, order, 'bracket_required')
    }
    if (formula.kind === 'quadratic' && formula.maker === undefined) {
      throw new PriorbookError(
        'fee_unknown',
        `it is not known whether makers pay a fee on ${state.name}; set assume.fees.venuebMaker`,
      )
    }
    const { bookSide, bookPrice } = order
    order.enteredAt = this.queue.now
    order.ahead = book.sizeAt(bookSide, bookPrice)
    this.orders.reserve(market, order, formula)
    const key = bookPrice * 2 + bookSide
    let level = levels.get(key)
    if (level === undefined) {
      level = new RestingLevel<EngineOrder>(bookSide, bookPrice, model, printLag, order)
      market.addLevel(key, level)
    } else level.orders.push(order)
    this.awaitClose(market)
    if (order.expires !== undefined) {
      this.queue.add(order.expires - rules.gtdEarly, { kind: 'expire', order })
    }
    if (order.isExplained) {
      const rule = `rests behind what is displayed (${model} queue)`
      this.orders.step(order, { rule, ahead: order.ahead, price: order.shownPrice })
    }
    this.orders.notify(order)
  }

  // The other side of the book has reached resting orders: in reality they would have traded first.
  private meetBook(market: RunMarket, book: InstrumentBook): void {
    const { ladder, factor } = book
    if (ladder.bestAsk !== ladder.one && ladder.bestAsk * factor <= market.bestBid) {
      this.meetSide(market, book, 0)
    }
    if (ladder.bestBid !== 0 && ladder.bestBid * factor >= market.bestAsk) {
      this.meetSide(market, book, 1)
    }
  }

  private meetSide(market: RunMarket, book: InstrumentBook, side: 0 | 1): void {
    const evidence = market.state.isPolled ? 'snapshot_inferred' : 'book_cross'
    for (const { orders } of levelsOf(market, side)) {
      for (const order of orders) {
        const { fills } = matchOrder(order, book, market.consumed, market.state.venue)
        for (const { bookPrice, size } of fills) {
          market.consume(bookPrice * 2 + (1 - side), size)
          this.fillMaker(market, order, size, evidence, book.row)
        }
      }
    }
  }

  private fillMaker(
    market: RunMarket,
    order: EngineOrder,
    size: number,
    evidence: Evidence,
    row: RowRef,
    other?: RowRef,
  ): void {
    market.markDirty()
    const { ahead, shownPrice: price, bookPrice } = order
    if (order.isExplained) {
      this.orders.step(order, { rule: evidence, ahead, size, price, row, other })
    }
    this.fill(market, order, { bookPrice, size, liquidity: 'maker', evidence, row, other })
  }

  private fill(market: RunMarket, order: EngineOrder, facts: FillFacts): void {
    const { state, position } = market
    const { venue } = state
    const book = state.primary!
    const { bookPrice, size, liquidity } = facts
    const { outcome, side } = order
    const price = outcome === book.outcome ? bookPrice : state.one - bookPrice
    const revenue = revenueOf(venue, side, price, size)
    const formula = feesOf(state, this.queue.now)
    const due = charge(formula, { venue, liquidity, side, price, size, revenue }, order)
    this.orders.release(market, order)
    const fee = position.book({ outcome, side, price, size }, due)
    market.updateHolding()
    if (order.money === undefined) order.remaining -= size
    order.filled += size
    this.orders.renew(market)
    this.ledger.noteCapital(position, this.queue.now)
    this.count(market, order, facts, price, revenue, fee)
    this.report(book, order, facts, price, fee)
  }

  private count(
    market: RunMarket,
    order: EngineOrder,
    facts: FillFacts,
    price: number,
    revenue: number,
    fee: FeeCharge,
  ): void {
    const { tally } = this
    const { now } = this.queue
    const { state, statistics } = market
    const { size, bookPrice } = facts
    const { side, outcome } = order
    const isTaker = facts.liquidity === 'taker'
    const shares = size / POW10[VENUES[state.venue].sizeDecimals]!
    if (order.filled === size) tally.touched++
    tally.got += shares
    tally.volume += Math.abs(revenue)
    const age = now - state.primary!.at
    tally.bookAge += age
    tally.bookAgeMax = Math.max(tally.bookAgeMax, age)
    if (isTaker) {
      tally.takerFills++
      countSlippage(tally, order, shownPrice(price, state.one), shares)
    } else tally.makerFills++
    const evidence = EVIDENCE_CLASSES.indexOf(facts.evidence)
    const units = side === 'buy' ? size - fee.shares : -size
    const cash = revenue - fee.cash
    const classed = { at: now, evidence, cash, fees: fee.value, outcome, units }
    statistics.add(classed, this.options.nearGap)
    market.breakdown.add(classed, state.record?.closeTime)
    // A sale is a purchase of the other outcome at the complementary price.
    const bought = side === 'buy' ? outcome : 1 - outcome
    const chance = (side === 'buy' ? price : state.one - price) / state.one
    statistics.entries[bought as 0 | 1].add(chance, shares)
    const sign = order.bookSide === 0 ? 1 : -1
    for (let horizon = 0; horizon < MARKOUTS.length; horizon++) {
      const fill = { isTaker, horizon, bookPrice: shownPrice(bookPrice, state.one), sign, shares }
      this.queue.add(now + MARKOUTS[horizon]!, { kind: 'markout', market, fill })
    }
  }

  private report(
    book: InstrumentBook,
    order: EngineOrder,
    { size, liquidity, evidence, row, other }: FillFacts,
    price: number,
    fee: FeeCharge,
  ): void {
    const { market, at } = book
    const fill: FillRecord = {
      id: ++this.fillCount,
      order: order.id,
      market,
      outcome: order.outcome,
      side: order.side,
      liquidity,
      price,
      size,
      fee: fee.value,
      feeShares: fee.shares,
      at: this.queue.now,
      evidence,
      bookAge: this.queue.now - at,
      row,
      other,
      tag: order.tag,
    }
    this.fills.add(fill)
    if (this.hooks.answer !== undefined) {
      const view = toFillView(fill)
      this.hooks.answer(market, order.view(), 'onFill', (strategy, context) =>
        strategy.onFill?.(view, context),
      )
    } else if (this.hooks.strategy.onFill !== undefined) {
      const view = toFillView(fill)
      this.hooks.defer('onFill', (strategy, context) => strategy.onFill?.(view, context))
    }
  }

  // Rows come by the million: levels are only walked after a fill.
  private wrapUp(market: RunMarket): void {
    if (market.isDirty) this.removeEnded(market)
    if (market.isBusy && market.levels.size === 0 && market.consumed.size === 0) market.updateBusy()
    this.hooks.flush()
  }

  private removeEnded(market: RunMarket): void {
    market.markClean()
    let isChanged = false
    const { list } = market.levels
    for (let place = 0; place < list.length;) {
      const { orders, price, side } = list[place]!
      for (let index = orders.length - 1; index >= 0; index--) {
        const order = orders[index]!
        if (order.remaining > 0 && order.state === 'resting') continue
        orders.splice(index, 1)
        if (order.state !== 'resting') continue
        if (order.ending === undefined) this.orders.complete(market, order)
        else this.orders.end(market, order, 'cancelled', order.ending)
      }
      if (orders.length > 0) place++
      else {
        market.dropLevel(price * 2 + side)
        isChanged = true
      }
    }
    if (isChanged) market.updateBest()
    market.updateBusy()
  }
}

/** What the venue checks before it looks at the book; a reduce-only order is cut to the position. */
function checkRules(
  { position }: RunMarket,
  order: EngineOrder,
  rules: OrderRules,
  now: number,
): RejectReason | undefined {
  const { price, size, expires } = order
  if (price !== undefined && !isOnTick(price, rules.ticks)) {
    return rules.isPartial === true ? 'rules_unknown' : 'off_tick'
  }
  if (expires !== undefined && expires - rules.gtdEarly <= now) return 'expired'
  if (order.money !== undefined) {
    return order.money < rules.minimumValue ? 'below_minimum' : undefined
  }
  if (size % rules.sizeStep !== 0) return 'size_step'
  if (order.reduceOnly) {
    const { closedOutcome } = order
    const held = closedOutcome === undefined ? 0 : position.free(closedOutcome)
    if (held <= 0) return 'reduce_only'
    order.remaining = order.size = Math.min(size, held)
  }
  // Orders that cannot rest have a minimum only where they take.
  return order.canRest && order.size < rules.minimumSize ? 'below_minimum' : undefined
}

function isOnTick(price: number, ticks: OrderRules['ticks']): boolean {
  for (const { from, to, step } of ticks) {
    if (price >= from && price <= to && (price - from) % step === 0) return true
  }
  return false
}

/** Turns an order around where it is for the other outcome than the book. */
function placeInBook(order: EngineOrder, book: InstrumentBook): void {
  const { one } = book.market
  const isSame = order.outcome === book.outcome
  order.bookSide = (order.side === 'buy') === isSame ? 0 : 1
  const unlimited = order.bookSide === 0 ? one - 1 : 1
  order.bookPrice = order.price === undefined ? unlimited : isSame ? order.price : one - order.price
}

/** True where an order would trade with, or rest across, a resting order of the same account. */
function crossesOwn(market: RunMarket, order: EngineOrder, { fills }: Match): boolean {
  const isBid = order.bookSide === 0
  const last = fills.at(-1)?.bookPrice ?? (isBid ? -Infinity : Infinity)
  const farthest = order.canRest ? order.bookPrice : last
  return isBid ? market.bestAsk <= farthest : market.bestBid >= farthest
}

function checkMatch(
  market: RunMarket,
  order: EngineOrder,
  match: Match,
  rules: OrderRules,
  formula: FeeFormula,
): RejectReason | undefined {
  const { position, state } = market
  if (match.units > 0) {
    if (order.postOnly) return 'would_take'
    // Where orders that take have a minimum value, the minimum size is one of resting orders only.
    const isTooSmall =
      order.money === undefined && rules.minimumValue === 0 && order.size < rules.minimumSize
    if (rules.minimumValue > match.value || isTooSmall) return 'below_minimum'
  }
  const { account } = position
  if (order.side === 'sell' && !VENUES[state.venue].trading.netsOutcomes) {
    if (order.size > position.free(order.outcome)) return 'insufficient_position'
  } else if (order.price === undefined) {
    // A market order stops where the cash ends.
    const [first] = match.fills
    if (first !== undefined && mostPayable(market, order, first, formula) <= 0) {
      return 'insufficient_cash'
    }
  } else if (cashNeeded(position, order, formula) > account.free) return 'insufficient_cash'
  return order.timeInForce === 'FOK' && !match.isWhole ? 'not_filled_whole' : undefined
}

/** The most units of a level that a market order can pay for; closing a position needs no cash. */
function mostPayable(
  { position, state: { venue } }: RunMarket,
  { side, closedOutcome }: EngineOrder,
  { price, size }: LevelFill,
  formula: FeeFormula,
): number {
  const cost = side === 'buy' ? price : priceOne(venue) - price
  const free = closedOutcome === undefined ? 0 : position.free(closedOutcome)
  const held = Math.max(0, Math.min(size, free))
  const fee = chargeBound(formula, venue, price, size)
  return held + affordable(venue, cost, Math.max(0, position.account.free - fee))
}

/** Levels with resting orders of one side, best price first. */
function levelsOf(market: RunMarket, side: 0 | 1): RestingLevel<EngineOrder>[] {
  return market.levels.list
    .filter((level) => level.side === side)
    .sort((left, right) => (side === 0 ? right.price - left.price : left.price - right.price))
}

function isTouch({ ladder, factor }: InstrumentBook, side: 0 | 1, price: number): boolean {
  return side === 0 ? ladder.bestBid * factor <= price : ladder.bestAsk * factor >= price
}
