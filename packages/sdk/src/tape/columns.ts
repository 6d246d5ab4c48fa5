/** Marks a source time, venue number or channel that the venue did not give. */
export const ABSENT = -1

/** Upper bound of source times, venue numbers and journal positions, whose steps are stored with a sign. */
export const HEAD_LIMIT = 2 ** 52

const FEW_ROWS = 8
// Room for level changes before a decoder has verified their number.
const MOST_CHANGES = 65_536

// What a chunk of few rows takes beside its values: nine arrays, their buffers, and the object. Measured.
const OBJECT_BYTES = 2000

/** The head of a tape row: its times, the venue's number, and its journal position. */
export type RowHead = {
  readonly received: number
  /** `ABSENT` where the venue gave none; the same for `venueSeq` and `channel`. */
  readonly source: number
  readonly venueSeq: number
  readonly channel: number
  readonly journal: number
  readonly flags: number
}

/** Row heads as growing columns; books, trades and samples share them. */
export class HeadColumns {
  count = 0
  received: Float64Array<ArrayBuffer>
  source: Float64Array<ArrayBuffer>
  venueSeq: Float64Array<ArrayBuffer>
  channel: Float64Array<ArrayBuffer>
  journal: Float64Array<ArrayBuffer>
  flags: Uint16Array<ArrayBuffer>

  constructor(rows = 64) {
    // One buffer for all columns: nine allocations per chunk take a tenth of its decoding. V8 stores very
    // small arrays inside their objects, which is cheaper than five views.
    if (rows > FEW_ROWS) {
      const heads = new Float64Array(rows * 5)
      this.received = heads.subarray(0, rows)
      this.source = heads.subarray(rows, rows * 2)
      this.venueSeq = heads.subarray(rows * 2, rows * 3)
      this.channel = heads.subarray(rows * 3, rows * 4)
      this.journal = heads.subarray(rows * 4)
    } else {
      this.received = new Float64Array(rows)
      this.source = new Float64Array(rows)
      this.venueSeq = new Float64Array(rows)
      this.channel = new Float64Array(rows)
      this.journal = new Float64Array(rows)
    }
    this.flags = new Uint16Array(rows)
  }

  /** Reserves space for rows; the first `count` rows are kept. */
  reserveRows(rows: number): void {
    if (rows <= this.received.length) return
    const capacity = Math.max(rows, this.received.length * 2)
    this.received = grow(this.received, capacity)
    this.source = grow(this.source, capacity)
    this.venueSeq = grow(this.venueSeq, capacity)
    this.channel = grow(this.channel, capacity)
    this.journal = grow(this.journal, capacity)
    const flags = new Uint16Array(capacity)
    flags.set(this.flags)
    this.flags = flags
  }

  /** Appends one head and returns its index. */
  pushHead(head: RowHead): number {
    const index = this.count
    this.reserveRows(index + 1)
    this.received[index] = head.received
    this.source[index] = head.source
    this.venueSeq[index] = head.venueSeq
    this.channel[index] = head.channel
    this.journal[index] = head.journal
    this.flags[index] = head.flags
    this.count = index + 1
    return index
  }

  /** Copies the head of another row. */
  pushHeadOf(other: HeadColumns, index: number): number {
    const at = this.count
    this.reserveRows(at + 1)
    this.received[at] = other.received[index]!
    this.source[at] = other.source[index]!
    this.venueSeq[at] = other.venueSeq[index]!
    this.channel[at] = other.channel[index]!
    this.journal[at] = other.journal[index]!
    this.flags[at] = other.flags[index]!
    this.count = at + 1
    return at
  }
}

/**
 * Book rows of one instrument as columns: row `i` changed the levels from `changeEnd[i − 1]` up to
 * `changeEnd[i]`, each to a new size. `baseKey`/`baseSize` are the book before the first row.
 * Prices are ticks of 10^−priceDecimals inside level keys; sizes are units of the venue.
 */
export class BookColumns extends HeadColumns {
  priceDecimals: number
  changeEnd: Uint32Array<ArrayBuffer>
  key: Uint32Array<ArrayBuffer>
  size: Float64Array<ArrayBuffer>
  baseKey: number[] = []
  baseSize: number[] = []

  /** Has room for so many rows and level changes; the room for changes grows where there are more than expected. */
  constructor(priceDecimals = 2, rows = 64, changes: number = rows) {
    super(rows)
    this.priceDecimals = priceDecimals
    this.changeEnd = new Uint32Array(rows)
    this.key = new Uint32Array(changes)
    this.size = new Float64Array(changes)
  }

  /** Columns for a chunk, whose number of changes the decoder has yet to verify. */
  static forChunk({
    priceDecimals,
    count,
    changes,
  }: {
    readonly priceDecimals: number
    readonly count: number
    readonly changes: number
  }): BookColumns {
    return new BookColumns(priceDecimals, count, Math.min(changes, MOST_CHANGES))
  }

  /** The memory of the columns in bytes. */
  get byteLength(): number {
    const { received, flags, changeEnd, key, size } = this
    return (
      OBJECT_BYTES +
      received.byteLength * 5 +
      flags.byteLength +
      changeEnd.byteLength +
      key.byteLength +
      size.byteLength
    )
  }

  /** The number of level changes of all rows. */
  get changeCount(): number {
    return this.count === 0 ? 0 : this.changeEnd[this.count - 1]!
  }

  /** The index of the first change of a row. */
  changeStart(row: number): number {
    return row === 0 ? 0 : this.changeEnd[row - 1]!
  }

  override reserveRows(rows: number): void {
    super.reserveRows(rows)
    if (this.changeEnd.length < this.received.length) {
      const ends = new Uint32Array(this.received.length)
      ends.set(this.changeEnd)
      this.changeEnd = ends
    }
  }

  /** Reserves space for level changes. */
  reserveChanges(changes: number): void {
    if (changes <= this.key.length) return
    const capacity = Math.max(changes, this.key.length * 2)
    const keys = new Uint32Array(capacity)
    keys.set(this.key)
    this.key = keys
    this.size = grow(this.size, capacity)
  }

  /** Appends one row with its changed levels, the first `count` of `keys` and `sizes`. */
  push(
    head: RowHead,
    keys: ArrayLike<number>,
    sizes: ArrayLike<number>,
    count: number = keys.length,
  ): void {
    let at = this.changeCount
    const row = this.pushHead(head)
    this.reserveChanges(at + count)
    for (let index = 0; index < count; index++) {
      this.key[at] = keys[index]!
      this.size[at++] = sizes[index]!
    }
    this.changeEnd[row] = at
  }

  /** Appends rows of other columns with the same decimals. */
  pushRows(other: BookColumns, from: number, to: number): void {
    let at = this.changeCount
    const start = other.changeStart(from)
    const end = to === 0 ? 0 : other.changeEnd[to - 1]!
    this.reserveRows(this.count + to - from)
    this.reserveChanges(at + end - start)
    if (end - start > FEW_ROWS) {
      this.key.set(other.key.subarray(start, end), at)
      this.size.set(other.size.subarray(start, end), at)
    } else {
      for (let index = start; index < end; index++) {
        this.key[at + index - start] = other.key[index]!
        this.size[at + index - start] = other.size[index]!
      }
    }
    const shift = at - start
    for (let row = from; row < to; row++) {
      this.pushHeadOf(other, row)
      at = other.changeEnd[row]! + shift
      this.changeEnd[this.count - 1] = at
    }
  }

  /** Converts all prices to finer ticks. */
  rescale(priceDecimals: number): void {
    const factor = 10 ** (priceDecimals - this.priceDecimals)
    if (factor === 1) return
    const scale = (key: number): number => (key >>> 1) * factor * 2 + (key & 1)
    for (let index = 0; index < this.changeCount; index++) this.key[index] = scale(this.key[index]!)
    this.baseKey = this.baseKey.map(scale)
    this.priceDecimals = priceDecimals
  }

  /** Removes rows and base, and keeps the memory. */
  clear(): void {
    this.count = 0
    this.baseKey = []
    this.baseSize = []
  }
}

/** The taker's side on the first outcome; index 0 where the venue does not report it. */
export const TAKERS = [undefined, 'buy', 'sell'] as const

/** Trades of one instrument as columns. */
export class TradeColumns extends HeadColumns {
  readonly tradeId: string[] = []
  readonly price: number[] = []
  readonly size: number[] = []
  /** Index into `TAKERS`. */
  readonly taker: number[] = []
  /** What the message said (`TradeNative`), as JSON text; undefined where that is not known. */
  readonly native: (string | undefined)[] = []

  /** Appends one trade. */
  push(
    head: RowHead,
    tradeId: string,
    price: number,
    size: number,
    taker: number,
    native?: string,
  ): void {
    this.pushHead(head)
    this.tradeId.push(tradeId)
    this.price.push(price)
    this.size.push(size)
    this.taker.push(taker)
    this.native.push(native)
  }
}

/** Samples of one metric as columns; `SampleValue` says what the two numbers of a value mean. */
export class SampleColumns extends HeadColumns {
  readonly value: number[] = []
  readonly fine: number[] = []

  /** Appends one sample. */
  push(head: RowHead, value: number, fine = 0): void {
    this.pushHead(head)
    this.value.push(value)
    this.fine.push(fine)
  }
}

function grow(column: Float64Array, capacity: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(capacity)
  grown.set(column)
  return grown
}
