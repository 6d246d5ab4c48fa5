import { ABSENT } from '@priorbook/sdk/tape'

/** How many of the newest observations show a connection's habit. */
export const HABIT_ROWS = 64

/** A connection without a data frame for this long is silent, unless it is slow by habit. */
export const SILENCE_MICROS = 6_000_000
const HABIT_FACTOR = 20

/**
 * Tells a silent connection from a quiet market. A subscription numbers the messages of all its
 * markets: between two messages of one market, `advance` numbers in `elapsed` time mean that some
 * silence of at least elapsed / advance lies between, and not more can be proved.
 */
export class SilenceWatch {
  private readonly spacings: number[] = []

  /** Says whether the time between two frames of the subscription was a silence. */
  isSilent(elapsed: number, advance: number): boolean {
    const spacing = elapsed / advance
    return spacing > SILENCE_MICROS && spacing > HABIT_FACTOR * this.median()
  }

  /** Learns the habit from two stored observations; those without a venue number teach nothing. */
  note(before: Numbered, after: Numbered): void {
    const advance = after.venueSeq - before.venueSeq
    if (before.venueSeq === ABSENT || after.venueSeq === ABSENT || advance < 1) return
    this.spacings.push((after.received - before.received) / advance)
    if (this.spacings.length > HABIT_ROWS) this.spacings.shift()
  }

  // Asked only when seconds have passed: sorting then is cheaper than keeping order always.
  private median(): number {
    const sorted = [...this.spacings].sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? 0
  }
}

type Numbered = { readonly received: number; readonly venueSeq: number }
