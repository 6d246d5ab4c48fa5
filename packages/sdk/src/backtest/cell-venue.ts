import { POW10, PriorbookError, VENUES } from '../domain/index.ts'
import { CellFills } from './cell-fills.ts'
import type { CellMarket } from './cell-market.ts'
import { EngineOrder } from './engine-order.ts'
import { chargeBound, type FeeFormula } from './fees/index.ts'
import type { Track } from './market-state.ts'
import { affordable, MONEY_ONE, notional, PRICE_ONE } from './money.ts'
import type { EndReason, RejectReason } from './order.ts'
import { RestingLevel } from './queue.ts'
import { isOnTick, type VenueRules } from './rules.ts'

/** What a venue does with an order: judges it, lets it take, lets it rest, and meets it later. */
export abstract class CellVenue extends CellFills {
  protected arrive(order: EngineOrder): void {
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
    const reach = this.reach(cell, track, order)
    // What rests must not cross an own order, what takes must not come so far.
    const rests = order.timeInForce === 'GTC' || order.timeInForce === 'GTD'
    const farthest = rests ? order.framePrice : reach.farthest
    if (order.frameSide === 0 ? cell.bestAsk <= farthest : cell.bestBid >= farthest) {
      return this.reject(cell, order, 'self_cross')
    }
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
    if (order.steps !== undefined) {
      this.step(order, {
        rule: order.filled > 0 ? 'took what the recorded book showed' : 'met the book',
        before,
        after: this.glance(cell, track, order.outcome),
        size: order.filled,
        rows: [track.rowId],
      })
    }
    if (order.money !== undefined) order.size = order.filled
    if (order.remaining === 0) this.done(cell, order)
    else if (order.timeInForce === 'GTC' || order.timeInForce === 'GTD') {
      this.rest(cell, track, order, formula, rules)
    } else this.end(cell, order, 'cancelled', stopped ?? 'ioc')
    cell.noteBusy()
    this.noteCapital(cell)
  }

  // What the venue checks before it looks at the book.
  protected judge(
    cell: CellMarket,
    order: EngineOrder,
    rules: VenueRules,
  ): RejectReason | undefined {
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

  protected isTooSmall(order: EngineOrder, rules: VenueRules): boolean {
    // The minimum size of a venue is one of resting orders; what takes has a minimum value.
    return order.money === undefined && rules.minimumValue === 0 && order.size < rules.minimumSize
  }

  // How much of the recorded book an order could take, without taking it.
  protected reach(
    cell: CellMarket,
    track: Track,
    order: EngineOrder,
  ): {
    readonly units: number
    readonly worth: number
    readonly isWhole: boolean
    /** The last price of the frame that would be taken. */
    readonly farthest: number
  } {
    const { venue } = cell.state
    let units = 0
    let worth = 0
    let money = order.money ?? Infinity
    let farthest = order.frameSide === 0 ? -Infinity : Infinity
    this.walk(cell, track, order, (price, available) => {
      const own = order.outcome === track.outcome ? price : PRICE_ONE - price
      const wanted =
        order.money === undefined ? order.remaining - units : affordable(venue, own, money)
      const size = Math.min(available, wanted)
      units += size
      if (size > 0) farthest = price
      const value = notional(venue, own, size, 'up')
      worth += value
      money -= value
      return size === available && (order.money === undefined ? units < order.remaining : true)
    })
    // A buy by money is whole when what is left buys nothing at the next price.
    const isWhole = order.money !== undefined && money < MONEY_ONE / 100
    return { units, worth, isWhole, farthest }
  }

  /** Walks the other side of the frame's book, net of what was taken, up to the order's price. */
  protected walk(
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
  protected fund(
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

  protected take(
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

  protected rest(
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
    if (order.steps !== undefined) {
      const rule = `rests behind what is displayed (${this.options.queue} queue)`
      this.step(order, { rule, ahead: order.ahead, price: order.price })
    }
    this.tellLater(order)
  }

  // The other side came to the price of resting orders: they would have met before it was displayed.
  protected meetBook(cell: CellMarket, track: Track): void {
    const { ladder, factor } = track
    if (ladder.bestAsk !== ladder.one && ladder.bestAsk * factor <= cell.bestBid) {
      this.meetSide(cell, track, 0)
    }
    if (ladder.bestBid !== 0 && ladder.bestBid * factor >= cell.bestAsk) {
      this.meetSide(cell, track, 1)
    }
  }

  protected meetSide(cell: CellMarket, track: Track, side: 0 | 1): void {
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
}
