import { Breakdown } from './breakdown.ts'
import type { EngineOrder } from './engine-order.ts'
import type { Ledger, Position } from './ledger.ts'
import type { MarketState } from './market-state.ts'
import type { RestingLevel } from './queue.ts'
import { MarketStatistics } from './statistics.ts'

/** One run in one market: its position, its resting orders and its statistics. */
export class RunMarket {
  readonly state: MarketState
  readonly position: Position
  readonly statistics = new MarketStatistics()
  readonly breakdown = new Breakdown()
  /** Resting orders by level key (price × 2 + side) of the primary book. */
  readonly levels = new Map<number, RestingLevel<EngineOrder>>()
  /** Units that this run has consumed of recorded levels, by level key. */
  readonly consumed = new Map<number, number>()
  /** The highest bid and the lowest ask of resting orders. */
  bestBid = 0
  bestAsk = Infinity
  /** True where a filled order may have to leave its level. */
  isDirty = false
  /** When the oldest decrease that waits for its print is given up. */
  expireAt = Infinity
  /** True while counted in `state.busy`. */
  isBusy = false
  /** True while counted in `state.holders`. */
  isHolding = false
  /** When resting orders end by the clock; Infinity where no event waits for it. */
  closeAt = Infinity

  constructor(state: MarketState, ledger: Ledger) {
    this.state = state
    this.position = ledger.open(state)
  }

  /** Resting orders in the order of their arrival. */
  resting(): EngineOrder[] {
    return [...this.levels.values()]
      .flatMap(({ orders }) => orders)
      .sort((left, right) => left.enteredAt - right.enteredAt || left.id - right.id)
  }

  /** Notes units of a recorded level as consumed. */
  consume(key: number, size: number): void {
    this.consumed.set(key, (this.consumed.get(key) ?? 0) + size)
  }

  /** Removes an order that has ended from its level. */
  remove(order: EngineOrder): void {
    const key = order.bookPrice * 2 + order.bookSide
    const level = this.levels.get(key)
    const index = level?.orders.indexOf(order) ?? -1
    if (level !== undefined && index >= 0) {
      level.orders.splice(index, 1)
      if (level.orders.length === 0) this.levels.delete(key)
      this.updateBest()
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
    if (isBusy === this.isBusy) return
    this.isBusy = isBusy
    this.state.busy += isBusy ? 1 : -1
  }

  /** Recomputes the best prices of resting orders. */
  updateBest(): void {
    this.bestBid = 0
    this.bestAsk = Infinity
    for (const { side, price } of this.levels.values()) {
      if (side === 0) this.bestBid = Math.max(this.bestBid, price)
      else this.bestAsk = Math.min(this.bestAsk, price)
    }
  }
}
