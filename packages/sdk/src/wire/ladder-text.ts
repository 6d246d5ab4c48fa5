import { ABSENT, type Ladder } from '../tape/index.ts'
import type { Dialect } from './dialect.ts'
import { writeScaled, type PriceTokens } from './value-text.ts'
import type { PageBuffer } from './page.ts'

const QUOTE = 34
const COMMA = 44

/** The longest size: 16 digits, a point, a zero before it, four quotes and a comma. */
const SIZE_MAX = 24
const PIECE = 32
const PRICE_PIECE = 0
const SIZE_PIECE = PIECE
const NO_PRICE_PIECE = 2 * PIECE

/**
 * The ladders of a row: all its text after the head. Consecutive books differ in a level or two, so
 * the text of the row before is copied and a changed level cut out or put in while copying. Of a
 * venue with native ladders `yes` repeats `bids`, and `no` has the sizes of `asks` and at the same
 * places the prices 1 − p: these have as many digits, since p and 1 − p end in as many zeros.
 */
export class LadderText {
  /** Whether the current row has its own place already, see `change`. */
  isPlaced = false
  private dialect!: Dialect
  private hasNative = false
  private limit = Infinity
  private sizeDecimals = 0
  private sizeQuotes = 0
  private ladder!: Ladder
  private tokens!: PriceTokens
  /** The length of the size text by level key, right for the levels that the text shows. */
  private sizeLength!: Uint8Array

  // What the text shows: levels per side, and the bytes of each list.
  private bids = 0
  private asks = 0
  private bidPrice = 0
  private bidSize = 0
  private askPrice = 0
  private askSize = 0

  // The place of a level: bytes of better levels in each list, commas included, and their number.
  private index = 0
  private priceOffset = 0
  private sizeOffset = 0

  // Up to four edits of one change: the place, the bytes to cut, and the piece to insert.
  private readonly pieces = new Uint8Array(3 * PIECE)
  private readonly editAt = new Int32Array(4)
  private readonly editCut = new Int32Array(4)
  private readonly editPiece = new Int32Array(4)
  private readonly editPut = new Int32Array(4)

  // The current row, see `change`.
  private bytes = new Uint8Array(0)
  private from = 0
  private to = 0
  private head = 0
  private length = 0

  /** Begins a page. */
  start(
    dialect: Dialect,
    hasNative: boolean,
    limit: number,
    sizeDecimals: number,
    isQuoted: boolean,
  ): void {
    this.dialect = dialect
    this.hasNative = hasNative
    this.limit = limit
    this.sizeDecimals = sizeDecimals
    this.sizeQuotes = isQuoted ? dialect.listQuotes : 0
  }

  /** Shows another ladder from the next `write` on; `sizeLength` is its scratch space. */
  show(ladder: Ladder, tokens: PriceTokens, sizeLength: Uint8Array): void {
    this.ladder = ladder
    this.tokens = tokens
    this.sizeLength = sizeLength
  }

  /** How many levels the text shows, those of the native ladders not counted. */
  get levels(): number {
    return this.bids + this.asks
  }

  /** Max bytes of the text of the ladder. */
  get room(): number {
    const bids = Math.min(this.ladder.bidLevels, this.limit)
    const asks = Math.min(this.ladder.askLevels, this.limit)
    return 256 + 2 * (bids + asks) * (this.tokens.stride + 1 + SIZE_MAX)
  }

  /** Max bytes that one change can add. */
  get changeRoom(): number {
    return 2 * (this.tokens.stride + 1 + SIZE_MAX)
  }

  /**
   * Writes the ladders at `to`. A side that has not changed is copied from the text at `from`, that
   * of the row before (`ABSENT`: there is none). Returns the end.
   */
  write(
    page: PageBuffer,
    to: number,
    from: number,
    hasNewBids: boolean,
    hasNewAsks: boolean,
  ): number {
    const { bytes } = page
    const { dialect } = this
    const oldBidsAt = from + dialect.bids.length
    const oldBidsLength = this.bidPrice + dialect.sizes.length + this.bidSize
    const oldAsksAt = oldBidsAt + oldBidsLength + dialect.asks.length
    const oldAsksLength = this.askPrice + dialect.sizes.length + this.askSize
    const oldNoAt =
      oldAsksAt + oldAsksLength + dialect.yes.length + oldBidsLength + dialect.no.length

    const bidsAt = put(bytes, to, dialect.bids)
    let at: number
    if (hasNewBids || from === ABSENT) at = this.writeBids(bytes, bidsAt)
    else at = copy(bytes, bidsAt, oldBidsAt, oldBidsLength)
    const bidsEnd = at
    const asksAt = put(bytes, at, dialect.asks)
    const isNewAsks = hasNewAsks || from === ABSENT
    if (isNewAsks) at = this.writeAsks(bytes, asksAt)
    else at = copy(bytes, asksAt, oldAsksAt, oldAsksLength)
    const asksEnd = at
    if (!this.hasNative) return put(bytes, at, dialect.endWithoutNative)

    at = put(bytes, at, dialect.yes)
    at = copy(bytes, at, bidsAt, bidsEnd - bidsAt)
    at = put(bytes, at, dialect.no)
    if (isNewAsks) {
      at = this.writeNoPrices(bytes, at)
      at = copy(bytes, at, asksAt + this.askPrice, asksEnd - asksAt - this.askPrice)
    } else at = copy(bytes, at, oldNoAt, oldAsksLength)
    return put(bytes, at, dialect.end)
  }

  /** Marks the text of the next row as that of the row before, at its old place. */
  begin(): void {
    this.isPlaced = false
  }

  /**
   * Applies one change to the ladder and to the text. The first one that shows makes the row at `to`
   * out of the row before at `from`, later ones work in place (`isPlaced`). The ladders begin `head`
   * bytes after the start of the row. Returns the new length of the row.
   */
  change(
    page: PageBuffer,
    from: number,
    to: number,
    head: number,
    length: number,
    key: number,
    size: number,
  ): number {
    const { ladder, limit } = this
    const before = ladder.sizeAt(key)
    if (before === size) return length
    ladder.apply(key, size)
    this.locate(key)
    if (this.index >= limit) return length

    this.bytes = page.bytes
    this.from = from
    this.to = to
    this.head = head
    this.length = length
    const isBid = (key & 1) === 0
    const levels = isBid ? ladder.bidLevels : ladder.askLevels
    if (before !== 0 && size !== 0) {
      const cut = this.sizeLength[key]!
      this.splice(isBid, 0, 0, this.sizeOffset, cut, this.makeSize(key, SIZE_PIECE) - SIZE_PIECE)
    } else if (size !== 0) {
      if (levels > limit) this.cutLast(key)
      this.putLevel(key)
    } else {
      this.cutLevel(key)
      if (levels >= limit) this.putLast(key)
    }
    return this.length
  }

  /** Finds the place of a level, or where it would be, by walking over the better ones. */
  private locate(key: number): void {
    const { ladder, limit, sizeLength } = this
    const priceLength = this.tokens.length
    const ticks = key >> 1
    let index = 0
    let price = 0
    let size = 0
    if ((key & 1) === 0) {
      for (let at = ladder.bestBid; at > ticks && index < limit; at = ladder.nextBid(at)) {
        price += priceLength[at]! + 1
        size += sizeLength[at * 2]! + 1
        index++
      }
    } else {
      for (let at = ladder.bestAsk; at < ticks && index < limit; at = ladder.nextAsk(at)) {
        price += priceLength[at]! + 1
        size += sizeLength[at * 2 + 1]! + 1
        index++
      }
    }
    this.index = index
    this.priceOffset = price
    this.sizeOffset = size
  }

  /** Inserts a level at the located place, with its comma. */
  private putLevel(key: number): void {
    const isBid = (key & 1) === 0
    const ticks = key >> 1
    const { pieces, tokens } = this
    const shown = isBid ? this.bids++ : this.asks++
    const isLast = this.index === shown
    const back = isLast && shown > 0 ? 1 : 0
    let price = PRICE_PIECE
    let noPrice = NO_PRICE_PIECE
    let size = SIZE_PIECE
    if (back === 1) {
      pieces[price++] = COMMA
      pieces[noPrice++] = COMMA
      pieces[size++] = COMMA
    }
    price = tokens.write(pieces, price, ticks)
    if (!isBid && this.hasNative) noPrice = tokens.write(pieces, noPrice, this.ladder.one - ticks)
    size = this.makeSize(key, size)
    if (!isLast) {
      pieces[price++] = COMMA
      pieces[noPrice] = COMMA
      pieces[size++] = COMMA
    }
    this.priceOffset -= back
    this.splice(isBid, 0, price - PRICE_PIECE, this.sizeOffset - back, 0, size - SIZE_PIECE)
  }

  /** Removes the level at the located place, with its comma. */
  private cutLevel(key: number): void {
    const isBid = (key & 1) === 0
    const shown = isBid ? this.bids-- : this.asks--
    const comma = shown > 1 ? 1 : 0
    const back = this.index === shown - 1 ? comma : 0
    const price = this.tokens.length[key >> 1]! + comma
    this.priceOffset -= back
    this.splice(isBid, price, 0, this.sizeOffset - back, this.sizeLength[key]! + comma, 0)
  }

  /** Removes the last shown level, which a new one at the located place pushes beyond the limit. */
  private cutLast(newKey: number): void {
    const { index, priceOffset, sizeOffset } = this
    const isBid = (newKey & 1) === 0
    const last = this.levelAfter(newKey, this.limit - index)
    this.index = this.limit - 1
    this.priceOffset = (isBid ? this.bidPrice : this.askPrice) - this.tokens.length[last >> 1]!
    this.sizeOffset = (isBid ? this.bidSize : this.askSize) - this.sizeLength[last]!
    this.cutLevel(last)
    this.index = index
    this.priceOffset = priceOffset
    this.sizeOffset = sizeOffset
  }

  /** Inserts the level that moves within the limit after the one at the located place is gone. */
  private putLast(oldKey: number): void {
    const isBid = (oldKey & 1) === 0
    const next = this.levelAfter(oldKey, this.limit - this.index)
    const shown = isBid ? this.bids : this.asks
    const comma = shown > 0 ? 1 : 0
    this.index = shown
    this.priceOffset = (isBid ? this.bidPrice : this.askPrice) + comma
    this.sizeOffset = (isBid ? this.bidSize : this.askSize) + comma
    this.putLevel(next)
  }

  private levelAfter(key: number, steps: number): number {
    const { ladder } = this
    let at = key >> 1
    if ((key & 1) === 0) for (let step = 0; step < steps; step++) at = ladder.nextBid(at)
    else for (let step = 0; step < steps; step++) at = ladder.nextAsk(at)
    return at * 2 + (key & 1)
  }

  /** Writes the size of a level among the pieces, remembers its length and returns its end. */
  private makeSize(key: number, at: number): number {
    const end = this.writeSize(this.pieces, at, this.ladder.sizeAt(key))
    this.sizeLength[key] = end - at
    return end
  }

  /** Edits the price list (at `priceOffset`) and the size list of a side, and their native twins. */
  private splice(
    isBid: boolean,
    priceCut: number,
    pricePut: number,
    sizeOffset: number,
    sizeCut: number,
    sizePut: number,
  ): void {
    const { dialect, editAt, editCut, editPiece, editPut } = this
    const between = dialect.sizes.length
    let prices = this.head + dialect.bids.length
    let sizes = prices + this.bidPrice + between
    const asks = sizes + this.bidSize + dialect.asks.length
    const asksEnd = asks + this.askPrice + between + this.askSize
    let twinPrices = asksEnd + dialect.yes.length
    let twinPiece = PRICE_PIECE
    if (!isBid) {
      prices = asks
      sizes = asks + this.askPrice + between
      twinPrices += this.bidPrice + between + this.bidSize + dialect.no.length
      twinPiece = NO_PRICE_PIECE
    }
    let edits = 0
    if (priceCut !== pricePut) {
      editAt[0] = prices + this.priceOffset
      editCut[0] = priceCut
      editPiece[0] = PRICE_PIECE
      editPut[0] = pricePut
      edits = 1
    }
    editAt[edits] = sizes + sizeOffset
    editCut[edits] = sizeCut
    editPiece[edits] = SIZE_PIECE
    editPut[edits++] = sizePut
    if (this.hasNative) {
      if (priceCut !== pricePut) {
        editAt[edits] = twinPrices + this.priceOffset
        editCut[edits] = priceCut
        editPiece[edits] = twinPiece
        editPut[edits++] = pricePut
      }
      editAt[edits] = twinPrices + (sizes - prices) + sizeOffset
      editCut[edits] = sizeCut
      editPiece[edits] = SIZE_PIECE
      editPut[edits++] = sizePut
    }
    if (isBid) {
      this.bidPrice += pricePut - priceCut
      this.bidSize += sizePut - sizeCut
    } else {
      this.askPrice += pricePut - priceCut
      this.askSize += sizePut - sizeCut
    }
    this.applyEdits(edits)
  }

  /**
   * Makes the row at `to` out of the row at `from` by edits in order of their place, all of which
   * lengthen it or all shorten it. In place, a longer row is made from its end, so that nothing is
   * written over before it has moved.
   */
  private applyEdits(edits: number): void {
    const { bytes, to, editAt, editCut, editPut } = this
    const from = this.isPlaced ? to : this.from
    let delta = 0
    for (let edit = 0; edit < edits; edit++) delta += editPut[edit]! - editCut[edit]!
    const length = this.length
    this.length = length + delta
    if (delta === 0) {
      if (from !== to) bytes.copyWithin(to, from, from + length)
      for (let edit = 0; edit < edits; edit++) this.putPiece(edit, to + editAt[edit]!)
    } else if (delta > 0) {
      let end = length
      let shift = delta
      for (let edit = edits - 1; edit >= 0; edit--) {
        const rest = editAt[edit]! + editCut[edit]!
        bytes.copyWithin(to + rest + shift, from + rest, from + end)
        shift -= editPut[edit]! - editCut[edit]!
        end = editAt[edit]!
        this.putPiece(edit, to + end + shift)
      }
      if (from !== to) bytes.copyWithin(to, from, from + end)
    } else {
      if (from !== to) bytes.copyWithin(to, from, from + editAt[0]!)
      let shift = 0
      for (let edit = 0; edit < edits; edit++) {
        const rest = editAt[edit]! + editCut[edit]!
        const end = edit + 1 < edits ? editAt[edit + 1]! : length
        const place = to + editAt[edit]! + shift
        shift += editPut[edit]! - editCut[edit]!
        bytes.copyWithin(to + rest + shift, from + rest, from + end)
        this.putPiece(edit, place)
      }
    }
    this.isPlaced = true
  }

  private putPiece(edit: number, at: number): void {
    const { bytes, pieces } = this
    const start = this.editPiece[edit]!
    const length = this.editPut[edit]!
    for (let index = 0; index < length; index++) bytes[at + index] = pieces[start + index]!
  }

  private writeBids(bytes: Uint8Array, start: number): number {
    const { ladder, tokens, limit } = this
    let at = start
    let shown = 0
    for (let ticks = ladder.bestBid; ticks !== 0 && shown < limit; ticks = ladder.nextBid(ticks)) {
      if (shown++ > 0) bytes[at++] = COMMA
      at = tokens.write(bytes, at, ticks)
    }
    this.bids = shown
    this.bidPrice = at - start
    at = put(bytes, at, this.dialect.sizes)
    const sizes = at
    let ticks = ladder.bestBid
    for (let level = 0; level < shown; level++) {
      if (level > 0) bytes[at++] = COMMA
      const end = this.writeSize(bytes, at, ladder.sizeAt(ticks * 2))
      this.sizeLength[ticks * 2] = end - at
      at = end
      ticks = ladder.nextBid(ticks)
    }
    this.bidSize = at - sizes
    return at
  }

  private writeAsks(bytes: Uint8Array, start: number): number {
    const { ladder, tokens, limit } = this
    const { one } = ladder
    let at = start
    let shown = 0
    for (
      let ticks = ladder.bestAsk;
      ticks !== one && shown < limit;
      ticks = ladder.nextAsk(ticks)
    ) {
      if (shown++ > 0) bytes[at++] = COMMA
      at = tokens.write(bytes, at, ticks)
    }
    this.asks = shown
    this.askPrice = at - start
    at = put(bytes, at, this.dialect.sizes)
    const sizes = at
    let ticks = ladder.bestAsk
    for (let level = 0; level < shown; level++) {
      if (level > 0) bytes[at++] = COMMA
      const end = this.writeSize(bytes, at, ladder.sizeAt(ticks * 2 + 1))
      this.sizeLength[ticks * 2 + 1] = end - at
      at = end
      ticks = ladder.nextAsk(ticks)
    }
    this.askSize = at - sizes
    return at
  }

  private writeNoPrices(bytes: Uint8Array, start: number): number {
    const { ladder, tokens } = this
    let at = start
    let ticks = ladder.bestAsk
    for (let level = 0; level < this.asks; level++) {
      if (level > 0) bytes[at++] = COMMA
      at = tokens.write(bytes, at, ladder.one - ticks)
      ticks = ladder.nextAsk(ticks)
    }
    return at
  }

  private writeSize(bytes: Uint8Array, start: number, size: number): number {
    if (this.sizeQuotes === 0) return writeScaled(bytes, start, size, this.sizeDecimals)
    let at = start
    for (let index = 0; index < this.sizeQuotes; index++) bytes[at++] = QUOTE
    at = writeScaled(bytes, at, size, this.sizeDecimals)
    for (let index = 0; index < this.sizeQuotes; index++) bytes[at++] = QUOTE
    return at
  }
}

function put(bytes: Uint8Array, at: number, text: Uint8Array): number {
  for (let index = 0; index < text.length; index++) bytes[at + index] = text[index]!
  return at + text.length
}

function copy(bytes: Uint8Array, to: number, from: number, length: number): number {
  bytes.copyWithin(to, from, from + length)
  return to + length
}
