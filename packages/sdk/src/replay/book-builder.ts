import { FLAGS, PriorbookError } from '../domain/index.ts'
import { ABSENT, BookColumns, BookEncoder, NO_HASH, type TapePlatform } from '../tape/index.ts'
import type { BookContext } from '../wire/index.ts'
import type { ChunkFacts } from './contents.ts'

/** Prices or sizes of one side, best first; only the first `count` are meant. */
export class SideLevels {
  count = 0
  /** The levels are those of the row before, and are not here. */
  isSame = false
  price: Int32Array<ArrayBuffer> = new Int32Array(128)
  size: Float64Array<ArrayBuffer> = new Float64Array(128)

  /** Makes room for one more level. */
  grow(): void {
    const price = new Int32Array(this.price.length * 2)
    price.set(this.price)
    this.price = price
    const size = new Float64Array(this.size.length * 2)
    size.set(this.size)
    this.size = size
  }
}

/** A row that says nothing of its book: when it was seen and by which number. */
export type BookHead = {
  received: number
  source: number
  sequence: number
  flags: number
  venueSeq: number
  channel: number
}

/** Takes an encoded chunk. */
export type TakeChunk = (facts: ChunkFacts, bytes: Uint8Array) => void

// As a store does.
const CHUNK_ROWS = 1024
// Prices of books are kept in the venues' finest ticks; the encoder takes coarser ones where it can.
const PRICE_DECIMALS = 4
const RESTART = FLAGS.restart

/**
 * Turns whole books of one instrument, one after another, into chunks of changes. What is equal to the
 * book before costs nothing, so a chunk is a fiftieth of the text it was made from.
 */
export class BookBuilder {
  readonly context: BookContext
  /** The levels of the next row, filled by the caller; see `add`. */
  bids = new SideLevels()
  asks = new SideLevels()
  private lastBids = new SideLevels()
  private lastAsks = new SideLevels()
  private readonly columns = new BookColumns(PRICE_DECIMALS, CHUNK_ROWS)
  private first = 0
  private readonly take: TakeChunk
  private readonly platform: TapePlatform

  constructor(context: BookContext, platform: TapePlatform, take: TakeChunk) {
    this.context = context
    this.platform = platform
    this.take = take
  }

  /** Adds a row with the levels that were put into `bids` and `asks`. */
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
    if (!bids.isSame) {
      end = this.pushChanges(this.lastBids, bids, 0, end)
      this.bids = this.lastBids
      this.lastBids = bids
    }
    if (!asks.isSame) {
      end = this.pushChanges(this.lastAsks, asks, 1, end)
      this.asks = this.lastAsks
      this.lastAsks = asks
    }
    columns.changeEnd[row] = end
    columns.count = row + 1
  }

  /** Hands out what is not in a chunk yet. */
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
    this.take(facts, bytes)
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

  /** Notes the levels that differ; both sides are sorted the same way. */
  private pushChanges(before: SideLevels, after: SideLevels, side: 0 | 1, start: number): number {
    const { key, size } = this.columns
    const { price: oldPrice, size: oldSize, count: oldCount } = before
    const { price: newPrice, size: newSize, count: newCount } = after
    // Bids fall and asks rise: with this sign both rise.
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

/** A head to be filled again for every row. */
export function createHead(): BookHead {
  return { received: 0, source: ABSENT, sequence: 0, flags: 0, venueSeq: ABSENT, channel: ABSENT }
}
