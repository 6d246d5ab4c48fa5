import { DAY_MICROS } from '../domain/index.ts'
import type { ClassedFill, FillSums } from './statistics.ts'

/** Names of the spans of time between a fill and the close of its market, and the end of each in seconds. */
export const TIMES_TO_CLOSE = [
  ['after the close', 0],
  ['under 10 s', 10],
  ['10 s to 30 s', 30],
  ['30 s to 1 min', 60],
  ['1 min to 5 min', 300],
  ['5 min to 15 min', 900],
  ['15 min to 1 h', 3600],
  ['1 h to 6 h', 21_600],
  ['6 h to 1 d', 86_400],
  ['over 1 d', Infinity],
] as const

/** The index of fills in markets whose close is not known. */
export const CLOSE_UNKNOWN: number = TIMES_TO_CLOSE.length

const HOUR_MICROS = 3_600_000_000

/** The fills of one run in one market, summed up by day, by hour of day and by time to close. */
export class Breakdown {
  /** By the number of the UTC day. */
  readonly days = new Map<number, FillSums>()
  /** By the hour of the UTC day. */
  readonly hours = new Map<number, FillSums>()
  /** By the index into `TIMES_TO_CLOSE`. */
  readonly toClose = new Map<number, FillSums>()

  /** Adds a fill in a market that closes at a time, as known when it was filled. */
  add(fill: ClassedFill, closeTime: number | undefined): void {
    const { at } = fill
    addTo(this.days, Math.floor(at / DAY_MICROS), fill)
    addTo(this.hours, Math.floor((at % DAY_MICROS) / HOUR_MICROS), fill)
    addTo(this.toClose, closeTime === undefined ? CLOSE_UNKNOWN : spanOf(closeTime - at), fill)
  }
}

function spanOf(micros: number): number {
  if (micros <= 0) return 0
  const index = TIMES_TO_CLOSE.findIndex(([, seconds]) => micros < seconds * 1e6)
  return index < 0 ? TIMES_TO_CLOSE.length - 1 : index
}

function addTo(into: Map<number, FillSums>, key: number, fill: ClassedFill): void {
  let sums = into.get(key)
  if (sums === undefined) into.set(key, (sums = { fills: 0, cash: 0, fees: 0, units: [0, 0] }))
  sums.fills++
  sums.cash += fill.cash
  sums.fees += fill.fees
  sums.units[fill.outcome as 0 | 1] += fill.units
}
