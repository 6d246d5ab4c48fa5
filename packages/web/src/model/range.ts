/** A span of time, in microseconds. */
export type Range = { readonly from: number; readonly to: number }

// The shortest span that charts show: a few buckets of the finest interval.
const SHORTEST = 4_000_000

/** An instant and its place on a chart: 0 at the left end, 1 at the right one. */
export type Anchor = { readonly time: number; readonly part: number }

/** A range of another length around an instant that keeps its place. */
export function zoomRange(range: Range, time: number, factor: number, limits: Range): Range {
  const span = range.to - range.from
  const part = (time - range.from) / span
  return fitRange(rangeThrough([{ time, part }], span * factor), limits)
}

/** A range that is moved, at most to the end of the limits. */
export function panRange({ from, to }: Range, by: number, limits: Range): Range {
  return fitRange({ from: from + by, to: to + by }, limits)
}

/** The range in which one or two instants have given places; with one of them its length is `span`. */
export function rangeThrough(anchors: readonly Anchor[], span: number): Range {
  const [first, second] = anchors
  if (first === undefined) return { from: 0, to: span }
  const apart = second === undefined ? 0 : second.part - first.part
  // Fingers that almost touch say nothing about the length.
  const length =
    second === undefined || Math.abs(apart) < 0.01 ? span : (second.time - first.time) / apart
  const from = first.time - first.part * length
  return { from, to: from + length }
}

/** The range of the same length inside the limits, in whole microseconds. */
export function fitRange(range: Range, limits: Range): Range {
  const most = limits.to - limits.from
  const span = Math.round(Math.min(most, Math.max(Math.min(SHORTEST, most), range.to - range.from)))
  // What is too short grows to both sides.
  const middle = (range.from + range.to) / 2
  const start = span > range.to - range.from ? middle - span / 2 : range.from
  const from = Math.round(Math.min(limits.to - span, Math.max(limits.from, start)))
  return { from, to: from + span }
}

/** The smallest range that has all of the given ones in it. */
export function joinRanges(ranges: readonly (Range | undefined)[]): Range | undefined {
  const known = ranges.filter((range) => range !== undefined)
  if (known.length === 0) return undefined
  return {
    from: Math.min(...known.map(({ from }) => from)),
    to: Math.max(...known.map(({ to }) => to)),
  }
}

/**
 * The last instant of the bucket of a time. A sampled row is the last one of its bucket, so this is where it is
 * the row that the interface answers with; in between there may have been others.
 */
export function endOfBucket(time: number, step: number, last: number): number {
  return Math.min(last, (Math.floor(time / step) + 1) * step - 1)
}

/** Reads a range from two instants of an address; undefined unless both are there and in order. */
export function toRange(from: number | undefined, to: number | undefined): Range | undefined {
  return from === undefined || to === undefined || to <= from ? undefined : { from, to }
}
