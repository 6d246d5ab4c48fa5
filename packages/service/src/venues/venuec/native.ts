import {
  PriorbookError,
  readTradeNative,
  type BookChange,
  type Instrument,
  type Level,
  type Micros,
  type PriceTicks,
  type Side,
  type SizeUnits,
  type TradeNative,
} from '@priorbook/sdk/domain'
import {
  readArray,
  readObject,
  readText,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { readInstrument, readMillis, readPrice, readShares } from './fields.ts'

/** The whole book of one token. */
type NativeBook = NativeLadders & {
  readonly type: 'book'
  readonly instrument: Instrument
  readonly time: Micros | undefined
}

/** New absolute sizes of single levels, mostly of both tokens of one market. */
type NativePriceChange = {
  readonly type: 'price_change'
  readonly time: Micros | undefined
  readonly entries: readonly (NativeEntry | BrokenEntry)[]
}

/** One changed level, with the best prices that the venue says the token has afterwards. */
type NativeEntry = {
  readonly instrument: Instrument
  readonly level: SidedLevel
  readonly claims: BookChange['claims'] | undefined
}

/** An entry that could not be read; the book of its token, if it is named, is wrong from here on. */
type BrokenEntry = {
  readonly instrument: Instrument | undefined
  readonly error: PriorbookError
}

/** The tick size of a token changed, which starts a new book. */
type NativeTickSize = {
  readonly type: 'tick_size_change'
  readonly instrument: Instrument
  readonly time: Micros | undefined
}

/** One trade, its price in the token's own terms. */
export type NativeTrade = {
  readonly type: 'last_trade_price'
  readonly instrument: Instrument
  readonly price: PriceTicks
  readonly size: SizeUnits
  readonly side: 'BUY' | 'SELL' | undefined
  readonly transaction: string | undefined
  /** What the message said, unchanged. */
  readonly said: TradeNative | undefined
  readonly time: Micros | undefined
}

/** An announcement about a market; the catalogue reads it. */
export type NativeAnnouncement = {
  readonly type: 'new_market' | 'market_resolved'
  readonly object: NativeObject
  readonly time: Micros | undefined
}

/** Best prices alone, which the book contains already. */
type NativeQuote = { readonly type: 'best_bid_ask' }

/** Every message of venue C's market channel. */
export type NativeMessage =
  | NativeBook
  | NativePriceChange
  | NativeTickSize
  | NativeTrade
  | NativeAnnouncement
  | NativeQuote

/** Parses one object of a frame; throws only PriorbookError. */
export function parseMessage(value: unknown): NativeMessage {
  const object = readObject(value, 'the message')
  const type = object['event_type']
  const time = (): Micros | undefined => readMillis(object['timestamp'], 'timestamp')
  switch (type) {
    case 'price_change':
      return { type, time: time(), entries: parseEntries(object) }
    case 'book':
      return { type, instrument: instrumentOf(object), time: time(), ...parseLadders(object) }
    case 'last_trade_price':
      return parseTrade(object, time())
    case 'tick_size_change':
      return { type, instrument: instrumentOf(object), time: time() }
    case 'new_market':
    case 'market_resolved':
      return { type, object, time: time() }
    case 'best_bid_ask':
      return { type }
    default:
      if (typeof type !== 'string') throw wrong('event_type', type, 'text')
      throw new PriorbookError('unknown_event', `venue C has no event type ${show(type)}`)
  }
}

/**
 * The tokens whose books a malformed message invalidates: those that a `book`, a `price_change` or a
 * `tick_size_change` names, as far as they can be read.
 */
export function spoiledBooks(value: unknown): readonly Instrument[] {
  if (typeof value !== 'object' || value === null) return []
  const object = value as NativeObject
  const type = object['event_type']
  if (type !== 'book' && type !== 'price_change' && type !== 'tick_size_change') return []
  const entries = object['price_changes']
  const named = [object, ...(Array.isArray(entries) ? (entries as unknown[]) : [])]
  const found = named.flatMap((one) => instrumentIn(object['market'], one) ?? [])
  return [...new Map(found.map((instrument) => [instrument.key, instrument])).values()]
}

// Since 15 September 2025 every entry of `price_changes` names its token. Before that, a message was about
// one token: it had `changes` or, in 2024, a single level in the message itself, without best prices.
function parseEntries(object: NativeObject): readonly (NativeEntry | BrokenEntry)[] {
  const { market } = object
  if (object['price_changes'] !== undefined) {
    return readArray(object['price_changes'], 'price_changes').map((one, index) =>
      parseEntry(market, one, `price_changes[${index}]`),
    )
  }
  const asset = object['asset_id']
  if (object['changes'] === undefined) return [parseEntry(market, object, 'price_change')]
  return readArray(object['changes'], 'changes').map((one, index) =>
    parseEntry(market, one, `changes[${index}]`, asset),
  )
}

function parseEntry(
  market: unknown,
  value: unknown,
  where: string,
  asset?: unknown,
): NativeEntry | BrokenEntry {
  try {
    const entry = readObject(value, where)
    const side = entry['side']
    if (side !== 'BUY' && side !== 'SELL') throw wrong('side', side, 'BUY or SELL')
    return {
      instrument: readInstrument(market, asset ?? entry['asset_id']),
      level: {
        price: readPrice(entry['price'], 'price'),
        size: readShares(entry['size'], 'size'),
        side: side === 'BUY' ? 'bid' : 'ask',
      },
      claims: parseClaims(entry),
    }
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    const named = asset === undefined ? value : { asset_id: asset }
    const message = `${where}: ${error.message}`
    return {
      instrument: instrumentIn(market, named),
      error: new PriorbookError(error.code, message, { cause: error }),
    }
  }
}

const ONE = readPrice('1', 'one')

// An empty side has a price that no level can have: bid "0", ask "1", and "0" for both if both are empty.
function parseClaims(entry: NativeObject): BookChange['claims'] | undefined {
  const { best_bid: bid, best_ask: ask } = entry
  if (bid === undefined || bid === null || bid === '') return undefined
  if (ask === undefined || ask === null || ask === '') return undefined
  const bestBid = readPrice(bid, 'best_bid')
  const bestAsk = readPrice(ask, 'best_ask')
  return {
    bestBid: bestBid === 0 ? undefined : bestBid,
    bestAsk: bestAsk === 0 || bestAsk === ONE ? undefined : bestAsk,
  }
}

const SAID = ['side', 'price', 'size', 'fee_rate_bps', 'transaction_hash'] as const

function parseTrade(object: NativeObject, time: Micros | undefined): NativeTrade {
  const side = object['side'] ?? undefined
  if (side !== undefined && side !== '' && side !== 'BUY' && side !== 'SELL') {
    throw wrong('side', side, 'BUY or SELL')
  }
  const size = readShares(object['size'], 'size')
  if (size === 0) throw wrong('size', object['size'], 'above zero')
  return {
    type: 'last_trade_price',
    instrument: instrumentOf(object),
    price: readPrice(object['price'], 'price'),
    size,
    side: side === '' ? undefined : side,
    transaction: readText(object['transaction_hash'], 'transaction_hash'),
    said: readTradeNative(object, SAID),
    time,
  }
}

function instrumentOf(object: NativeObject): Instrument {
  return readInstrument(object['market'], object['asset_id'])
}

function instrumentIn(market: unknown, value: unknown): Instrument | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    return readInstrument(market, (value as NativeObject)['asset_id'])
  } catch {
    return undefined
  }
}

/** The two ladders of a token, in the order in which they were sent (worst price first). */
export type NativeLadders = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

/** One level with the side it stands on. */
export type SidedLevel = Level & { readonly side: Side }

/** Parses both ladders; a side that is null is empty, but a book without either side is malformed. */
export function parseLadders(book: NativeObject): NativeLadders {
  // `buys` and `sells` are the names of the channel's first documentation.
  const bids = book['bids'] ?? book['buys']
  const asks = book['asks'] ?? book['sells']
  if (isAbsent(bids) && isAbsent(asks)) throw wrong('the book', undefined, 'two ladders')
  return { bids: parseSide(bids, 'bids'), asks: parseSide(asks, 'asks') }
}

/**
 * Applies changes with absolute sizes to a full book, in order. The row checks find a price that a side
 * contains twice.
 */
export function foldChanges(book: NativeLadders, changes: readonly SidedLevel[]): NativeLadders {
  const bids = [...book.bids]
  const asks = [...book.asks]
  for (const { side, price, size } of changes) {
    const levels = side === 'bid' ? bids : asks
    const index = levels.findIndex((level) => level.price === price)
    if (index < 0) {
      if (size > 0) levels.push({ price, size })
    } else if (size > 0) levels[index] = { price, size }
    else levels.splice(index, 1)
  }
  return { bids, asks }
}

const EMPTY: readonly Level[] = []

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function parseSide(value: unknown, name: string): readonly Level[] {
  if (isAbsent(value)) return EMPTY
  return readArray(value, name).map((one) => {
    const level = readObject(one, `a level of ${name}`)
    const price = readPrice(level['price'], `a price of ${name}`)
    const size = readShares(level['size'], `a size of ${name}`)
    if (size === 0) {
      throw new PriorbookError(
        'invalid_message',
        `${name} holds size 0 at ${show(level['price'])}; a resting size is above zero`,
      )
    }
    return { price, size }
  })
}
