import type { EngineOrder } from './engine-order.ts'
import type { RestingLevel } from './queue.ts'

/**
 * The levels of a market at which a run has resting orders, in the order in which they were added. They are few and
 * change with every order. Searching a short list is cheaper than a map, because V8 rebuilds a map that changes often.
 */
export class RestingLevels {
  /** Not to be modified by others; a level that is removed leaves no hole. */
  readonly list: RestingLevel<EngineOrder>[] = []
  private readonly keys: number[] = []

  get size(): number {
    return this.list.length
  }

  /** The level of a key, price × 2 + side. */
  get(key: number): RestingLevel<EngineOrder> | undefined {
    const index = this.indexOf(key)
    return index < 0 ? undefined : this.list[index]
  }

  /** Adds a level whose key is not in the list. */
  add(key: number, level: RestingLevel<EngineOrder>): void {
    this.keys.push(key)
    this.list.push(level)
  }

  /** Removes a level; returns false where there is none. */
  delete(key: number): boolean {
    const { keys, list } = this
    const index = this.indexOf(key)
    if (index < 0) return false
    // Not by `splice`, which allocates a list of what it removes.
    for (let next = index + 1; next < list.length; next++) {
      keys[next - 1] = keys[next]!
      list[next - 1] = list[next]!
    }
    keys.pop()
    list.pop()
    return true
  }

  // A loop of our own, which is compiled in place, unlike the method of arrays.
  private indexOf(key: number): number {
    const { keys } = this
    let index = keys.length - 1
    while (index >= 0 && keys[index] !== key) index--
    return index
  }
}
