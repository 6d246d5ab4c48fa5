import { gapId, type Gap, type Micros, type VenueId } from '../domain/index.ts'
import type { ChunkHeader, ChunkKind } from '../tape/index.ts'
import type { BookContext, KnownMarket } from '../wire/index.ts'
import { compareText, type MarketEvent, type ReplayGapEvent } from './event.ts'
import type { ByteStore } from './source.ts'

/** The place of a chunk, its rows, and the range that its source was downloaded for. */
export type Piece = {
  readonly store: ByteStore
  readonly offset: number
  readonly length: number
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** Rows received in [start, end) are emitted; the others only build the book. */
  readonly start: number
  readonly end: number
  /** The checksum of a sealed chunk: equal for the same rows of one history. */
  readonly check?: number | undefined
}

/**
 * Orders pieces by their first emitted rows. A file repeats the chunk at its border, so a chunk may begin with rows that
 * an earlier file has in several parts: by their first rows, the chunk would come between those.
 */
export function byFirstEmitted(left: Piece, right: Piece): number {
  const begin = Math.max(left.firstReceived, left.start)
  return begin - Math.max(right.firstReceived, right.start) || left.first - right.first
}

/** The part of a chunk's header that a replay needs before decoding it. */
export type ChunkFacts = Pick<
  ChunkHeader,
  | 'kind'
  | 'venue'
  | 'market'
  | 'key'
  | 'metric'
  | 'first'
  | 'count'
  | 'firstReceived'
  | 'lastReceived'
>

/** The chunks of one stream: the books, trades or samples of one metric of one instrument. */
export type StreamContents = {
  readonly kind: ChunkKind
  readonly venue: VenueId
  readonly market: string
  readonly key: string
  readonly metric: string
  readonly pieces: Piece[]
}

/** A span of received times: start inclusive, end exclusive. */
export type Span = { readonly start: number; readonly end: number }

/** The contents of all sources of a replay: chunks by stream, market records and gaps. */
export class Contents {
  readonly streams = new Map<string, StreamContents>()
  /** Newest record of each market. */
  readonly markets = new Map<string, KnownMarket>()
  /** All records of each market, by the time at which they became known. */
  readonly revisions = new Map<string, Map<number, KnownMarket>>()
  /** Markets of which a source has every record that was known in its range. */
  readonly complete = new Set<string>()
  /** Whether this source has every record; older files have only the newest. */
  hasAllRecords = false
  readonly gaps = new Map<string, Gap>()
  /** Instruments as their rows describe them, for markets without a record. */
  readonly contexts = new Map<string, BookContext>()
  rows = 0
  chunks = 0

  /** Adds a chunk of a source that was downloaded for a span. */
  addChunk(
    header: ChunkFacts,
    store: ByteStore,
    offset: number,
    length: number,
    span: Span,
    check?: number,
  ): void {
    const { kind, venue, market, key, metric, first, count, firstReceived, lastReceived } = header
    const name = `${venue}:${key}/${kind}/${metric}`
    let stream = this.streams.get(name)
    if (stream === undefined) {
      stream = { kind, venue, market, key, metric, pieces: [] }
      this.streams.set(name, stream)
    }
    const { start, end } = span
    const place = { store, offset, length, start, end, check }
    stream.pieces.push({ ...place, first, count, firstReceived, lastReceived })
    this.rows += count
    this.chunks++
  }

  /** Adds the contents of another source. */
  addAll(other: Contents): void {
    for (const [name, stream] of other.streams) {
      const known = this.streams.get(name)
      if (known === undefined) this.streams.set(name, stream)
      else for (const piece of stream.pieces) known.pieces.push(piece)
    }
    for (const [name, known] of other.revisions) {
      for (const market of known.values()) this.addMarket(market)
      if (other.hasAllRecords) this.complete.add(name)
    }
    for (const gap of other.gaps.values()) this.addGap(gap)
    for (const context of other.contexts.values()) this.addContext(context)
    this.rows += other.rows
    this.chunks += other.chunks
  }

  addMarket(market: KnownMarket): void {
    const name = `${market.record.venue}:${market.record.marketId}`
    const known = this.markets.get(name)
    if (known === undefined || known.knownAt <= market.knownAt) this.markets.set(name, market)
    const all = this.revisions.get(name) ?? new Map<number, KnownMarket>()
    all.set(market.knownAt, market)
    this.revisions.set(name, all)
  }

  /** Adds a gap once, however many files name it; its end replaces an open end. */
  addGap(gap: Gap): void {
    const name = gapId(gap)
    const known = this.gaps.get(name)
    if (known?.end === undefined) this.gaps.set(name, gap)
  }

  addContext(context: BookContext): void {
    this.contexts.set(`${context.venue}:${context.key}`, context)
  }
}

/** Market records, ends of gaps and beginnings of gaps, each in order. */
export type Notes = {
  readonly markets: readonly MarketEvent[]
  readonly closes: readonly ReplayGapEvent[]
  readonly opens: readonly ReplayGapEvent[]
}

/**
 * The events of records and gaps within a span. The last record and the gaps from before the start are
 * emitted at the start. A gap of zero length opens and closes before the rows of its time. The event that opens a gap
 * does not show its end.
 */
export function notesOf(contents: Contents, { start, end }: Span): Notes {
  const markets = [...contents.revisions.values()]
    .flatMap((revisions) => knownWithin([...revisions.values()], { start, end }))
    .map(({ record, knownAt }): MarketEvent => ({
      kind: 'market',
      at: Math.max(knownAt, start) as Micros,
      record,
    }))
    .sort(
      (left, right) =>
        left.at - right.at ||
        compareText(left.record.venue, right.record.venue) ||
        compareText(left.record.marketId, right.record.marketId),
    )
  const closes: ReplayGapEvent[] = []
  const opens: ReplayGapEvent[] = []
  for (const gap of contents.gaps.values()) {
    const finish = gap.end ?? Infinity
    const isInstant = finish <= gap.start
    if (gap.start >= end || finish < start || (finish === start && !isInstant)) continue
    const at = Math.max(gap.start, start) as Micros
    const open: ReplayGapEvent = { kind: 'gap', at, edge: 'open', gap: asOpened(gap) }
    if (isInstant) closes.push(open)
    else opens.push(open)
    if (gap.end !== undefined && gap.end < end) {
      closes.push({ kind: 'gap', at: Math.max(gap.end, at) as Micros, edge: 'close', gap })
    }
  }
  return { markets, closes: sorted(closes), opens: sorted(opens) }
}

function knownWithin(revisions: readonly KnownMarket[], { start, end }: Span): KnownMarket[] {
  const known = revisions
    .filter(({ knownAt }) => knownAt < end)
    .toSorted((left, right) => left.knownAt - right.knownAt)
  const first = known.findLastIndex(({ knownAt }) => knownAt <= start)
  return known.slice(Math.max(0, first))
}

// When a gap opens, its end is not known yet.
function asOpened(gap: Gap): Gap {
  if (gap.end === undefined) return gap
  const { end: _end, sourceEnd: _source, endJournal: _journal, detail: _detail, ...open } = gap
  return open
}

function sorted(events: ReplayGapEvent[]): ReplayGapEvent[] {
  // The sort is stable: a gap of zero length still opens before it closes.
  return events
    .map((event) => ({ event, id: gapId(event.gap) }))
    .sort((left, right) => left.event.at - right.event.at || compareText(left.id, right.id))
    .map(({ event }) => event)
}
