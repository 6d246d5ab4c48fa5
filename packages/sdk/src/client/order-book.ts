import {
  decimalText,
  parseScaled,
  POW10,
  printScaled,
  PriorbookError,
  VENUES,
  type VenueId,
} from '../domain/index.ts'
import { Ladder, levelKey } from '../tape/index.ts'
import type { DecimalJson, LadderJson, StreamMessage, TimeJson } from '../wire/index.ts'

/** One level as exact decimal text. */
export type BookLevel = { readonly price: string; readonly size: string }

/** A row with ladders: of a page, of the stream, of a file. */
export type FullRow = {
  readonly venue: VenueId
  readonly market_id: string
  readonly token_id?: string | null
  readonly sequence: number
  readonly received_time: TimeJson
  readonly source_time?: TimeJson | null
  readonly flags?: unknown
  readonly bids: LadderJson
  readonly asks: LadderJson
}

/** A row of changed levels. */
export type ChangedRow = Omit<FullRow, 'bids' | 'asks'> & {
  readonly changes: {
    readonly side: readonly ('bid' | 'ask')[]
    readonly price: readonly DecimalJson[]
    readonly size: readonly DecimalJson[]
  }
}

/** A book cannot be made from a row without ladders. */
export type AnyBookRow = FullRow | ChangedRow

/** Messages of the stream that carry a row of a book. */
export type BookMessage = Extract<StreamMessage, { readonly type: 'snapshot' | 'update' }>

// Most books are in cents, which take 2 KB per book.
const CENTS = 2

/**
 * The book of one instrument, held exactly: prices and sizes are whole numbers inside and decimal text
 * outside. Feed it rows, or messages of the stream; after a hole it is stale until the next whole book.
 */
export class OrderBook {
  readonly venue: VenueId
  /** Prices in ticks of 10^-`ladder.decimals`, sizes in units of 10^-`sizeDecimals`. */
  readonly ladder: Ladder = new Ladder(CENTS)
  readonly sizeDecimals: number
  /** The most decimals of a price of the venue. */
  private readonly priceDecimals: number
  marketId: string | undefined
  tokenId: string | undefined
  /** The sequence of the last row; 0 before the first. */
  sequence = 0
  receivedTime: TimeJson | undefined
  sourceTime: TimeJson | undefined
  /** True before the first row and after missed changes: the book may then differ from the market. */
  isStale = true

  constructor(venue: VenueId) {
    this.venue = venue
    this.sizeDecimals = VENUES[venue].sizeDecimals
    this.priceDecimals = VENUES[venue].priceDecimals
  }

  /** A book of its first row. */
  static from(row: FullRow): OrderBook {
    const book = new OrderBook(row.venue)
    book.applyRow(row)
    return book
  }

  /**
   * Applies a message of the stream. False where it cannot be applied: it is older than the book, or it
   * changes a book that the client has not seen, which makes this book stale.
   */
  apply(message: BookMessage): boolean {
    const { row, previous_sequence: previous } = message
    if (message.type === 'update') {
      if (message.sequence <= this.sequence) return false
      if ('changes' in row && !isRestart(row)) {
        if (this.isStale || previous !== this.sequence) {
          this.isStale = true
          return false
        }
      }
    }
    this.applyRow(row)
    return true
  }

  /** Applies a row: a whole book, or changes to the current book. */
  applyRow(row: AnyBookRow): void {
    if (row.venue !== this.venue) {
      throw new PriorbookError(
        'invalid_message',
        `a row of ${row.venue} in a book of ${this.venue}`,
      )
    }
    if ('changes' in row) this.change(row)
    else this.replace(row)
    this.marketId = row.market_id
    this.tokenId = row.token_id ?? undefined
    this.sequence = row.sequence
    this.receivedTime = row.received_time
    this.sourceTime = row.source_time ?? undefined
  }

  /** The best levels; undefined where a side is empty. */
  get best(): { readonly bid: BookLevel | undefined; readonly ask: BookLevel | undefined } {
    return { bid: this.bids(1)[0], ask: this.asks(1)[0] }
  }

  /** Bids, highest first. */
  bids(depth?: number): BookLevel[] {
    return this.print(this.ladder.bids(depth))
  }

  /** Asks, lowest first. */
  asks(depth?: number): BookLevel[] {
    return this.print(this.ladder.asks(depth))
  }

  get bidLevels(): number {
    return this.ladder.bidLevels
  }

  get askLevels(): number {
    return this.ladder.askLevels
  }

  /** Half-way between the best prices, exact; undefined unless both sides have levels. */
  get mid(): string | undefined {
    const { bestBid, bestAsk, decimals } = this.ladder
    // Half a tick is five of a tenth.
    return this.hasBoth ? printScaled((bestBid + bestAsk) * 5, decimals + 1) : undefined
  }

  /** Best ask less best bid, exact. */
  get spread(): string | undefined {
    const { bestBid, bestAsk, decimals } = this.ladder
    return this.hasBoth ? printScaled(bestAsk - bestBid, decimals) : undefined
  }

  /** The size that rests at a price, as text; `0` where none does. */
  sizeAt(side: 'bid' | 'ask', price: DecimalJson): string {
    const ticks = parseScaled(decimalText(price), this.priceDecimals)
    const factor = 10 ** (this.priceDecimals - this.ladder.decimals)
    if (ticks % factor !== 0 || ticks < 0 || ticks > this.ladder.one * factor) return '0'
    return printScaled(this.ladder.sizeAt(levelKey(side, ticks / factor)), this.sizeDecimals)
  }

  /** How much rests on a side down to `depth` levels, as exact text. */
  depth(side: 'bid' | 'ask', depth?: number): string {
    const { size } = side === 'bid' ? this.ladder.bids(depth) : this.ladder.asks(depth)
    let total = 0n
    for (const units of size) total += BigInt(units)
    return printBig(total, this.sizeDecimals)
  }

  /** Empties the book; it is stale until the next whole one. */
  clear(): void {
    this.ladder.clear()
    this.isStale = true
  }

  /** The book in the words of the wire, decimals as text. */
  toJSON(): Readonly<Record<string, unknown>> {
    const side = (levels: readonly BookLevel[]): LadderJson => ({
      price: levels.map(({ price }) => price),
      size: levels.map(({ size }) => size),
    })
    return {
      venue: this.venue,
      market_id: this.marketId ?? null,
      token_id: this.tokenId ?? null,
      sequence: this.sequence,
      received_time: this.receivedTime ?? null,
      source_time: this.sourceTime ?? null,
      best_bid: this.best.bid?.price ?? null,
      best_ask: this.best.ask?.price ?? null,
      mid: this.mid ?? null,
      spread: this.spread ?? null,
      is_stale: this.isStale,
      bids: side(this.bids()),
      asks: side(this.asks()),
    }
  }

  private get hasBoth(): boolean {
    const { bidLevels, askLevels } = this.ladder
    return bidLevels > 0 && askLevels > 0
  }

  private replace({ bids, asks }: FullRow): void {
    this.ladder.clear()
    this.fill('bid', bids)
    this.fill('ask', asks)
    this.isStale = false
  }

  private change(row: ChangedRow): void {
    const { side, price, size } = row.changes
    if (isRestart(row)) this.clear()
    for (const [index, word] of side.entries()) this.set(word, price[index], size[index])
    if (isRestart(row)) this.isStale = false
  }

  private fill(side: 'bid' | 'ask', { price, size }: LadderJson): void {
    for (const [index, value] of price.entries()) this.set(side, value, size[index])
  }

  private set(
    side: 'bid' | 'ask',
    price: DecimalJson | undefined,
    size: DecimalJson | undefined,
  ): void {
    const fine = parseScaled(decimalText(price), this.priceDecimals)
    const units = parseScaled(decimalText(size), this.sizeDecimals)
    const { ladder } = this
    let { decimals } = ladder
    while (fine % POW10[this.priceDecimals - decimals]! !== 0) decimals++
    ladder.rescale(decimals)
    const ticks = fine / POW10[this.priceDecimals - decimals]!
    if (!(ticks > 0 && ticks < ladder.one) || units < 0) {
      throw new PriorbookError('invalid_message', `a level of ${price} × ${size} is none`)
    }
    ladder.apply(levelKey(side, ticks), units)
  }

  private print({
    price,
    size,
  }: {
    readonly price: number[]
    readonly size: number[]
  }): BookLevel[] {
    return price.map((ticks, index) => ({
      price: printScaled(ticks, this.ladder.decimals),
      size: printScaled(size[index]!, this.sizeDecimals),
    }))
  }
}

function isRestart({ flags }: { readonly flags?: unknown }): boolean {
  return Array.isArray(flags) && flags.includes('restart')
}

function printBig(units: bigint, decimals: number): string {
  const text = String(units).padStart(decimals + 1, '0')
  const whole = text.slice(0, text.length - decimals)
  const rest = text.slice(text.length - decimals).replace(/0+$/, '')
  return rest === '' ? whole : `${whole}.${rest}`
}
