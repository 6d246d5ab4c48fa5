/** A check that is later than this was kept waiting by its own process. */
const STALL_MS = 500

/**
 * Measures how long this process itself did not run. That time says nothing about a venue: its messages
 * wait in the socket and are read after the check.
 */
export class OwnStalls {
  readonly #everyMs: number
  #checkedMs: number | undefined

  /** `everyMs` is how often `check` is called. */
  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Returns the time since the last check in which the process did not run. */
  check(nowMs: number): number {
    const lateMs = nowMs - (this.#checkedMs ?? nowMs) - this.#everyMs
    this.#checkedMs = nowMs
    return lateMs > STALL_MS ? lateMs : 0
  }
}

/** How many spacings show the habit of a stream. */
export const HABIT_SIZE = 64
const HABIT_FACTOR = 20

/**
 * Tells a silent stream from a slow one: a pause is a silence when it is longer than a minimum and than
 * 20 times the median of the last 64 spacings. Pauses and spacings are in the unit of the minimum.
 */
export class SilenceDetector {
  readonly #minimum: number
  readonly #spacings: (number | undefined)[] = []
  #count = 0
  /** The longest pause that is no silence; unknown after a message, because most are followed by another. */
  #longest: number | undefined

  constructor(minimum: number) {
    this.#minimum = minimum
  }

  /** Learns the time between two messages; undefined where it tells nothing, which counts among the 64. */
  note(spacing: number | undefined): void {
    this.#spacings[this.#count++ % HABIT_SIZE] = spacing
    this.#longest = undefined
  }

  /** True when a pause of this length is a silence. */
  isSilence(pause: number): boolean {
    if (pause <= this.#minimum) return false
    // Sorted only here, because long pauses are rare and messages are not; once in a pause, which is
    // asked about many times a second.
    this.#longest ??= HABIT_FACTOR * this.#median()
    return pause > this.#longest
  }

  #median(): number {
    const known = this.#spacings.filter((spacing) => spacing !== undefined)
    const sorted = known.sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? 0
  }
}
