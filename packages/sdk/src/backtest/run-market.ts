import { Breakdown } from './breakdown.ts'
import type { EngineOrder } from './engine-order.ts'
import type { Ledger, Position } from './ledger.ts'
import { maskOf, type LevelMasks } from './level-masks.ts'
import type { MarketState } from './market-state.ts'
import type { RestingLevel } from './queue.ts'
import { RestingLevels } from './resting-levels.ts'
import { MarketStatistics } from './statistics.ts'

/** One run in one market: its position, its resting orders and its statistics. */
export class RunMarket {
  readonly state: MarketState
  readonly position: Position
  readonly statistics = new MarketStatistics()
  readonly breakdown = new Breakdown()
  /** Resting orders by level key (price × 2 + side) of the primary book. */
  readonly levels: RestingLevels = new RestingLevels()
  /** Units that this run has consumed of recorded levels, by level key. */
  readonly consumed = new Map<number, number>()
  /** The highest bid and the lowest ask of resting orders. */
  bestBid = 0
  bestAsk = Infinity
  /** When the oldest decrease that waits for its print is given up. */
  expireAt = Infinity
  /** True while counted in `state.busy`. */
  isBusy = false
  /** True while counted in `state.holders`. */
  isHolding = false
  /** When resting orders end by the clock; Infinity where no event waits for it. */
  closeAt = Infinity
  /** The place of the run among all runs. */
  private readonly place: number
  private readonly masks: LevelMasks
  private dirty = false
  /** True while counted in `state.restless`. */
  private isRestless = false

  constructor(state: MarketState, ledger: Ledger, place: number) {
    this.state = state
    this.position = ledger.open(state)
    this.place = place
    this.masks = state.masks
    this.masks.admit(place)
  }

  /** True where a filled order may have to leave its level. */
  get isDirty(): boolean {
    return this.dirty
  }

  /** An order may have to leave its level with the current step. */
  markDirty(): void {
    this.dirty = true
    this.updateRestless()
  }

  /** Orders that are done have left their levels. */
  markClean(): void {
    this.dirty = false
    this.updateRestless()
  }

  /** Resting orders in the order of their arrival. */
  resting(): EngineOrder[] {
    const all: EngineOrder[] = []
    // Levels are in the order in which they were added, so most orders are sorted already.
    let isSorted = true
    let last: EngineOrder | undefined
    for (const { orders } of this.levels.list) {
      for (const order of orders) {
        if (last !== undefined && byArrival(last, order) > 0) isSorted = false
        all.push(order)
        last = order
      }
    }
    return isSorted ? all : all.sort(byArrival)
  }

  /** Notes units of a recorded level as consumed. */
  consume(key: number, size: number): void {
    const before = this.consumed.get(key)
    if (before === undefined) {
      this.state.interest.add(key, 1)
      this.masks.add(this.place, key)
    }
    this.consumed.set(key, (before ?? 0) + size)
  }

  /** A consumed level is gone. */
  forget(key: number): void {
    if (this.consumed.delete(key)) this.state.interest.add(key, -1)
  }

  /** The book was replaced, or the market has ended. */
  forgetAll(): void {
    for (const key of this.consumed.keys()) this.state.interest.add(key, -1)
    this.consumed.clear()
  }

  /** Adds a level with resting orders. */
  addLevel(key: number, level: RestingLevel<EngineOrder>): void {
    this.levels.add(key, level)
    this.state.interest.add(key, 1)
    this.masks.add(this.place, key)
    if (this.isRestless) this.updateRestless()
    if (level.side === 0) this.bestBid = Math.max(this.bestBid, level.price)
    else this.bestAsk = Math.min(this.bestAsk, level.price)
    this.widenBounds()
  }

  /** Removes a level without orders. */
  dropLevel(key: number): void {
    if (!this.levels.delete(key)) return
    this.state.interest.add(key, -1)
    if (this.levels.size === 0) this.updateRestless()
  }

  /** Waits for prints of a level until they are given up. */
  awaitExpiry(at: number): void {
    if (at < this.expireAt) this.expireAt = at
    if (at < this.state.expireAt) this.state.expireAt = at
  }

  /** Removes an order that has ended from its level. */
  remove(order: EngineOrder): void {
    const key = order.bookPrice * 2 + order.bookSide
    const level = this.levels.get(key)
    const index = level?.orders.indexOf(order) ?? -1
    if (level !== undefined && index >= 0) {
      const { orders } = level
      if (orders.length > 1) orders.splice(index, 1)
      else {
        orders.pop()
        this.dropLevel(key)
        this.updateBest()
      }
    }
    this.updateBusy()
  }

  /** Counts or uncounts this run in `state.holders`. */
  updateHolding(): void {
    const isHolding = !this.position.isEmpty
    if (isHolding === this.isHolding) return
    this.isHolding = isHolding
    this.state.holders += isHolding ? 1 : -1
  }

  /** Counts or uncounts this run in `state.busy`. */
  updateBusy(): void {
    const isBusy = this.levels.size > 0 || this.consumed.size > 0
    if (!isBusy) this.masks.set(this.place, 0)
    if (isBusy === this.isBusy) return
    this.isBusy = isBusy
    this.state.busy += isBusy ? 1 : -1
    this.updateRestless()
  }

  // Counts or uncounts this run in `state.restless`.
  private updateRestless(): void {
    const isRestless = this.isBusy && (this.dirty || this.levels.size === 0)
    if (isRestless === this.isRestless) return
    this.isRestless = isRestless
    this.state.restless += isRestless ? 1 : -1
  }

  /** Clears the bits of levels that are gone. */
  refreshMask(): void {
    let mask = 0
    for (const { side, price } of this.levels.list) mask |= maskOf(price * 2 + side)
    for (const key of this.consumed.keys()) mask |= maskOf(key)
    this.masks.set(this.place, mask)
  }

  /** Widens the bounds of the market to the orders of this run. */
  widenBounds(): void {
    const { state } = this
    if (this.bestBid > state.restingBid) state.restingBid = this.bestBid
    if (this.bestAsk < state.restingAsk) state.restingAsk = this.bestAsk
    if (this.expireAt < state.expireAt) state.expireAt = this.expireAt
  }

  /** Recomputes the best prices of resting orders. */
  updateBest(): void {
    this.bestBid = 0
    this.bestAsk = Infinity
    for (const { side, price } of this.levels.list) {
      if (side === 0) this.bestBid = Math.max(this.bestBid, price)
      else this.bestAsk = Math.min(this.bestAsk, price)
    }
    this.widenBounds()
  }
}

function byArrival(left: EngineOrder, right: EngineOrder): number {
  return left.enteredAt - right.enteredAt || left.id - right.id
}
