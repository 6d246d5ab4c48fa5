import { POW10, VENUES } from '../domain/index.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import {
  columnOf,
  corrupt,
  encodeChunk,
  expectKind,
  type Chunk,
  type ChunkHeader,
  type EncodedChunk,
} from './chunk.ts'
import type { BookColumns } from './columns.ts'
import { encodeHeads, HEAD_COLUMN_COUNT, HeadDecoder, type HeadSelection } from './head-codec.ts'
import type { TapePlatform } from './platform.ts'

/** The columns of a book chunk after the heads. */
export const BOOK_COLUMNS = {
  keyframe: HEAD_COLUMN_COUNT,
  counts: HEAD_COLUMN_COUNT + 1,
  keyLow: HEAD_COLUMN_COUNT + 2,
  keyMiddle: HEAD_COLUMN_COUNT + 3,
  keyHigh: HEAD_COLUMN_COUNT + 4,
  sizeTokens: HEAD_COLUMN_COUNT + 5,
  sizeValues: HEAD_COLUMN_COUNT + 6,
} as const

// A size change is encoded by the most common patterns: removing the level, undoing its last change,
// adding the amount that was just removed elsewhere; then by a dictionary of the chunk's frequent signed
// amounts; otherwise in full. On recorded books this is 25 % smaller than a plain dictionary.
const REMOVED = 0
const UNDONE = 1
const MOVED = 2
const FIRST_LISTED = 3
const IN_FULL = 255
const LISTED_MAX = 126

// From this many ticks in 1.0 on, a level key needs a second and a third byte.
const MIDDLE_FROM = 128
const HIGH_FROM = 32_768

/** The identity of a chunk, which its rows do not contain. */
export type ChunkIdentity = Pick<
  ChunkHeader,
  'venue' | 'market' | 'key' | 'origin' | 'recorder' | 'normalizer' | 'first' | 'previousHash'
>

/** Encodes rows with their keyframe; its state then is the start of the next chunk. */
export class BookEncoder {
  private readonly levels = new LevelMemory()

  /** Encodes rows [from, to) of `rows`; `base` is the book before row `from`. */
  encode(
    rows: BookColumns,
    from: number,
    to: number,
    base: { readonly key: ArrayLike<number>; readonly size: ArrayLike<number> },
    identity: ChunkIdentity & { readonly changesBefore: number },
    platform: TapePlatform,
  ): EncodedChunk {
    const start = rows.changeStart(from)
    const end = rows.changeEnd[to - 1]!
    const shrink = shrinkOf(rows, start, end, base.key)
    const divisor = POW10[shrink]!
    const priceDecimals = rows.priceDecimals - shrink
    const one = POW10[priceDecimals]!
    const scaled = (key: number): number => ((key >>> 1) / divisor) * 2 + (key & 1)

    const keyframe = new ByteWriter(256)
    const order = Array.from({ length: base.key.length }, (_, index) => index)
    order.sort((a, b) => base.key[a]! - base.key[b]!)
    keyframe.varint(order.length)
    const baseKeys: number[] = []
    let previous = 0
    for (const index of order) {
      const key = scaled(base.key[index]!)
      keyframe.varint(key - previous)
      keyframe.varint(base.size[index]!)
      previous = key
      baseKeys.push(key)
    }

    const count = end - start
    const keys =
      divisor === 1 ? rows.key.subarray(start, end) : rows.key.slice(start, end).map(scaled)
    const slots = this.levels.reset(one, baseKeys, keys, count)
    for (const [place, index] of order.entries()) this.levels.load(place, base.size[index]!)
    const low = new Uint8Array(count)
    const middle = new Uint8Array(one >= MIDDLE_FROM ? count : 0)
    const high = new Uint8Array(one >= HIGH_FROM ? count : 0)
    for (let index = 0; index < count; index++) {
      const key = keys[index]!
      low[index] = key & 0xff
      if (middle.length > 0) middle[index] = (key >>> 8) & 0xff
      if (high.length > 0) high[index] = key >>> 16
    }
    const sizes = this.encodeSizes(slots, rows.size.subarray(start, end))
    const heads = encodeHeads(rows, from, to)
    const header: ChunkHeader = {
      ...identity,
      ...heads.facts,
      kind: 'book',
      metric: '',
      changes: count,
      priceDecimals,
      sizeDecimals: VENUES[identity.venue].sizeDecimals,
    }
    const counts = encodeCounts(rows, from, to)
    const columns = [
      ...heads.columns,
      keyframe.copy(),
      counts,
      low,
      middle,
      high,
      sizes.tokens,
      sizes.values,
    ]
    return encodeChunk(header, columns, platform)
  }

  private encodeSizes(
    slots: Uint32Array,
    sizes: Float64Array,
  ): { tokens: Uint8Array; values: Uint8Array } {
    const { state, last } = this.levels
    const tokens = new Uint8Array(sizes.length)
    const changes = new Float64Array(sizes.length)
    const seen = new Map<number, number>()
    let taken = 0
    for (let index = 0; index < sizes.length; index++) {
      const key = slots[index]!
      const size = sizes[index]!
      const change = size - state[key]!
      changes[index] = change
      if (size === 0) tokens[index] = REMOVED
      else if (last[key] === -change && change !== 0) tokens[index] = UNDONE
      else if (change === taken && change !== 0) tokens[index] = MOVED
      else {
        tokens[index] = IN_FULL
        const amount = Math.abs(change)
        seen.set(amount, (seen.get(amount) ?? 0) + 1)
      }
      state[key] = size
      last[key] = change
      if (change < 0) taken = -change
    }
    const listed = [...seen]
      .filter(([, times]) => times > 1)
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, LISTED_MAX)
      .map(([amount]) => amount)
      .sort((a, b) => a - b)
    const places = new Map(listed.map((amount, place) => [amount, place]))
    const values = new ByteWriter(512)
    values.varint(listed.length)
    let previous = 0
    for (const amount of listed) {
      values.varint(amount - previous)
      previous = amount
    }
    for (let index = 0; index < tokens.length; index++) {
      if (tokens[index] !== IN_FULL) continue
      const change = changes[index]!
      const place = places.get(Math.abs(change))
      if (place === undefined) values.signed(change)
      else tokens[index] = FIRST_LISTED + place * 2 + (change < 0 ? 1 : 0)
    }
    return { tokens, values: values.copy() }
  }
}

/** Decodes rows; use one instance per thread, because it reuses its scratch space. */
export class BookDecoder {
  private readonly heads = new HeadDecoder()
  private readonly levels = new LevelMemory()
  /** The size change of each token. */
  private readonly changes = new Float64Array(256)

  /** Fills `into` with the rows of a book chunk and the book before them. */
  decode(chunk: Chunk, platform: TapePlatform, into: BookColumns, selection: HeadSelection): void {
    const { header } = chunk
    expectKind(chunk, 'book', HEAD_COLUMN_COUNT + 7)
    this.heads.decode(chunk, platform, into, selection)
    into.priceDecimals = header.priceDecimals
    this.readKeyframe(chunk, platform, into)
    readCounts(columnOf(chunk, BOOK_COLUMNS.counts, platform), into, header)
    readKeys(chunk, platform, into)
    this.readSizes(chunk, platform, into)
  }

  private readKeyframe(chunk: Chunk, platform: TapePlatform, into: BookColumns): void {
    const one = POW10[chunk.header.priceDecimals]!
    const reader = new ByteReader(columnOf(chunk, BOOK_COLUMNS.keyframe, platform))
    const count = reader.varint()
    into.baseKey = []
    into.baseSize = []
    let key = 0
    for (let index = 0; index < count; index++) {
      const step = reader.varint()
      const size = reader.varint()
      key += step
      if (step === 0 || size === 0)
        throw corrupt('its first book has a level twice or without size')
      if (key < 2 || key >= 2 * one) throw corrupt('a price is out of bounds')
      into.baseKey.push(key)
      into.baseSize.push(size)
    }
    reader.finish()
  }

  private readSizes(chunk: Chunk, platform: TapePlatform, into: BookColumns): void {
    const count = chunk.header.changes
    const tokens = columnOf(chunk, BOOK_COLUMNS.sizeTokens, platform)
    const values = new ByteReader(columnOf(chunk, BOOK_COLUMNS.sizeValues, platform))
    if (tokens.length !== count) throw corrupt('its changes and its sizes differ in number')
    const listed = values.varint()
    if (listed > LISTED_MAX) throw corrupt('its list of amounts is too long')
    const { changes } = this
    const { baseKey, baseSize } = into
    const one = POW10[chunk.header.priceDecimals]!
    const keys = this.levels.reset(one, baseKey, into.key, count)
    for (let place = 0; place < baseKey.length; place++) this.levels.load(place, baseSize[place]!)
    const { state, last } = this.levels
    let amount = 0
    for (let place = 0; place < listed; place++) {
      amount += values.varint()
      changes[FIRST_LISTED + place * 2] = amount
      changes[FIRST_LISTED + place * 2 + 1] = -amount
    }
    // A token beyond the list must not read an amount of another chunk.
    changes.fill(NaN, FIRST_LISTED + listed * 2)
    const sizes = into.size
    let taken = 0
    let sound = true
    // The next token is unpredictable, so a branch on it is often mispredicted. Instead the changes of
    // all tokens are computed and the right one is selected.
    for (let index = 0; index < count; index++) {
      const key = keys[index]!
      const token = tokens[index]!
      const before = state[key]!
      changes[REMOVED] = -before
      changes[UNDONE] = -last[key]!
      changes[MOVED] = taken
      if (token === IN_FULL) changes[IN_FULL] = values.signed()
      const change = changes[token]!
      const size = before + change
      if (!(size >= 0 && size <= Number.MAX_SAFE_INTEGER)) sound = false
      state[key] = size
      last[key] = change
      sizes[index] = size
      // A decrease becomes the amount that was removed last; an increase keeps it.
      taken -= (taken + change) * +(change < 0)
    }
    values.finish()
    if (!sound) throw corrupt('a size or a price is out of bounds')
  }
}

/**
 * Size and last change of every level, the same in encoder and decoder. Their slot is the level's key,
 * or, where the ticks are very fine, the level's number in order of appearance.
 */
class LevelMemory {
  state = new Float64Array(0)
  last = new Float64Array(0)
  private base: ArrayLike<number> = []

  /** Forgets everything, and returns the slots of a chunk's changes: at least the first `count`. */
  reset(one: number, base: readonly number[], keys: Uint32Array, count: number): Uint32Array {
    const isFine = one > SLOTS_MAX
    const slots = isFine ? numberLevels(base, keys, count) : undefined
    const space = slots === undefined ? 2 * one + 2 : base.length + count
    if (this.state.length < space) {
      this.state = new Float64Array(space)
      this.last = new Float64Array(space)
    } else {
      this.state.fill(0, 0, space)
      this.last.fill(0, 0, space)
    }
    // The levels of the first book come first, so their numbers are their places.
    this.base = isFine ? base.map((_, place) => place) : base
    return slots ?? keys
  }

  /** Sets the size of a level of the first book, by its place there. */
  load(place: number, size: number): void {
    this.state[this.base[place]!] = size
  }
}

// Up to this many ticks in 1.0 every level key has a slot of its own.
const SLOTS_MAX = 10_000

function numberLevels(base: readonly number[], keys: Uint32Array, count: number): Uint32Array {
  const numbers = new Map(base.map((key, place) => [key, place]))
  const slots = new Uint32Array(count)
  for (let index = 0; index < count; index++) {
    const key = keys[index]!
    let slot = numbers.get(key)
    if (slot === undefined) numbers.set(key, (slot = numbers.size))
    slots[index] = slot
  }
  return slots
}

function encodeCounts(rows: BookColumns, from: number, to: number): Uint8Array {
  const out = new ByteWriter(64)
  let single = true
  for (let row = from; row < to; row++) {
    const changes = rows.changeEnd[row]! - rows.changeStart(row)
    if (changes !== 1) single = false
    out.varint(changes)
  }
  return single ? new Uint8Array(0) : out.copy()
}

function readCounts(bytes: Uint8Array, into: BookColumns, header: ChunkHeader): void {
  const ends = into.changeEnd
  let end = 0
  if (bytes.length === 0) {
    for (let row = 0; row < header.count; row++) ends[row] = ++end
  } else {
    const reader = new ByteReader(bytes)
    for (let row = 0; row < header.count; row++) {
      end += bytes[reader.position]! < 0x80 ? bytes[reader.position++]! : reader.varint()
      ends[row] = end
    }
    reader.finish()
  }
  if (end !== header.changes) throw corrupt('its rows and its changes differ in number')
}

function readKeys(chunk: Chunk, platform: TapePlatform, into: BookColumns): void {
  const count = chunk.header.changes
  const low = columnOf(chunk, BOOK_COLUMNS.keyLow, platform)
  const middle = columnOf(chunk, BOOK_COLUMNS.keyMiddle, platform)
  const high = columnOf(chunk, BOOK_COLUMNS.keyHigh, platform)
  const one = POW10[chunk.header.priceDecimals]!
  const lengths = [count, one >= MIDDLE_FROM ? count : 0, one >= HIGH_FROM ? count : 0]
  if ([low, middle, high].some(({ length }, index) => length !== lengths[index])) {
    throw corrupt('its changes and its prices differ in number')
  }
  into.reserveChanges(count)
  const keys = into.key
  for (let index = 0; index < count; index++) keys[index] = low[index]!
  for (let index = 0; index < middle.length; index++) keys[index]! |= middle[index]! << 8
  for (let index = 0; index < high.length; index++) keys[index]! |= high[index]! << 16
  // Prices lie strictly between 0 and 1. A key out of bounds makes one of the differences negative.
  let out = 0
  for (let index = 0; index < count; index++)
    out |= (keys[index]! - 2) | (2 * one - 1 - keys[index]!)
  if (out < 0) throw corrupt('a size or a price is out of bounds')
}

// Whole cents are encoded as cents even where the venue allows 0.0001: fewer ticks, smaller ladders.
function shrinkOf(
  rows: BookColumns,
  start: number,
  end: number,
  baseKeys: ArrayLike<number>,
): number {
  let shrink = Math.max(0, rows.priceDecimals - 2)
  if (shrink === 0) return 0
  for (let index = start; index < end; index++) shrink = wholeIn(rows.key[index]!, shrink)
  for (let index = 0; index < baseKeys.length; index++) shrink = wholeIn(baseKeys[index]!, shrink)
  return shrink
}

function wholeIn(key: number, most: number): number {
  let shrink = most
  while (shrink > 0 && (key >>> 1) % POW10[shrink]! !== 0) shrink--
  return shrink
}
