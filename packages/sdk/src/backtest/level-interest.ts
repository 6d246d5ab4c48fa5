// Up to this price 1.0 in ticks, a market has a counter per level: 40 KB for ticks of 0.0001.
const MAX_COUNTED = 10_000

/**
 * How many runs have resting orders at, or have consumed units of, each level of a market. A row that
 * changes none of them concerns no run, which one look here tells for all runs of a sweep.
 */
export class LevelInterest {
  /** Present while any level concerns a run. */
  private counts: Uint16Array | undefined
  private readonly fine: Map<number, number> | undefined
  private readonly levels: number
  private readonly spare: SpareCounters
  /** How many levels concern a run, each counted once per run. */
  private total = 0

  constructor(one: number, spare: SpareCounters = new SpareCounters()) {
    this.levels = one * 2 + 2
    this.fine = one > MAX_COUNTED ? new Map() : undefined
    this.spare = spare
  }

  /** Adds or removes one interest in a level by its key, price × 2 + side. */
  add(key: number, change: 1 | -1): void {
    if (this.fine !== undefined) {
      const count = (this.fine.get(key) ?? 0) + change
      if (count === 0) this.fine.delete(key)
      else this.fine.set(key, count)
      return
    }
    const counts = (this.counts ??= this.spare.borrow(this.levels))
    counts[key]! += change
    this.total += change
    if (this.total > 0) return
    this.counts = undefined
    this.spare.giveBack(counts)
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

/**
 * Counters of markets that concern no run at present, all of them zero. Thousands of markets come and go in one run,
 * and a market loses its last order many times: its counters are used again, by itself or by another market.
 */
export class SpareCounters {
  private readonly free = new Map<number, Uint16Array[]>()

  /** Gives counters of this length, all zero. */
  borrow(length: number): Uint16Array {
    return this.free.get(length)?.pop() ?? new Uint16Array(length)
  }

  /** Takes back counters that are all zero. */
  giveBack(counts: Uint16Array): void {
    const list = this.free.get(counts.length)
    if (list === undefined) this.free.set(counts.length, [counts])
    else list.push(counts)
  }

  /** How many counters wait to be used again. */
  get size(): number {
    let size = 0
    for (const list of this.free.values()) size += list.length
    return size
  }
}
