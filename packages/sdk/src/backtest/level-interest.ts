// Up to this price 1.0 in ticks, a market has a counter per level: 40 KB for ticks of 0.0001.
const MAX_COUNTED = 10_000

/**
 * How many runs have resting orders at, or have consumed units of, each level of a market. A row that
 * changes none of them concerns no run, which one look here tells for all runs of a sweep.
 */
export class LevelInterest {
  private counts: Uint16Array | undefined
  private readonly fine: Map<number, number> | undefined
  private readonly levels: number

  constructor(one: number) {
    this.levels = one * 2 + 2
    this.fine = one > MAX_COUNTED ? new Map() : undefined
  }

  /** Adds or removes one interest in a level by its key, price × 2 + side. */
  add(key: number, change: 1 | -1): void {
    if (this.fine !== undefined) {
      const count = (this.fine.get(key) ?? 0) + change
      if (count === 0) this.fine.delete(key)
      else this.fine.set(key, count)
      return
    }
    this.counts ??= new Uint16Array(this.levels)
    this.counts[key]! += change
  }

  /** True where any of the changed levels [from, to) concerns a run; keys count `factor` ticks. */
  touches(keys: Uint32Array, from: number, to: number, factor: number): boolean {
    const { counts, fine } = this
    if (counts !== undefined) {
      for (let index = from; index < to; index++) {
        const key = keys[index]!
        if (counts[(key >>> 1) * factor * 2 + (key & 1)] !== 0) return true
      }
      return false
    }
    if (fine === undefined || fine.size === 0) return false
    for (let index = from; index < to; index++) {
      const key = keys[index]!
      if (fine.has((key >>> 1) * factor * 2 + (key & 1))) return true
    }
    return false
  }
}
