import { FLAGS, type Gap } from '@priorbook/sdk/domain'
import type { RowHead } from '@priorbook/sdk/tape'

/** The gaps of a merged series, placed among its rows as these are written. */
export class SeriesGaps {
  private readonly gaps: readonly Gap[]
  private next = 0
  private sequence = 0
  private open: Gap[] = []

  /** `gaps` by start. */
  constructor(gaps: readonly Gap[]) {
    this.gaps = gaps
  }

  /** The next row: returns the gaps before it, and the row with or without the mark of one that it ends. */
  place(head: RowHead): { readonly gaps: readonly Gap[]; readonly head: RowHead } {
    const gaps = this.take(head.received)
    const isClosing = this.open.some(({ end = Infinity }) => end <= head.received)
    if (isClosing) this.open = this.open.filter(({ end = Infinity }) => end > head.received)
    this.sequence++
    const flags = isClosing ? head.flags | FLAGS.after_gap : head.flags & ~FLAGS.after_gap
    return { gaps, head: { ...head, flags } }
  }

  /** The gaps after the last row. */
  rest(): readonly Gap[] {
    return this.take(Infinity)
  }

  private take(received: number): readonly Gap[] {
    const gaps: Gap[] = []
    for (let gap = this.gaps[this.next]; gap !== undefined; gap = this.gaps[this.next]) {
      if (gap.start >= received) break
      gaps.push({ ...gap, afterSequence: this.sequence })
      this.open.push(gap)
      this.next++
    }
    return gaps
  }
}
