import { DOUBLE_ZERO } from '../domain/index.ts'
import { mulDiv } from './money.ts'

/** How much of the queue ahead of a resting order leaves when a level shrinks without a trade. */
export const QUEUE_MODELS = ['pessimistic', 'proportional', 'optimistic'] as const

/** One queue model: a guess about what no venue records. Their results need not be in this order. */
export type QueueModel = (typeof QUEUE_MODELS)[number]

/** A resting order as the queue sees it; sizes are in units of the venue. */
export interface Queued {
  remaining: number
  /** Units of others ahead of the order; the run's own orders are not counted. */
  ahead: number
  readonly enteredAt: number
}

/** Called for every fill with the order, the size and its evidence. */
export type OnQueueFill<Order> = (
  order: Order,
  size: number,
  evidence: 'print_at_level' | 'print_through' | 'snapshot_inferred',
) => void

// Never written to.
const NONE: Decrease[] = []

type Decrease = { readonly at: number; readonly base: number; readonly after: number; size: number }

/**
 * The run's resting orders at one price of one side, and what the tape says about the queue there.
 *
 * A level usually shrinks before the trade that shrank it is printed, and sometimes after. Each decrease
 * therefore waits up to `lag` for prints at its price, which explain it as traded. The rest was cancelled,
 * and the model decides how much of it was ahead. Prints before their decrease are remembered the same way.
 */
export class RestingLevel<Order extends Queued> {
  readonly side: 0 | 1
  /** Ten-thousandths, in the market's primary book. */
  readonly price: number
  readonly orders: Order[]
  private readonly model: QueueModel
  private readonly lag: number
  /** Created with the first decrease: most orders are replaced before one. */
  private waiting: Decrease[] = NONE
  private waitingSize = DOUBLE_ZERO
  private prepaid = DOUBLE_ZERO
  private prepaidAt = DOUBLE_ZERO

  constructor(side: 0 | 1, price: number, model: QueueModel, lag: number, ...orders: Order[]) {
    this.orders = orders
    this.side = side
    this.price = price
    this.model = model
    this.lag = lag
  }

  /** When the oldest waiting decrease counts as cancelled. */
  get expiresAt(): number {
    const first = this.waiting[0]
    return first === undefined ? Infinity : first.at + this.lag
  }

  /** The displayed size of the level changes; true where a decrease waits for its print that none waited before. */
  resize(at: number, before: number, after: number): boolean {
    if (after >= before) return false
    let size = before - after
    if (at - this.prepaidAt > this.lag) this.prepaid = 0
    const explained = Math.min(size, this.prepaid)
    this.prepaid -= explained
    size -= explained
    if (size === 0) return false
    if (this.waiting === NONE) this.waiting = []
    this.waiting.push({ at, base: before + this.waitingSize, after, size })
    this.waitingSize += size
    return this.waiting.length === 1
  }

  /** Treats decreases that no print explained in time as cancels. */
  expire(at: number): void {
    const { waiting } = this
    while (waiting.length > 0 && waiting[0]!.at + this.lag < at) {
      const decrease = waiting.shift()!
      this.waitingSize -= decrease.size
      for (const order of this.orders) {
        if (order.enteredAt > decrease.at) continue
        this.advance(order, decrease)
        // No more can be ahead than was displayed.
        order.ahead = Math.min(order.ahead, decrease.after)
      }
    }
  }

  /** A print of `size` at the price of this level; returns the size left after its fills. */
  printAt(at: number, size: number, onFill: OnQueueFill<Order>): number {
    let unexplained = size
    const { waiting } = this
    while (unexplained > 0 && waiting.length > 0) {
      const used = Math.min(unexplained, waiting[0]!.size)
      waiting[0]!.size -= used
      this.waitingSize -= used
      unexplained -= used
      if (waiting[0]!.size === 0) waiting.shift()
    }
    if (at - this.prepaidAt > this.lag) this.prepaid = 0
    this.prepaid += unexplained
    this.prepaidAt = at
    let left = size
    for (const order of this.orders) {
      if (left === 0) break
      if (this.isTooEarly(order, at)) continue
      const passed = Math.min(left, order.ahead)
      order.ahead -= passed
      const filled = Math.min(order.remaining, left - passed)
      if (filled > 0) {
        left -= filled
        onFill(order, filled, 'print_at_level')
      }
    }
    return left
  }

  /** A print beyond the price of this level: everything ahead has traded. */
  printThrough(at: number, size: number, onFill: OnQueueFill<Order>): number {
    let left = size
    for (const order of this.orders) {
      if (left === 0) break
      if (this.isTooEarly(order, at)) continue
      order.ahead = 0
      const filled = Math.min(order.remaining, left)
      if (filled > 0) {
        left -= filled
        onFill(order, filled, 'print_through')
      }
    }
    return left
  }

  /**
   * Without trades: the best level shrank between two whole books. The pessimistic model assumes cancels
   * only, the proportional one fills the orders' share of the level, the optimistic one fills all of it.
   */
  shrinkUnseen(before: number, after: number, onFill: OnQueueFill<Order>): void {
    if (after >= before || this.model === 'pessimistic') return
    let left = before - after
    for (const order of this.orders) {
      const filled =
        this.model === 'optimistic'
          ? Math.min(order.remaining, left)
          : mulDiv(left, order.remaining, before + order.remaining, 'down')
      if (filled > 0) {
        left -= filled
        onFill(order, filled, 'snapshot_inferred')
      }
    }
  }

  /** The book was replaced: everything displayed is ahead. */
  requeue(displayed: number): void {
    this.waiting = NONE
    this.waitingSize = 0
    this.prepaid = 0
    for (const order of this.orders) order.ahead = displayed
  }

  // A print may come up to `lag` after its trade, so one right after entry may be older than the order.
  private isTooEarly(order: Order, at: number): boolean {
    return this.model !== 'optimistic' && at < order.enteredAt + this.lag
  }

  private advance(order: Order, decrease: Decrease): void {
    switch (this.model) {
      case 'pessimistic':
        return
      case 'proportional':
        order.ahead -= mulDiv(
          Math.min(order.ahead, decrease.base),
          decrease.size,
          decrease.base,
          'down',
        )
        return
      case 'optimistic':
        order.ahead = Math.max(0, order.ahead - decrease.size)
    }
  }
}
