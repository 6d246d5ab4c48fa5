import type { EngineOrder } from './engine-order.ts'

/**
 * The open orders of a run by their ids, which ascend: two lists, because V8 rebuilds a map that changes with every
 * order. Most orders that are looked for are among the last ones, so the search begins there.
 */
export class OpenOrders {
  private readonly ids: number[] = []
  private readonly orders: EngineOrder[] = []

  /** Adds an order whose id is higher than all before. */
  add(order: EngineOrder): void {
    this.ids.push(order.id)
    this.orders.push(order)
  }

  /** The order of an id, which may be any value. */
  get(id: number): EngineOrder | undefined {
    const index = this.indexOf(id)
    return index < 0 ? undefined : this.orders[index]
  }

  /** Removes the order of an id, if it is there. */
  delete(id: number): void {
    const { ids, orders } = this
    const index = this.indexOf(id)
    if (index < 0) return
    // Not by `splice`, which allocates a list of what it removes.
    for (let next = index + 1; next < ids.length; next++) {
      ids[next - 1] = ids[next]!
      orders[next - 1] = orders[next]!
    }
    ids.pop()
    orders.pop()
  }

  /** All open orders, oldest first. */
  list(): readonly EngineOrder[] {
    return [...this.orders]
  }

  private indexOf(id: number): number {
    const { ids } = this
    // Strategies may pass any value; comparing some of them would throw.
    if (typeof id !== 'number') return -1
    let to = ids.length
    let from = to - 1
    // Twice as far with every step.
    while (from >= 0 && ids[from]! > id) {
      const step = 2 * (ids.length - from)
      to = from
      from = ids.length - step
    }
    if (from < 0) from = 0
    while (from < to) {
      const middle = (from + to) >>> 1
      if (ids[middle]! < id) from = middle + 1
      else to = middle
    }
    return from < ids.length && ids[from] === id ? from : -1
  }
}
