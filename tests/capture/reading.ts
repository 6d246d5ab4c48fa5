import type { Expected } from './wire-log.ts'

/**
 * How far a recorder had read the sockets of a venue at any time. Whatever it found out after a row, it
 * found in what was on the wire after the last message that it had read by then, of whichever market;
 * one that is kept from running reads that seconds late, and answers may overtake what lies there.
 */
export class Reading {
  private readonly points: { readonly received: number; readonly sent: number }[] = []
  private isSorted = true

  /** Takes the messages of one instrument, with the rows that they became. */
  add(expected: readonly Expected[]): void {
    for (const { matched, isAnswer, at } of expected) {
      if (matched === undefined || isAnswer) continue
      this.points.push({ received: matched.received, sent: at })
    }
    this.isSorted = false
  }

  /** When the last message that was read by then had been put on the wire; then, if there is none. */
  reached(received: number): number {
    const { points } = this
    if (!this.isSorted) points.sort((a, b) => a.received - b.received)
    this.isSorted = true
    let low = 0
    let high = points.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (points[middle]!.received <= received) low = middle + 1
      else high = middle
    }
    return Math.min(received, points[low - 1]?.sent ?? received)
  }
}
