import type { Gap, VenueId } from '../domain/index.ts'
import type { ChunkHeader, ChunkKind } from '../tape/index.ts'
import type { BookContext, KnownMarket } from '../wire/index.ts'
import type { ByteStore } from './byte-store.ts'

/** Where one chunk lies, what it holds, and which of its rows its source was asked for. */
export type Piece = {
  readonly store: ByteStore
  readonly offset: number
  readonly length: number
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** Rows received in [start, end) are told, the others only folded into the book. */
  readonly start: number
  readonly end: number
  /** The checksum of a sealed chunk: the same rows of one history have the same. */
  readonly check?: number | undefined
}

/** What a chunk says of itself, as far as a replay needs it before it is decoded. */
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

/** A span of received times, start inclusive, end exclusive. */
export type Span = { readonly start: number; readonly end: number }

/** What all sources of a replay hold together: chunks by stream, market records, gaps. */
export class Contents {
  readonly streams = new Map<string, StreamContents>()
  /** Newest record of each market. */
  readonly markets = new Map<string, KnownMarket>()
  readonly gaps = new Map<string, Gap>()
  /** What rows said about their instrument, where no market record says it. */
  readonly contexts = new Map<string, BookContext>()
  rows = 0
  chunks = 0

  /** Notes a chunk of a source that was asked for a span. */
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

  /** Takes over what another source holds. */
  addAll(other: Contents): void {
    for (const [name, stream] of other.streams) {
      const known = this.streams.get(name)
      if (known === undefined) this.streams.set(name, stream)
      else for (const piece of stream.pieces) known.pieces.push(piece)
    }
    for (const market of other.markets.values()) this.addMarket(market)
    for (const gap of other.gaps.values()) this.addGap(gap)
    for (const context of other.contexts.values()) this.addContext(context)
    this.rows += other.rows
    this.chunks += other.chunks
  }

  addMarket(market: KnownMarket): void {
    const name = `${market.record.venue}:${market.record.marketId}`
    const known = this.markets.get(name)
    if (known === undefined || known.knownAt <= market.knownAt) this.markets.set(name, market)
  }

  /** Notes a gap once, whatever files name it; one that has ended since says when. */
  addGap(gap: Gap): void {
    const name = gapName(gap)
    const known = this.gaps.get(name)
    if (known?.end === undefined) this.gaps.set(name, gap)
  }

  addContext(context: BookContext): void {
    this.contexts.set(`${context.venue}:${context.key}`, context)
  }
}

/** All that tells one gap from another; its end may become known later. */
export function gapName({ venue, scope, key, start, afterSequence, reason }: Gap): string {
  return `${venue}/${scope}/${key}/${start}/${afterSequence}/${reason}`
}
