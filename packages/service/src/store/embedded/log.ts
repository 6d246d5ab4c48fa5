import { crc32 } from 'node:zlib'
import {
  ORIGINS,
  PriorbookError,
  VENUE_IDS,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { ByteReader, ByteWriter, type RowHead, type SampleValue } from '@priorbook/sdk/tape'
import type { MarketRef } from '../store.ts'
import type { GapPlace } from './gaps.ts'

/** Who made the rows of a batch; a change of it ends a chunk. */
export type Maker = {
  readonly origin: Origin
  readonly recorder: string
  readonly normalizer: number
}

/** Receives the rows of log batches, as they are appended or read back. It keeps neither `head` nor the levels. */
export interface RowSink {
  /** The changed levels of a row are the first `count` of `keys` and `sizes`. */
  book(
    stream: number,
    ordinal: number,
    maker: Maker,
    head: RowHead,
    priceDecimals: number,
    keys: readonly number[],
    sizes: readonly number[],
    count: number,
  ): void
  trade(
    stream: number,
    ordinal: number,
    maker: Maker,
    head: RowHead,
    tradeId: string,
    price: number,
    size: number,
    taker: number,
    native: string | undefined,
  ): void
  sample(stream: number, ordinal: number, maker: Maker, head: RowHead, value: SampleValue): void
  /** A gap that the batch opened or closed, and a market with a new revision. */
  gap(place: GapPlace): void
  market(market: MarketRef): void
}

/** The header of a batch. */
export type LogHeader = {
  readonly id: number
  readonly venue: VenueId
  readonly position: number
  readonly maker: Maker
}

// Version 2 also names gaps and markets, version 3 also has what messages of trades said, version 4 samples
// of more than 8 decimals; older ones can still be read.
const VERSION = 4
const OLDEST = 1
const END = 0
const BOOK = 1
const TRADE = 2
const SAMPLE = 3
const GAP = 4
const MARKET = 5
const TRADE_WITH_NATIVE = 6
const FINE_SAMPLE = 7

/** Writes the rows of one append into one body: the whole tail is a log of such bodies. */
export class LogWriter {
  private readonly out = new ByteWriter(16_384)
  private received = 0
  private journal = 0

  begin(header: LogHeader): void {
    const { out } = this
    out.clear()
    out.byte(VERSION)
    out.varint(header.id)
    out.byte(VENUE_IDS.indexOf(header.venue))
    out.varint(header.position)
    out.byte(ORIGINS.indexOf(header.maker.origin))
    out.text(header.maker.recorder)
    out.varint(header.maker.normalizer)
    this.received = 0
    this.journal = 0
  }

  book(
    stream: number,
    ordinal: number,
    head: RowHead,
    priceDecimals: number,
    keys: readonly number[],
    sizes: readonly number[],
  ): void {
    const { out } = this
    out.byte(BOOK)
    this.head(stream, ordinal, head)
    out.byte(priceDecimals)
    out.varint(keys.length)
    for (let index = 0; index < keys.length; index++) {
      out.varint(keys[index]!)
      out.varint(sizes[index]!)
    }
  }

  trade(
    stream: number,
    ordinal: number,
    head: RowHead,
    tradeId: string,
    price: number,
    size: number,
    taker: number,
    native: string | undefined,
  ): void {
    this.out.byte(native === undefined ? TRADE : TRADE_WITH_NATIVE)
    this.head(stream, ordinal, head)
    this.out.text(tradeId)
    this.out.varint(price)
    this.out.varint(size)
    this.out.byte(taker)
    if (native !== undefined) this.out.text(native)
  }

  sample(stream: number, ordinal: number, head: RowHead, { value, fine }: SampleValue): void {
    this.out.byte(fine === 0 ? SAMPLE : FINE_SAMPLE)
    this.head(stream, ordinal, head)
    this.out.signed(value)
    if (fine !== 0) this.out.signed(fine)
  }

  gap(place: GapPlace): void {
    this.out.byte(GAP)
    this.out.text(place.key)
    this.out.varint(place.start)
    this.out.varint(place.afterSequence)
  }

  market(marketId: string): void {
    this.out.byte(MARKET)
    this.out.text(marketId)
  }

  /** The body with its checksum; a view, valid until the next `begin`. */
  finish(): Uint8Array {
    this.out.byte(END)
    this.out.uint32(crc32(this.out.view()))
    return this.out.view()
  }

  private head(stream: number, ordinal: number, head: RowHead): void {
    const { out } = this
    out.varint(stream)
    out.varint(ordinal)
    out.signed(head.received - this.received)
    out.byte(head.source < 0 ? 0 : 1)
    if (head.source >= 0) out.signed(head.source - head.received)
    out.varint(head.venueSeq + 1)
    out.varint(head.channel + 1)
    out.signed(head.journal - this.journal)
    out.varint(head.flags)
    this.received = head.received
    this.journal = head.journal
  }
}

/** A head to be filled for one row after the other. */
export function createHead(): { -readonly [Name in keyof RowHead]: RowHead[Name] } {
  return { received: 0, source: 0, venueSeq: 0, channel: 0, journal: 0, flags: 0 }
}

// The row that is being read. A start reads millions of rows: objects for each would take most of its time.
const head = createHead()
const keys: number[] = []
const sizes: number[] = []

/** Reads one body into a sink, after its checksum; `id` must be the one it was stored under. */
export function readLog(id: number, bytes: Uint8Array, sink: RowSink): LogHeader {
  const end = bytes.length - 4
  if (end < 8 || crc32(bytes.subarray(0, end)) !== new ByteReader(bytes, end).uint32()) {
    throw damaged(id, 'its checksum does not hold')
  }
  const reader = new ByteReader(bytes, 0, end)
  const version = reader.byte()
  if (version < OLDEST || version > VERSION) {
    throw new PriorbookError('unsupported_format', `log format ${version} is not known`)
  }
  const stored = reader.varint()
  const venue = VENUE_IDS[reader.byte()]
  const position = reader.varint()
  const origin = ORIGINS[reader.byte()]
  if (stored !== id || venue === undefined || origin === undefined) {
    throw damaged(id, 'it belongs elsewhere')
  }
  const maker: Maker = { origin, recorder: reader.text(), normalizer: reader.varint() }
  let received = 0
  let journal = 0
  for (let kind = reader.byte(); kind !== END; kind = reader.byte()) {
    if (kind === GAP) {
      const key = reader.text()
      const start = reader.varint() as Micros
      sink.gap({ venue, key, start, afterSequence: reader.varint() })
      continue
    }
    if (kind === MARKET) {
      sink.market({ venue, marketId: reader.text() })
      continue
    }
    const stream = reader.varint()
    const ordinal = reader.varint()
    received += reader.signed()
    head.received = received
    head.source = reader.byte() === 0 ? -1 : received + reader.signed()
    head.venueSeq = reader.varint() - 1
    head.channel = reader.varint() - 1
    journal += reader.signed()
    head.journal = journal
    head.flags = reader.varint()
    if (kind === BOOK) {
      const decimals = reader.byte()
      const count = reader.varint()
      for (let index = 0; index < count; index++) {
        keys[index] = reader.varint()
        sizes[index] = reader.varint()
      }
      sink.book(stream, ordinal, maker, head, decimals, keys, sizes, count)
    } else if (kind === TRADE || kind === TRADE_WITH_NATIVE) {
      const tradeId = reader.text()
      const price = reader.varint()
      const size = reader.varint()
      const taker = reader.byte()
      const native = kind === TRADE ? undefined : reader.text()
      sink.trade(stream, ordinal, maker, head, tradeId, price, size, taker, native)
    } else if (kind === SAMPLE || kind === FINE_SAMPLE) {
      const value = reader.signed()
      const fine = kind === SAMPLE ? 0 : reader.signed()
      sink.sample(stream, ordinal, maker, head, { value, fine })
    } else throw damaged(id, `it has a row of kind ${kind}`)
  }
  return { id, venue, position, maker }
}

function damaged(id: number, detail: string): PriorbookError {
  return new PriorbookError('corrupt_row', `log batch ${id}: ${detail}`)
}
