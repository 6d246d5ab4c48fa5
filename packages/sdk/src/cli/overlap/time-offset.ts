import type { OwnRow } from './read-capture.ts'
import type { ServiceRow } from './service-rows.ts'

/** How much later the service received what the capture received, in microseconds. */
export type TimeOffset = {
  readonly median: number
  /** The bounds of the middle nine tenths. */
  readonly low: number
  readonly high: number
  /** Books that were found once on both sides. */
  readonly matches: number
}

/** Collects books of both sides, and compares when each of them was seen first. */
export class OffsetEstimate {
  private readonly deltas: number[] = []

  /** Adds the same span of one instrument from both sides. Only books that each side shows once count. */
  add(own: readonly Pick<OwnRow, 'time' | 'top'>[], service: readonly ServiceRow[]): void {
    const mine = timesOf(own)
    const theirs = timesOf(service)
    for (const [depth, time] of mine) {
      const other = theirs.get(depth)
      if (time !== undefined && other !== undefined) this.deltas.push(other - time)
    }
  }

  /** Undefined where no book was found on both sides. */
  result(): TimeOffset | undefined {
    const { deltas } = this
    if (deltas.length === 0) return undefined
    deltas.sort((a, b) => a - b)
    const at = (share: number): number => deltas[Math.floor(share * (deltas.length - 1))]!
    return { median: at(0.5), low: at(0.05), high: at(0.95), matches: deltas.length }
  }
}

// A book that is seen more than once cannot be matched: its time is undefined. Rows in a row with the same
// best levels are one book.
function timesOf(
  rows: readonly { readonly time: number; readonly top: { readonly depth: string } }[],
): Map<string, number | undefined> {
  const times = new Map<string, number | undefined>()
  let before: string | undefined
  for (const { time, top } of rows) {
    if (top.depth === before) continue
    before = top.depth
    times.set(top.depth, times.has(top.depth) ? undefined : time)
  }
  return times
}
