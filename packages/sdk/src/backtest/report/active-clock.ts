import type { Report } from './report-shape.ts'

/** A time axis that cuts out long quiet stretches, so that markets on different days fit next to each other. */
export interface ActiveClock {
  readonly length: number
  /** The position of a time on the axis. */
  place(at: number): number
  readonly ticks: readonly (readonly [place: number, text: string])[]
  readonly isCut: boolean
}

// Max length of a stretch without a point of the curve or a fill, in microseconds.
const MAX_STRETCH = 120_000_000

/** Creates the time axis of a report. */
export function createActiveClock({ equity, fills_kept }: Report): ActiveClock {
  const times = [...equity.map(([at]) => at), ...fills_kept.map(({ at }) => at)].sort(
    (left, right) => left - right,
  )
  const first = times[0] ?? 0
  const last = times.at(-1) ?? 1
  const places: number[] = []
  let place = 0
  for (const [index, at] of times.entries()) {
    if (index > 0) place += Math.min(MAX_STRETCH, at - times[index - 1]!)
    places.push(place)
  }
  const isCut = place < (last - first) * 0.6
  const length = isCut ? place : last - first
  const toPlace = (at: number): number => {
    if (!isCut) return at - first
    const index = lastBefore(times, at)
    if (index < 0) return 0
    return Math.min(length, places[index]! + Math.min(MAX_STRETCH, at - times[index]!))
  }
  const toTime = (wanted: number): number => {
    if (!isCut) return first + wanted
    const index = Math.max(0, lastBefore(places, wanted))
    return (times[index] ?? first) + (wanted - (places[index] ?? 0))
  }
  const isShort = last - first < 86_400_000_000
  const ticks = Array.from({ length: 5 }, (_, index) => {
    const where = (length * (index + 0.5)) / 5
    const text = new Date(toTime(where) / 1000).toISOString()
    return [where, isShort ? text.slice(11, 19) : text.slice(5, 16).replace('T', ' ')] as const
  })
  return { length: Math.max(1, length), place: toPlace, ticks, isCut }
}

function lastBefore(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
