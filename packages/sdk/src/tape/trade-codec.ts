import { POW10, VENUES } from '../domain/index.ts'
import type { ChunkIdentity } from './book-codec.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import {
  columnOf,
  corrupt,
  encodeChunk,
  expectKind,
  type Chunk,
  type EncodedChunk,
} from './chunk.ts'
import { TAKERS, type TradeColumns } from './columns.ts'
import { encodeHeads, HEAD_COLUMN_COUNT, HeadDecoder } from './head-codec.ts'
import type { TapePlatform } from './platform.ts'

/** The columns of a trade chunk after the heads. */
export const TRADE_COLUMNS = {
  prices: HEAD_COLUMN_COUNT,
  sizes: HEAD_COLUMN_COUNT + 1,
  ids: HEAD_COLUMN_COUNT + 2,
  /** Only where a row has one; chunks of earlier versions do not have the column. */
  natives: HEAD_COLUMN_COUNT + 3,
} as const

const IDS_AS_TEXT = 0
const IDS_AS_UUID = 1
const UUID_BYTES = 16
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
// Where the bytes of a UUID begin in its text.
const UUID_PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** Encodes rows [from, to) of trades; prices are in ticks of the venue. */
export function encodeTrades(
  rows: TradeColumns,
  from: number,
  to: number,
  identity: ChunkIdentity,
  platform: TapePlatform,
): EncodedChunk {
  const venue = VENUES[identity.venue]
  let shrink = venue.priceDecimals
  const prices = new ByteWriter(to - from)
  const sizes = new ByteWriter(to - from)
  for (let row = from; row < to; row++) {
    while (rows.price[row]! % POW10[shrink]! !== 0) shrink--
  }
  for (let row = from; row < to; row++) {
    prices.varint((rows.price[row]! / POW10[shrink]!) * TAKERS.length + rows.taker[row]!)
    sizes.varint(rows.size[row]!)
  }
  const heads = encodeHeads(rows, from, to)
  const natives = encodeNatives(rows, from, to)
  const columns = [
    ...heads.columns,
    prices.copy(),
    sizes.copy(),
    encodeIds(rows, from, to),
    ...(natives === undefined ? [] : [natives]),
  ]
  const header = {
    ...identity,
    ...heads.facts,
    kind: 'trade' as const,
    metric: '',
    changesBefore: 0,
    changes: 0,
    priceDecimals: venue.priceDecimals - shrink,
    sizeDecimals: venue.sizeDecimals,
  }
  return encodeChunk(header, columns, platform)
}

const heads = new HeadDecoder()

/** Appends the rows of a trade chunk to `into`, which must be empty; prices are in ticks of the venue. */
export function decodeTrades(chunk: Chunk, platform: TapePlatform, into: TradeColumns): void {
  const { header } = chunk
  const hasNatives = chunk.sections.length === HEAD_COLUMN_COUNT + 4
  expectKind(chunk, 'trade', HEAD_COLUMN_COUNT + (hasNatives ? 4 : 3))
  heads.decode(chunk, platform, into, { numbers: true })
  const prices = new ByteReader(columnOf(chunk, TRADE_COLUMNS.prices, platform))
  const sizes = new ByteReader(columnOf(chunk, TRADE_COLUMNS.sizes, platform))
  const ids = new ByteReader(columnOf(chunk, TRADE_COLUMNS.ids, platform))
  const { priceDecimals } = VENUES[header.venue]
  const factor = POW10[priceDecimals - header.priceDecimals]
  if (factor === undefined) throw corrupt('its prices are finer than its venue')
  const form = ids.byte()
  if (form !== IDS_AS_TEXT && form !== IDS_AS_UUID)
    throw corrupt('the form of its ids is not known')
  const uuids = form === IDS_AS_UUID ? ids.raw(header.count * UUID_BYTES) : undefined
  for (let row = 0; row < header.count; row++) {
    const joint = prices.varint()
    const price = Math.floor(joint / TAKERS.length) * factor
    if (price > POW10[priceDecimals]!) throw corrupt('a price is out of bounds')
    into.taker.push(joint % TAKERS.length)
    into.price.push(price)
    into.size.push(sizes.varint())
    into.tradeId.push(uuids === undefined ? ids.text() : printUuid(uuids, row * UUID_BYTES))
  }
  for (const column of [prices, sizes, ids]) column.finish()
  if (hasNatives) readNatives(columnOf(chunk, TRADE_COLUMNS.natives, platform), into)
  else for (let row = 0; row < header.count; row++) into.native.push(undefined)
}

// What messages said differs in a few words: texts are written once, rows refer to them from 1 on.
function encodeNatives(rows: TradeColumns, from: number, to: number): Uint8Array | undefined {
  const places = new Map<string, number>()
  for (let row = from; row < to; row++) {
    const text = rows.native[row]
    if (text !== undefined && !places.has(text)) places.set(text, places.size + 1)
  }
  if (places.size === 0) return undefined
  const out = new ByteWriter(places.size * 128)
  out.varint(places.size)
  for (const text of places.keys()) out.text(text)
  for (let row = from; row < to; row++) {
    const text = rows.native[row]
    out.varint(text === undefined ? 0 : places.get(text)!)
  }
  return out.copy()
}

function readNatives(bytes: Uint8Array, into: TradeColumns): void {
  const reader = new ByteReader(bytes)
  const count = reader.varint()
  if (count === 0 || count > into.count) throw corrupt('it has more native texts than rows')
  const texts: string[] = []
  for (let place = 0; place < count; place++) {
    const text = reader.text()
    if (!isObjectText(text)) throw corrupt('a native text is not a JSON object')
    texts.push(text)
  }
  for (let row = 0; row < into.count; row++) {
    const place = reader.varint()
    if (place > count) throw corrupt('a row refers to no native text')
    into.native.push(place === 0 ? undefined : texts[place - 1])
  }
  reader.finish()
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function encodeIds(rows: TradeColumns, from: number, to: number): Uint8Array {
  const out = new ByteWriter((to - from) * 17)
  let uuids = true
  for (let row = from; row < to && uuids; row++) uuids = UUID.test(rows.tradeId[row]!)
  out.byte(uuids ? IDS_AS_UUID : IDS_AS_TEXT)
  for (let row = from; row < to; row++) {
    const id = rows.tradeId[row]!
    if (!uuids) {
      out.text(id)
      continue
    }
    for (const at of UUID_PLACES) {
      out.byte(hexAt(id, at) * 16 + hexAt(id, at + 1))
    }
  }
  return out.copy()
}

// The value of a digit 0–9 or a–f.
function hexAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 0x40 ? code - 0x30 : code - 0x57
}

// The characters of a UUID, reused; those that no byte sets stay hyphens.
const uuidCodes = Array.from({ length: 36 }, () => 0x2d)
const DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

// From character codes in one call, in a tenth of the time of a concatenation.
function printUuid(bytes: Uint8Array, from: number): string {
  for (let index = 0; index < UUID_BYTES; index++) {
    const byte = bytes[from + index]!
    const place = UUID_PLACES[index]!
    uuidCodes[place] = DIGITS[byte >> 4]!
    uuidCodes[place + 1] = DIGITS[byte & 15]!
  }
  return String.fromCharCode(...uuidCodes)
}
