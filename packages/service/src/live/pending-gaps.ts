import type { Gap } from '@priorbook/sdk/domain'

/** Gaps that wait for their place among the books of one instrument, ordered by the row they follow. */
export class PendingGaps {
  private waiting: Gap[] = []

  constructor(gaps: readonly Gap[] = []) {
    this.add(gaps)
  }

  add(gaps: readonly Gap[]): void {
    if (gaps.length === 0) return
    this.waiting.push(...gaps)
    this.waiting.sort((a, b) => a.afterSequence - b.afterSequence || a.start - b.start)
  }

  /** Shifts the next gap if it comes before a row. */
  shiftBefore(sequence: number): Gap | undefined {
    const [first] = this.waiting
    return first !== undefined && first.afterSequence < sequence ? this.waiting.shift() : undefined
  }

  /** Shifts all gaps, also those that follow rows which are not stored yet. */
  shiftAll(): readonly Gap[] {
    const all = this.waiting
    this.waiting = []
    return all
  }
}
