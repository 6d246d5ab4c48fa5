import { mulDiv } from './money.ts'

/** How much of the queue in front of a resting order goes when a level shrinks without a trade. */
export const QUEUE_MODELS = ['pessimistic', 'proportional', 'optimistic'] as const

/** One of them; none is true, the truth lies between the first and the last. */
export type QueueModel = (typeof QUEUE_MODELS)[number]

/** A resting order as the queue sees it; sizes are units of the venue. */
export interface Queued {
  remaining: number
  /** Units of others that stand in front; our own orders are not counted. */
  ahead: number
  readonly enteredAt: number
}

/** Told of every fill: the order, how much, and what it rests on. */
export type OnQueueFill<Order> = (
  order: Order,
  size: number,
  evidence: 'print_at_level' | 'print_through' | 'snapshot_inferred',
) => void

type Shrink = { readonly at: number; readonly base: number; readonly after: number; size: number }

/**
 * Our resting orders at one price of one side, with what the tape says about the queue there.
 *
 * The book usually shrinks before the trade that shrank it is printed, and sometimes after. So a shrink
 * waits for `lag`: a print at the price explains it as traded; what no print explains was cancelled, and
 * the model says how much of that stood in front. A print before its shrink is remembered the same way.
 */
export class RestingLevel<Order extends Queued> {
  readonly side: 0 | 1
  /** Ten-thousandths, in the market's frame. */
  readonly price: number
  readonly orders: Order[] = []
  private readonly model: QueueModel
  private readonly lag: number
  private readonly waiting: Shrink[] = []
  private waitingSize = 0
  private prepaid = 0
  private prepaidAt = 0

  constructor(side: 0 | 1, price: number, model: QueueModel, lag: number) {
    this.side = side
    this.price = price
    this.model = model
    this.lag = lag
  }

  /** When the oldest waiting shrink is given up. */
  get expiresAt(): number {
    const first = this.waiting[0]
    return first === undefined ? Infinity : first.at + this.lag
  }

  /** The level goes from one displayed size to another. */
  resize(at: number, before: number, after: number): void {
    if (after >= before) return
    let size = before - after
    if (at - this.prepaidAt > this.lag) this.prepaid = 0
    const explained = Math.min(size, this.prepaid)
    this.prepaid -= explained
    size -= explained
    if (size === 0) return
    this.waiting.push({ at, base: before + this.waitingSize, after, size })
    this.waitingSize += size
  }

  /** Treats shrinks that no print explained in time as cancels. */
  expire(at: number): void {
    const { waiting } = this
    while (waiting.length > 0 && waiting[0]!.at + this.lag < at) {
      const shrink = waiting.shift()!
      this.waitingSize -= shrink.size
      for (const order of this.orders) {
        if (order.enteredAt > shrink.at) continue
        this.giveWay(order, shrink)
        // Nobody can stand in front who was not displayed.
        order.ahead = Math.min(order.ahead, shrink.after)
      }
    }
  }

  /** A print at the price of this level, of which `size` is left for it; gives what is left after. */
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

  /** A print beyond the price of this level: whatever stood in front is gone. */
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
   * Without trades: the level shrank between two whole books while it was the best. The pessimist sees
   * cancels only; the proportional model gives our share of a level that held us too; the optimist all.
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

  /** The book starts anew: everybody who is displayed stands in front. */
  requeue(displayed: number): void {
    this.waiting.length = 0
    this.waitingSize = 0
    this.prepaid = 0
    for (const order of this.orders) order.ahead = displayed
  }

  // Prints come up to `lag` after what they are prints of: right after entry they may be older than we.
  private isTooEarly(order: Order, at: number): boolean {
    return this.model !== 'optimistic' && at < order.enteredAt + this.lag
  }

  private giveWay(order: Order, shrink: Shrink): void {
    switch (this.model) {
      case 'pessimistic':
        return
      case 'proportional':
        order.ahead -= mulDiv(Math.min(order.ahead, shrink.base), shrink.size, shrink.base, 'down')
        return
      case 'optimistic':
        order.ahead = Math.max(0, order.ahead - shrink.size)
    }
  }
}
