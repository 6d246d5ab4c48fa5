import { gapId, type Gap, type VenueId } from '../domain/index.ts'
import type { ChunkHeader, ChunkKind } from '../tape/index.ts'
import type { BookContext, KnownMarket } from '../wire/index.ts'
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
