import { POW10 } from '../domain/index.ts'
import { FineLevels } from './fine-levels.ts'

/** A level's key: twice its price in ticks, plus 1 for an ask. */
export function levelKey(side: 'bid' | 'ask', ticks: number): number {
  return ticks * 2 + (side === 'ask' ? 1 : 0)
}

// Up to this many decimals a ladder has a slot per tick.
const SLOT_DECIMALS = 4

/** True for ticks so fine that tables by price would take megabytes. */
export function isFineTick(decimals: number): boolean {
  return decimals > SLOT_DECIMALS
}

/** One side of a book as parallel arrays, best first. */
export type LadderSide = { readonly price: number[]; readonly size: number[] }

/**
 * A book by price: one slot per tick and side, and a bitmap of the occupied ones, so that a change
 * is a store and a bit, and the best price and the walk away from it are bit scans. Cents take 2 KB,
 * 0.0001 ticks 163 KB. Measured against sorted arrays and maps in `ladder.bench.ts`. Finer ticks, which
 * are rare, are sorted instead (`FineLevels`). Its numbers have values from the start, because V8 does not know a
 * field that was undefined once as an integer.
 */
export class Ladder {
  /** Decimals of the ticks; they grow with finer prices and never shrink by themselves. */
  decimals = 0
  /** The number of ticks in 1.0; prices lie strictly between 0 and it. */
  one = 0
  bidLevels = 0
  askLevels = 0
  /** Best bid in ticks, 0 when there is none. */
  bestBid = 0
  /** Best ask in ticks, `one` when there is none. */
  bestAsk = 0
  /** Sizes by level key. */
  private size: Float64Array
  /** The occupied levels, one bit per tick: bids from word 0 on, asks from word `words` on. */
  private bits: Int32Array
  private words = 0
  /** The levels where a slot per tick would be too much memory; then `size` and `bits` are empty. */
  private fine: FineLevels | undefined

  constructor(decimals = 2) {
    this.decimals = decimals
    // A small integer, so that comparisons with it and the best ask are ones of integers.
    this.one = POW10[decimals]! | 0
    const isFine = isFineTick(decimals)
    this.size = new Float64Array(isFine ? 0 : 2 * this.one + 2)
    this.words = isFine ? 0 : (this.one >> 5) + 1
    this.bits = new Int32Array(2 * this.words)
    this.fine = isFine ? new FineLevels() : undefined
    this.bestAsk = this.one
  }

  /** True where levels are sorted instead of having a slot per tick: very fine ticks. */
  get isFine(): boolean {
    return this.fine !== undefined
  }

  /** The memory of the slots; the few levels of a fine ladder are not counted. */
  get bytes(): number {
    return this.size.byteLength + this.bits.byteLength
  }

  /** The size of a level by its key; 0 where there is none. */
  sizeAt(key: number): number {
    return this.fine === undefined ? this.size[key]! : this.fine.sizeAt(key)
  }

  /** Sets one level to a size; 0 removes it. */
  apply(key: number, size: number): void {
    if (this.fine !== undefined) return this.applyFine(this.fine, key, size)
    const before = this.size[key]!
    if (before === size) return
    this.size[key] = size
    if (before !== 0 && size !== 0) return
    const ticks = key >> 1
    const bit = 1 << (ticks & 31)
    if ((key & 1) === 0) {
      if (size !== 0) {
        this.bits[ticks >> 5]! |= bit
        this.bidLevels++
        if (ticks > this.bestBid) this.bestBid = ticks
      } else {
        this.bits[ticks >> 5]! &= ~bit
        this.bidLevels--
        if (ticks === this.bestBid) this.bestBid = this.nextBid(ticks)
      }
    } else if (size !== 0) {
      this.bits[this.words + (ticks >> 5)]! |= bit
      this.askLevels++
      if (ticks < this.bestAsk) this.bestAsk = ticks
    } else {
      this.bits[this.words + (ticks >> 5)]! &= ~bit
      this.askLevels--
      if (ticks === this.bestAsk) this.bestAsk = this.nextAsk(ticks)
    }
  }

  /** Sets levels [from, to) of columns. Best prices and numbers of levels are invalid until `settle`. */
  putChanges(keys: Uint32Array, sizes: Float64Array, from: number, to: number): void {
    const { fine, size, bits, words } = this
    // The loops are apart, because a test in each turn takes longer than the turn.
    if (fine !== undefined) {
      for (let index = from; index < to; index++) fine.apply(keys[index]!, sizes[index]!)
      return
    }
    for (let index = from; index < to; index++) {
      const key = keys[index]!
      const now = sizes[index]!
      size[key] = now
      const at = (key >> 6) + (key & 1) * words
      const shift = (key >> 1) & 31
      bits[at] = (bits[at]! & ~(1 << shift)) | (+(now !== 0) << shift)
    }
  }

  /** Sets the levels of a whole book. Best prices and numbers of levels are invalid until `settle`. */
  putLevels(keys: readonly number[], sizes: readonly number[]): void {
    const { fine } = this
    if (fine === undefined) {
      for (let index = 0; index < keys.length; index++) this.put(keys[index]!, sizes[index]!)
    } else for (let index = 0; index < keys.length; index++) fine.apply(keys[index]!, sizes[index]!)
  }

  // Without a data-dependent branch, in a third of the time of `apply`; not for very fine ticks.
  private put(key: number, size: number): void {
    this.size[key] = size
    const at = (key >> 6) + (key & 1) * this.words
    const shift = (key >> 1) & 31
    this.bits[at] = (this.bits[at]! & ~(1 << shift)) | (+(size !== 0) << shift)
  }

  /** Recomputes best prices and numbers of levels after levels were put. */
  settle(): void {
    const { bits, words, fine } = this
    this.bidLevels = fine?.count(0) ?? countBits(bits, 0, words)
    this.askLevels = fine?.count(1) ?? countBits(bits, words, bits.length)
    this.bestBid = this.nextBid(this.one)
    this.bestAsk = this.nextAsk(0)
  }

  /** The next occupied bid below a price, 0 at the end. */
  nextBid(ticks: number): number {
    const { bits, fine } = this
    if (fine !== undefined) return fine.nextBid(ticks)
    let index = ticks >> 5
    let word = bits[index]! & ((1 << (ticks & 31)) - 1)
    while (word === 0) {
      if (index === 0) return 0
      word = bits[--index]!
    }
    return (index << 5) + 31 - Math.clz32(word)
  }

  /** The next occupied ask above a price, `one` at the end. */
  nextAsk(ticks: number): number {
    const { bits, words, fine } = this
    if (fine !== undefined) return fine.nextAsk(ticks, this.one)
    let index = words + (ticks >> 5)
    // Two shifts, because a shift by 32 is a shift by 0.
    let word = bits[index]! & ((-1 << (ticks & 31)) << 1)
    while (word === 0) {
      if (++index === bits.length) return this.one
      word = bits[index]!
    }
    return ((index - words) << 5) + 31 - Math.clz32(word & -word)
  }

  /** The bids best first, at most `depth` of them. */
  bids(depth = Infinity): LadderSide {
    const price: number[] = []
    const size: number[] = []
    for (let at = this.bestBid; at !== 0 && price.length < depth; at = this.nextBid(at)) {
      price.push(at)
      size.push(this.sizeAt(at * 2))
    }
    return { price, size }
  }

  /** The asks best first, at most `depth` of them. */
  asks(depth = Infinity): LadderSide {
    const price: number[] = []
    const size: number[] = []
    for (let at = this.bestAsk; at !== this.one && price.length < depth; at = this.nextAsk(at)) {
      price.push(at)
      size.push(this.sizeAt(at * 2 + 1))
    }
    return { price, size }
  }

  /** The occupied level keys, bids best first, then asks best first, at most `depth` per side. */
  keys(depth = Infinity): number[] {
    const keys: number[] = []
    for (let at = this.bestBid; at !== 0 && keys.length < depth; at = this.nextBid(at)) {
      keys.push(at * 2)
    }
    const most = keys.length + depth
    for (let at = this.bestAsk; at !== this.one && keys.length < most; at = this.nextAsk(at)) {
      keys.push(at * 2 + 1)
    }
    return keys
  }

  /** Empties the book. */
  clear(): void {
    this.size.fill(0)
    this.bits.fill(0)
    this.fine?.clear()
    this.bidLevels = 0
    this.askLevels = 0
    this.bestBid = 0
    this.bestAsk = this.one
  }

  /** Changes the decimals; every price must be a whole number of the new ticks. */
  rescale(decimals: number): void {
    if (decimals === this.decimals) return
    const keys = this.keys()
    const sizes = keys.map((key) => this.sizeAt(key))
    const scaled = new Ladder(decimals)
    const factor = 10 ** (decimals - this.decimals)
    for (const [index, key] of keys.entries()) {
      scaled.apply(Math.round((key >> 1) * factor) * 2 + (key & 1), sizes[index]!)
    }
    Object.assign(this, scaled)
  }

  /** The book of the other outcome: bids and asks swap, at 1 − price. */
  complement(): Ladder {
    const other = new Ladder(this.decimals)
    for (const key of this.keys()) {
      other.apply((this.one - (key >> 1)) * 2 + (1 - (key & 1)), this.sizeAt(key))
    }
    return other
  }

  /** An independent copy. */
  clone(): Ladder {
    const other = new Ladder(this.decimals)
    for (const key of this.keys()) other.apply(key, this.sizeAt(key))
    return other
  }

  /** True when both have the same levels with the same sizes, whatever their ticks. */
  equals(other: Ladder): boolean {
    if (this.bidLevels !== other.bidLevels || this.askLevels !== other.askLevels) return false
    const [coarse, fine] = this.decimals <= other.decimals ? [this, other] : [other, this]
    const factor = POW10[fine.decimals - coarse.decimals]!
    return coarse
      .keys()
      .every((key) => fine.sizeAt((key >>> 1) * factor * 2 + (key & 1)) === coarse.sizeAt(key))
  }

  private applyFine(fine: FineLevels, key: number, size: number): void {
    fine.apply(key, size)
    if ((key & 1) === 0) {
      this.bidLevels = fine.count(0)
      this.bestBid = fine.nextBid(this.one)
    } else {
      this.askLevels = fine.count(1)
      this.bestAsk = fine.nextAsk(0, this.one)
    }
  }
}

function countBits(words: Int32Array, from: number, to: number): number {
  let count = 0
  for (let index = from; index < to; index++) {
    // Population count: pairs, then fours, then bytes, summed by a multiplication.
    let word = words[index]!
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}
