/** Between two passes over all markets, one millisecond for this many of them. */
const PER_MS = 20
/** The same while no market is new: most of these passes change nothing. */
const PER_MS_UNCHANGED = 5

/** Says when a connector looks at all its markets again: the more there are, the less often. */
export class PassPace {
  #passedMs = -Infinity
  #size = 0

  isDue(size: number, nowMs: number): boolean {
    const perMs = size === this.#size ? PER_MS_UNCHANGED : PER_MS
    return nowMs >= this.#passedMs + size / perMs
  }

  /** A pass over this many markets began. */
  begin(size: number, nowMs: number): void {
    this.#passedMs = nowMs
    this.#size = size
  }
}
