import { POW10 } from '../domain/index.ts'
import type { BookEvent } from '../replay/index.ts'
import { payOut } from './account.ts'
import { CellDesk } from './cell-desk.ts'
import type { CellMarket } from './cell-market.ts'
import type { Plan } from './cell-options.ts'
import type { EngineOrder } from './engine-order.ts'
import type { Evidence } from './fill.ts'
import { isLoss, type MarketState, type Track } from './market-state.ts'
import { printMoney } from './money.ts'
import type { GapView, SettlementView } from './strategy.ts'

// A strategy that plans without end at one instant would stop the clock.
const MOST_AT_ONCE = 100_000

/**
 * The engine of one strategy: orders, queue, account. It owns no book; the world hands it every event
 * before and after the shared book changes.
 */
export class Cell extends CellDesk {
  private instant = -1
  private atInstant = 0

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
  beforeRow(cell: CellMarket, track: Track, event: BookEvent): void {
    const { columns, row, at } = event
    this.now = at
    const { key, size } = columns
    // Small integers: a map finds a double much more slowly.
    const factor = POW10[4 - columns.priceDecimals]! | 0
    const end = columns.changeEnd[row]!
    for (let index = columns.changeStart(row); index < end; index++) {
      const side = (key[index]! & 1) as 0 | 1
      const price = ((key[index]! >>> 1) * factor) | 0
      const levelKey = (price * 2 + side) | 0
      const after = size[index]!
      const taken = cell.taken.get(levelKey)
      if (taken !== undefined && after < taken) {
        if (after === 0) cell.taken.delete(levelKey)
        else cell.taken.set(levelKey, after)
      }
      const level = cell.levels.get(levelKey)
      if (level === undefined) continue
      const before = track.sizeAt(side, price)
      if (!cell.state.isPolled) {
        level.resize(at, before, after)
        if (level.expiresAt < cell.expireAt) cell.expireAt = level.expiresAt
      } else if (!cell.state.inGap && isTouch(track, side, price)) {
        level.shrinkUnseen(before, after, (order, filled, evidence) => {
          const next = `${track.market.venue}:${track.key}:${event.sequence}`
          this.fillMaker(cell, order, filled, evidence, [track.rowId, next])
        })
      }
    }
  }

  /** The row was applied. */
  afterRow(cell: CellMarket, track: Track, at: number): void {
    this.now = at
    if (at > cell.expireAt) {
      cell.expireAt = Infinity
      for (const level of cell.levels.values()) {
        level.expire(at)
        cell.expireAt = Math.min(cell.expireAt, level.expiresAt)
      }
    }
    if (!cell.state.inGap) this.meetBook(cell, track)
    this.wrapUp(cell)
  }

  /** The book of the market starts anew: what was taken is gone, and orders queue at the end. */
  bookRestarts(cell: CellMarket, track: Track, at: number): void {
    this.now = at
    cell.taken.clear()
    for (const level of cell.levels.values()) {
      level.requeue(track.sizeAt(level.side, level.price))
    }
    if (!cell.state.inGap) this.meetBook(cell, track)
    this.wrapUp(cell)
  }

  // Rows come by the million: nothing is walked unless an order was filled or somebody must be told.
  private wrapUp(cell: CellMarket): void {
    if (cell.isDirty) this.settleLevels(cell)
    if (cell.isBusy && cell.levels.size === 0 && cell.taken.size === 0) cell.noteBusy()
    if (this.outbox.length > 0) this.flush()
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
    this.wrapUp(cell)
  }

  gapOpens(state: MarketState, view: GapView, at: number): void {
    this.now = at
    const cell = this.markets[state.index]
    if (cell !== undefined && view.reason === 'market_closed') {
      for (const order of cell.resting()) this.end(cell, order, 'cancelled', 'closed')
    }
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
        this.noteCapital(cell)
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

  finish(at: number): void {
    this.drain(at + 1)
    this.now = at
    this.call('onEnd', (strategy) => strategy.onEnd?.(this.context))
    for (const order of this.live.values()) {
      const cell = this.cellFor(order.market)
      this.release(cell, order)
      this.noteCapital(cell)
      order.state = 'cancelled'
      order.reason = 'run_end'
    }
    this.capitalTime += this.capital * (at - this.capitalSince)
    this.capitalSince = at
    this.samplePoint(at)
  }

  protected perform(plan: Plan): void {
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
}

function isTouch(track: Track, side: 0 | 1, price: number): boolean {
  const { ladder, factor } = track
  return side === 0 ? ladder.bestBid * factor <= price : ladder.bestAsk * factor >= price
}
