import type { Gap, Micros } from '@priorbook/sdk/domain'

/**
 * A span in which one recorder did not see an instrument: last good at `start`, good again at `end`.
 * A span without a gap lies before its first observation or after the end of its journal.
 */
export type Blind = {
  readonly start: number
  readonly end: number
  /** The last observation before it; adjacent spans with different values have a good row in between. */
  readonly afterSequence: number
  readonly gap?: Gap
  /** The gaps that determine the two bounds. */
  readonly opens?: Gap
  readonly closes?: Gap
}

/** When a recorder knew an instrument: from its first observation to its last journal record. */
export type Known = { readonly from: number; readonly to: number }

/** When one recorder saw one instrument. */
export class Sight {
  /** All blind spans by start; those without a gap do not overlap others. */
  readonly blind: readonly Blind[]
  /** The blind spans joined, without overlaps. */
  readonly united: readonly Blind[]

  constructor(gaps: readonly Gap[], known: Known | undefined) {
    const named = gaps.map(toBlind)
    const { from, to } = known ?? { from: Infinity, to: Infinity }
    const unnamed = [
      { start: -Infinity, end: from, afterSequence: 0 },
      { start: to, end: Infinity, afterSequence: Infinity },
    ].flatMap((span) => subtract(span, unite(named)))
    this.blind = [...named, ...unnamed].sort(byStart)
    this.united = unite(this.blind)
  }

  /** True strictly inside a blind span; at its bounds the instrument was seen. */
  isBlindAt(time: number): boolean {
    const span = this.united[this.lastFrom(time)]
    return span !== undefined && span.start < time && time < span.end
  }

  /** True when a blind span starts at this time or covers it. */
  isBlindAfter(time: number): boolean {
    const span = this.united[this.lastFrom(time)]
    return span !== undefined && time < span.end
  }

  private lastFrom(time: number): number {
    return lastAtMost(this.united, ({ start }) => start, time)
  }
}

/**
 * The gaps that remain after merging: where all recorders were blind. Reason and detail come from the
 * first recorder that has any; with one recorder its gaps are unchanged.
 */
export function findCommonGaps(sights: readonly Sight[]): Gap[] {
  const [first, ...others] = sights
  let pieces: readonly Blind[] = first?.blind ?? []
  for (const { blind, united } of others) {
    pieces = pieces.flatMap((piece) =>
      // A piece without a gap takes the gaps of the other recorder with their own reasons.
      piece.gap === undefined ? intersect(piece, blind, 0) : intersectUnited(piece, united),
    )
  }
  const gaps = new Map<string, Gap>()
  for (const piece of pieces) {
    if (piece.gap === undefined) continue
    const gap = toGap(piece, piece.gap)
    // Overlapping gaps that were cut to the same start become one.
    const name = `${gap.start} ${gap.reason}`
    const other = gaps.get(name)
    if (other === undefined || endOf(other) < endOf(gap)) gaps.set(name, gap)
  }
  return [...gaps.values()].sort((a, b) => a.start - b.start || endOf(a) - endOf(b))
}

/** The end of a gap, infinite while it is open. */
export function endOf(gap: Gap): number {
  return gap.end ?? Infinity
}

/** The last index whose value is at most `limit`, or −1; the values ascend. */
export function lastAtMost<T>(
  items: readonly T[],
  valueOf: (item: T) => number,
  limit: number,
): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (valueOf(items[middle]!) <= limit) low = middle + 1
    else high = middle
  }
  return low - 1
}

function toBlind(gap: Gap): Blind {
  const { start, afterSequence } = gap
  return { start, end: endOf(gap), afterSequence, gap, opens: gap, closes: gap }
}

function byStart(a: Blind, b: Blind): number {
  return a.start - b.start || a.end - b.end
}

function unite(spans: readonly Blind[]): Blind[] {
  const united: Blind[] = []
  for (const span of spans.toSorted(byStart)) {
    const last = united.at(-1)
    const joins =
      last !== undefined &&
      (span.start < last.end ||
        (span.start === last.end && span.afterSequence === last.afterSequence))
    if (!joins) united.push(span)
    else if (span.end > last.end) {
      const { closes: _closes, ...rest } = last
      const { end, afterSequence, closes } = span
      united[united.length - 1] = {
        ...rest,
        end,
        afterSequence,
        ...(closes === undefined ? {} : { closes }),
      }
    }
  }
  return united
}

function subtract(span: Blind, holes: readonly Blind[]): Blind[] {
  const left: Blind[] = []
  let { start } = span
  for (const hole of holes) {
    if (hole.end <= start || hole.start >= span.end) continue
    if (hole.start > start) left.push({ ...span, start, end: hole.start })
    start = hole.end
  }
  if (start < span.end) left.push({ ...span, start })
  return left
}

function intersectUnited(piece: Blind, spans: readonly Blind[]): Blind[] {
  return intersect(
    piece,
    spans,
    lastAtMost(spans, ({ end }) => end, piece.start),
  )
}

function intersect(piece: Blind, spans: readonly Blind[], from: number): Blind[] {
  const pieces: Blind[] = []
  for (let at = Math.max(0, from); at < spans.length; at++) {
    const span = spans[at]!
    if (span.start >= piece.end) break
    const start = Math.max(piece.start, span.start)
    const end = Math.min(piece.end, span.end)
    if (start >= end) continue
    const gap = piece.gap ?? span.gap
    const opens = (start === piece.start ? piece : span).opens
    const closes = (end === piece.end ? piece : span).closes
    pieces.push({
      start,
      end,
      afterSequence: 0,
      ...(gap === undefined ? {} : { gap }),
      ...(opens === undefined ? {} : { opens }),
      ...(closes === undefined ? {} : { closes }),
    })
  }
  return pieces
}

function toGap({ start, end, opens, closes }: Blind, gap: Gap): Gap {
  const { venue, scope, key, reason, afterSequence, detail, journal } = gap
  const isOpen = end === Infinity
  return {
    venue,
    scope,
    key,
    reason,
    start: start as Micros,
    ...(isOpen ? {} : { end: end as Micros }),
    ...(opens?.sourceStart === undefined ? {} : { sourceStart: opens.sourceStart }),
    ...(isOpen || closes?.sourceEnd === undefined ? {} : { sourceEnd: closes.sourceEnd }),
    afterSequence,
    ...(detail === undefined ? {} : { detail }),
    journal,
    ...(isOpen || closes?.endJournal === undefined ? {} : { endJournal: closes.endJournal }),
  }
}
