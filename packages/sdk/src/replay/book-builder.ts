import { FLAGS, PriorbookError, VENUES } from '../domain/index.ts'
import { BookColumns, BookEncoder, NO_HASH, type TapePlatform } from '../tape/index.ts'
import type { BookContext } from '../wire/index.ts'
import type { ChunkFacts } from './contents.ts'

/** The levels of one side, best first; only the first `count` are set. */
export class SideLevels {
  count = 0
  price: Int32Array<ArrayBuffer> = new Int32Array(128)
  size: Float64Array<ArrayBuffer> = new Float64Array(128)

  /** Appends a level. */
  push(price: number, size: number): void {
    if (this.count === this.price.length) this.grow()
    this.price[this.count] = price
    this.size[this.count++] = size
  }

  private grow(): void {
    const price = new Int32Array(this.price.length * 2)
    price.set(this.price)
    this.price = price
    const size = new Float64Array(this.size.length * 2)
    size.set(this.size)
    this.size = size
  }
}

/** The times and numbers of a row, without its book. */
export type BookHead = {
  readonly received: number
  readonly source: number
  readonly sequence: number
  readonly flags: number
  readonly venueSeq: number
  readonly channel: number
}

/** Called with every encoded chunk. */
export type OnChunk = (facts: ChunkFacts, bytes: Uint8Array) => void

// Max rows per chunk, as in a store.
export const CHUNK_ROWS = 1024
const RESTART = FLAGS.restart

/**
 * Turns consecutive whole books of one instrument into chunks of changes. Unchanged levels take no
 * space, so a chunk has about a fiftieth of the size of its NDJSON lines.
 */
export class BookBuilder {
  readonly context: BookContext
  /** The levels of the next row: the caller fills them and calls `add`. */
  bids = new SideLevels()
  asks = new SideLevels()
  private lastBids = new SideLevels()
  private lastAsks = new SideLevels()
  /** In the finest ticks of the venue; the encoder uses coarser ones where it can. */
  private readonly columns: BookColumns
  private first = 0
  private readonly onChunk: OnChunk
  private readonly platform: TapePlatform

  constructor(context: BookContext, platform: TapePlatform, onChunk: OnChunk) {
    this.context = context
    this.columns = new BookColumns(VENUES[context.venue].priceDecimals, CHUNK_ROWS)
    this.platform = platform
    this.onChunk = onChunk
  }

  /** Adds a row with the levels in `bids` and `asks`. */
  add(head: BookHead): void {
    const { columns } = this
    const restarts = (head.flags & RESTART) !== 0
    const follows = head.sequence === this.first + columns.count
    if (columns.count > 0 && (restarts || !follows || columns.count === CHUNK_ROWS)) this.flush()
    if (restarts) {
      this.lastBids.count = 0
      this.lastAsks.count = 0
    }
    if (columns.count === 0) {
      this.first = head.sequence
      this.setBase()
    } else if (head.received < columns.received[columns.count - 1]!) {
      throw new PriorbookError('invalid_line', `row ${head.sequence} goes back in time`)
    }
    const row = columns.count
    columns.reserveRows(row + 1)
    columns.received[row] = head.received
    columns.source[row] = head.source
    columns.venueSeq[row] = head.venueSeq
    columns.channel[row] = head.channel
    columns.journal[row] = head.sequence
    columns.flags[row] = head.flags
    let end = row === 0 ? 0 : columns.changeEnd[row - 1]!
    columns.reserveChanges(
      end + this.bids.count + this.lastBids.count + this.asks.count + this.lastAsks.count,
    )
    const { bids, asks } = this
    end = this.pushChanges(this.lastBids, bids, 0, end)
    this.bids = this.lastBids
    this.lastBids = bids
    end = this.pushChanges(this.lastAsks, asks, 1, end)
    this.asks = this.lastAsks
    this.lastAsks = asks
    columns.changeEnd[row] = end
    columns.count = row + 1
  }

  /** Encodes the rows that are not in a chunk yet. */
  flush(): void {
    const { columns, first, context } = this
    const { count } = columns
    if (count === 0) return
    const { venue, marketId: market, key } = context
    const identity = {
      venue,
      market,
      key,
      origin: 'import',
      recorder: 'ndjson',
      normalizer: 0,
      first,
      previousHash: NO_HASH,
      changesBefore: 0,
    } as const
    const base = { key: columns.baseKey, size: columns.baseSize }
    const { bytes } = encoder.encode(columns, 0, count, base, identity, this.platform)
    const facts: ChunkFacts = {
      kind: 'book',
      venue,
      market,
      key,
      metric: '',
      first,
      count,
      firstReceived: columns.received[0]!,
      lastReceived: columns.received[count - 1]!,
    }
    columns.clear()
    this.onChunk(facts, bytes)
  }

  private setBase(): void {
    const { columns, lastBids, lastAsks } = this
    columns.baseKey = []
    columns.baseSize = []
    for (let index = 0; index < lastBids.count; index++) {
      columns.baseKey.push(lastBids.price[index]! * 2)
      columns.baseSize.push(lastBids.size[index]!)
    }
    for (let index = 0; index < lastAsks.count; index++) {
      columns.baseKey.push(lastAsks.price[index]! * 2 + 1)
      columns.baseSize.push(lastAsks.size[index]!)
    }
  }

  /** Appends the levels that differ, in one pass over both sorted lists. */
  private pushChanges(before: SideLevels, after: SideLevels, side: 0 | 1, start: number): number {
    const { key, size } = this.columns
    const { price: oldPrice, size: oldSize, count: oldCount } = before
    const { price: newPrice, size: newSize, count: newCount } = after
    // Bids are sorted downwards and asks upwards; with this sign both go up.
    const sign = side === 0 ? -1 : 1
    let at = start
    let old = 0
    let fresh = 0
    while (old < oldCount && fresh < newCount) {
      const step = (oldPrice[old]! - newPrice[fresh]!) * sign
      if (step === 0) {
        if (oldSize[old] !== newSize[fresh]) {
          key[at] = newPrice[fresh]! * 2 + side
          size[at++] = newSize[fresh]!
        }
        old++
        fresh++
      } else if (step < 0) {
        key[at] = oldPrice[old++]! * 2 + side
        size[at++] = 0
      } else {
        key[at] = newPrice[fresh]! * 2 + side
        size[at++] = newSize[fresh++]!
      }
    }
    for (; old < oldCount; old++) {
      key[at] = oldPrice[old]! * 2 + side
      size[at++] = 0
    }
    for (; fresh < newCount; fresh++) {
      key[at] = newPrice[fresh]! * 2 + side
      size[at++] = newSize[fresh]!
    }
    return at
  }
}

const encoder = new BookEncoder()
