import { gapId, toMicros, VENUES, type Gap, type VenueId } from '@priorbook/sdk/domain'
import type { RunPart } from './lane.ts'

/** The received times that a question about gaps covers. */
export type TimeSpan = { readonly start?: number; readonly end?: number }

/** Lists the gaps of one key that may touch a span, such as a store or what is remembered of it. */
export type GapReader = (key: string, span: TimeSpan) => Promise<readonly Gap[]>

/** The key of gaps that concern a whole venue. */
export const VENUE_KEY = ''

/** The keys of gaps that concern more than one market: those of a venue, and those of its feed of trades. */
export function sharedGapKeys(venue: VenueId): readonly string[] {
  const { tradesKey } = VENUES[venue]
  return tradesKey === undefined ? [VENUE_KEY] : [VENUE_KEY, tradesKey]
}

/** The keys under which gaps of instruments are listed: their own, their markets', their venue's. */
export function gapKeysOf(
  instruments: Iterable<{ readonly key: string; readonly marketId: string }>,
): readonly string[] {
  const list = [...instruments]
  const markets = list.map(({ marketId }) => marketId)
  return [...new Set([...list.map(({ key }) => key), ...markets, VENUE_KEY])]
}

/** The gaps of several keys that may touch a span, each once. */
export async function gapsOfKeys(
  read: GapReader,
  keys: Iterable<string>,
  span: TimeSpan,
): Promise<Gap[]> {
  const found: Gap[] = []
  for (const key of new Set(keys)) for (const gap of await read(key, span)) found.push(gap)
  return found
}

/** A reader of gaps of one venue straight from the store. */
export function storeGaps(
  store: { gaps(query: TimeSpan & { venue: VenueId; key: string }): Promise<readonly Gap[]> },
  venue: VenueId,
): GapReader {
  return (key, span) => store.gaps({ venue, key, ...span })
}

/** Each gap once, the newest version of it. */
export function distinctGaps(gaps: readonly Gap[]): Gap[] {
  if (gaps.length < 2) return [...gaps]
  return [...new Map(gaps.map((gap) => [gapId(gap), gap])).values()]
}

/**
 * What retention has removed between a time and the next row that was read, from the gaps that the store lists
 * now: these may be longer, because retention goes on, or began with rows that were read before.
 */
export function removedSince(gaps: readonly Gap[], from: number, next = Infinity): Gap[] {
  return gaps
    .filter(({ reason, end = Infinity }) => reason === 'retention' && end > from)
    .map((gap) => {
      const start = toMicros(Math.max(gap.start, from))
      const end = Math.max(start, Math.min(gap.end ?? Infinity, next))
      return end === Infinity ? { ...gap, start } : { ...gap, start, end: toMicros(end) }
    })
}

/** Orders gaps by where they begin; others keep their order. */
export function compareStarts(a: Gap, b: Gap): number {
  return a.start - b.start || a.afterSequence - b.afterSequence
}

/** A gap as it was known at a time: not at all, or still open. */
export function asKnownAt(gap: Gap, knownAt: number): readonly Gap[] {
  if (gap.start > knownAt) return []
  return [gap.end === undefined || gap.end <= knownAt ? gap : withoutEnd(gap)]
}

/** A gap as it was known where it opened: without its end and without what was found out at its end. */
export function asOpened(gap: Gap): Gap {
  if (gap.end === undefined) return gap
  const { detail: _detail, ...open } = withoutEnd(gap)
  return open
}

function withoutEnd(gap: Gap): Gap {
  const { end: _end, sourceEnd: _sourceEnd, endJournal: _endJournal, ...open } = gap
  return open
}

/** Gaps in the order of a walk; each is shifted once, before the first row after it. */
export class GapQueue {
  private waiting: Gap[] = []
  private readonly seen = new Set<string>()

  constructor(gaps: readonly Gap[] = []) {
    this.add(gaps)
  }

  /** Adds gaps that reading found, such as damaged chunks; known ones are ignored. */
  add(gaps: readonly Gap[]): void {
    if (gaps.length === 0) return
    for (const gap of gaps) {
      const id = gapId(gap)
      if (this.seen.has(id)) continue
      this.seen.add(id)
      this.waiting.push(gap)
    }
    this.waiting.sort(compareStarts)
  }

  /**
   * Whether the next gap comes before a row. Where times tie, the sequence decides for observations of
   * the gap's own instrument; rows of other kinds pass the empty key.
   */
  isBefore(received: number, key: string, sequence: number): boolean {
    const gap = this.waiting[0]
    if (gap === undefined) return false
    if (received !== gap.start) return received > gap.start
    return gap.scope === 'instrument' && gap.key === key && sequence > gap.afterSequence
  }

  shift(): Gap | undefined {
    return this.waiting.shift()
  }

  /** Cuts ascending observations of one instrument where gaps belong: pieces and gaps, in order. */
  *cut(part: RunPart, key: string): Generator<RunPart | Gap> {
    const { columns, firstSequence } = part
    const isAfterGap = (row: number): boolean =>
      this.isBefore(columns.received[row]!, key, firstSequence + row)
    let { from } = part
    // Received times never decrease: a gap that is not before the last row is before none.
    while (isAfterGap(part.to - 1)) {
      let row = from
      while (!isAfterGap(row)) row++
      if (row > from) yield { ...part, from, to: row }
      yield this.shift()!
      from = row
    }
    yield from === part.from ? part : { ...part, from }
  }
}

/** The part of a walk that one page covers, which decides the gaps that stand on it. */
export type PageSpan = {
  readonly isDown: boolean
  /** False on the last page, which also has the gaps beyond its last row. */
  readonly hasMore: boolean
  /**
   * Where the page begins and ends in the direction of the walk, by received time: ascending from
   * `passed` up to, but without, `reached`; descending from below `passed` down to `reached`.
   */
  readonly passed?: number | undefined
  readonly reached?: number | undefined
  /** The sequences of the gap's own instrument instead, where they decide. */
  positionsOf?(gap: Gap): SequenceSpan | undefined
}

/** Which sequences of an instrument a page passes. */
type SequenceSpan = {
  /** The last sequence before the page and the last one on it. */
  readonly passed?: number | undefined
  readonly reached?: number | undefined
  /** The highest sequence of the walk. */
  readonly last: number
}

/** Whether a gap stands on a page: each gap of a walk does on exactly one. */
export function isOnPage(gap: Gap, page: PageSpan): boolean {
  // Retention may delete rows during a walk, so such a gap belongs where the remaining rows begin.
  if (gap.reason === 'retention') return isPassed(gap.end ?? gap.start, page, page)
  const positions = page.positionsOf?.(gap)
  if (positions !== undefined) {
    const { afterSequence } = gap
    return afterSequence <= positions.last && isPassed(afterSequence, positions, page)
  }
  return isPassed(gap.start, page, page)
}

function isPassed(
  place: number,
  {
    passed,
    reached,
  }: { readonly passed?: number | undefined; readonly reached?: number | undefined },
  { isDown, hasMore }: PageSpan,
): boolean {
  const isAfter = passed === undefined || (isDown ? place < passed : place >= passed)
  const isBefore = reached !== undefined && (isDown ? place >= reached : place < reached)
  return isAfter && (!hasMore || isBefore)
}

/** Whether a gap touches [start, end); one of no length does where it begins. */
export function touchesSpan(
  gap: { readonly start: number; readonly end?: number | undefined },
  { start = 0, end = Infinity }: TimeSpan,
): boolean {
  const gapEnd = gap.end ?? Infinity
  return gap.start < end && (gapEnd > start || (gap.start === gapEnd && gap.start === start))
}
