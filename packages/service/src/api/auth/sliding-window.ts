/** One limit: at most `quota` hits in any span of `buckets × bucketMs` milliseconds. */
export type WindowLimit = {
  readonly name: 'second' | 'minute'
  readonly quota: number
}

/** How full a window is. */
export type WindowState = {
  /** How many more hits fit right now. */
  remaining: number
  /** When the oldest hit leaves the window, in milliseconds since 1970; now when there is none. */
  resetMs: number
  /** When one more hit fits; now when it fits already. */
  nextMs: number
}

type Shape = { readonly bucketMs: number; readonly buckets: number; readonly at: number }

// Hits are counted per bucket. The sum covers one bucket more than the window, so that no span of a second
// or a minute ever holds more than the quota; the window is therefore up to 1 % longer.
const SHAPES: Readonly<Record<WindowLimit['name'], Shape>> = {
  second: { bucketMs: 10, buckets: 100, at: 0 },
  minute: { bucketMs: 500, buckets: 120, at: 216 },
}
const HEAD = 8

/** The bytes of the counters of one key. */
export const COUNTER_BYTES = 216 + HEAD + 2 * 121 + 6

/** How the hits of a window are counted. */
export function shapeOf(name: WindowLimit['name']): Pick<Shape, 'bucketMs' | 'buckets'> {
  return SHAPES[name]
}

/** The length of a window in seconds. */
export function windowSeconds(name: WindowLimit['name']): number {
  const { bucketMs, buckets } = SHAPES[name]
  return (bucketMs * buckets) / 1000
}

/** Drops hits that have left the window and tells how full it is. */
export function lookAt(counters: DataView, limit: WindowLimit, nowMs: number): WindowState {
  const { bucketMs, buckets } = SHAPES[limit.name]
  const current = turnTo(counters, SHAPES[limit.name], nowMs)
  const counts = countsOf(counters, SHAPES[limit.name])
  let sum = 0
  for (let index = 0; index <= buckets; index++) sum += counts[index]!
  const state = { remaining: Math.max(0, limit.quota - sum), resetMs: nowMs, nextMs: nowMs }
  if (sum === 0) return state
  let left = sum
  for (let bucket = current - buckets; bucket <= current; bucket++) {
    const count = counts[bucket % (buckets + 1)]!
    if (count === 0) continue
    const leaves = (bucket + buckets + 1) * bucketMs
    if (state.resetMs === nowMs) state.resetMs = leaves
    if (left < limit.quota) break
    left -= count
    if (left < limit.quota) state.nextMs = leaves
  }
  return state
}

/** Counts a hit. */
export function hit(counters: DataView, name: WindowLimit['name'], nowMs: number): void {
  const shape = SHAPES[name]
  const counts = countsOf(counters, shape)
  counts[turnTo(counters, shape, nowMs) % (shape.buckets + 1)]!++
}

function countsOf(counters: DataView, { at, buckets }: Shape): Uint16Array {
  return new Uint16Array(counters.buffer, counters.byteOffset + at + HEAD, buckets + 1)
}

// Empties the buckets between the last hit and now; gives the current bucket.
function turnTo(counters: DataView, shape: Shape, nowMs: number): number {
  const last = counters.getFloat64(shape.at)
  const now = Math.floor(nowMs / shape.bucketMs)
  // A clock set back by less than a window keeps the last bucket; one set back further starts over.
  if (now <= last && last - now <= shape.buckets) return last
  const counts = countsOf(counters, shape)
  const ring = shape.buckets + 1
  if (now < last || now - last >= ring) counts.fill(0)
  else for (let bucket = last + 1; bucket <= now; bucket++) counts[bucket % ring] = 0
  counters.setFloat64(shape.at, now)
  return now
}
