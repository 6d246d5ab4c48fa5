import {
  parsePrice,
  parseSize,
  PriorbookError,
  VENUES,
  type Level,
  type Micros,
} from '@priorbook/sdk/domain'
import {
  decimalOf,
  isNoTime,
  readArray,
  readObject,
  readUnixTime,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { optionalVenueId, readVenueId } from './fields.ts'

/** The ladder of outcome 0, in the order sent (best first). */
export type NativeLadder = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

/** The full book of one market, with the venue's time. */
export type NativeBook = NativeLadder & {
  readonly type: 'book'
  readonly marketId: string
  readonly time: Micros | undefined
}

/** A known frame without a book. */
type NativeControl = { readonly type: 'control'; readonly name: string }

/** Every frame of venue A's sockets. */
export type NativeFrame = NativeBook | NativeControl

/** The prefix of the market id in a topic of the Binance socket. */
export const BOOK_TOPIC = 'web3_prediction_orderbook_'

// The topic that carries the books of all active markets.
const ALL_BOOKS = `${BOOK_TOPIC}data`
const PREDICT_BOOK_TOPIC = 'predictOrderbook/'

// Answers to commands and heartbeats of the Binance gateway; `R` answers a Predict.fun request.
const CONTROL_TYPES: ReadonlySet<string> = new Set(['COMMAND', 'PING', 'PONG', 'HEARTBEAT', 'R'])

// Documented topics of Predict.fun without books.
const PREDICT_CONTROL = [
  'heartbeat',
  'predictTradingStatus/',
  'assetPriceUpdate/',
  'polymarketChance/',
  'kalshiChance/',
]

/** Parses one frame, already decoded from JSON; throws nothing but PriorbookError. */
export function parseFrame(value: unknown): NativeFrame {
  const frame = readObject(value, 'the frame')
  const { type, topic } = frame
  if (typeof type !== 'string') throw wrong('type', type, 'text')
  if (CONTROL_TYPES.has(type)) return { type: 'control', name: type }
  if (type !== 'TOPIC' && type !== 'M') {
    throw new PriorbookError('unknown_event', `venue A has no frame type ${show(type)}`)
  }
  if (typeof topic !== 'string') throw wrong('topic', topic, 'text')
  if (type === 'TOPIC' && topic.startsWith(BOOK_TOPIC)) {
    return parseBinanceBook(frame['data'], topic)
  }
  if (type === 'M' && topic.startsWith(PREDICT_BOOK_TOPIC)) {
    const book = readObject(frame['data'], 'data')
    return parsePredictBook(book, topic.slice(PREDICT_BOOK_TOPIC.length))
  }
  if (type === 'M' && PREDICT_CONTROL.some((name) => topic.startsWith(name))) {
    return { type: 'control', name: topic }
  }
  throw new PriorbookError('unknown_event', `venue A has no topic ${show(topic)}`)
}

/** Parses a book of Predict.fun, from its socket or its REST interface. */
export function parsePredictBook(book: NativeObject, marketId: string): NativeBook {
  const requested = readVenueId(marketId, 'the requested market')
  const said = optionalVenueId(book['marketId'], 'marketId') ?? requested
  if (said !== requested) throw wrong('marketId', said, `the requested market, ${requested}`)
  return {
    type: 'book',
    marketId: said,
    time: readBookTime(book['updateTimestampMs'], 'updateTimestampMs'),
    ...parseLadder(book),
  }
}

/** Reads the time of a book in milliseconds; undefined where the venue left it out. */
export function readBookTime(value: unknown, name: string): Micros | undefined {
  return isNoTime(value) ? undefined : readUnixTime(value, name, 1000)
}

// `data` is JSON text inside the JSON of the frame.
function parseBinanceBook(data: unknown, topic: string): NativeFrame {
  const book = readObject(typeof data === 'string' ? parseInner(data) : data, 'data')
  const kind = book['msgType'] ?? 'orderbook'
  if (kind !== 'orderbook') {
    throw new PriorbookError('unknown_event', `venue A has no message type ${show(kind)}`)
  }
  const marketId = readVenueId(book['marketId'], 'marketId')
  if (topic !== ALL_BOOKS && topic !== BOOK_TOPIC + marketId) {
    throw wrong('marketId', marketId, `the market of the topic ${show(topic)}`)
  }
  return {
    type: 'book',
    marketId,
    time: readBookTime(book['updateTimestampMs'], 'updateTimestampMs'),
    ...parseLadder(book),
  }
}

function parseInner(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PriorbookError('invalid_message', 'data is text that is not JSON', { cause: error })
  }
}

const { priceDecimals, sizeDecimals } = VENUES.venuea

/**
 * Parses both sides of a book. Levels are `{price, size}` (Binance REST) or `[price, size]` (sockets,
 * Predict.fun), of strings or numbers. A side may be [] or null, but it must be present: an error answer
 * has neither side and is not an empty book.
 */
export function parseLadder(book: NativeObject): NativeLadder {
  return { bids: parseSide(book, 'bids'), asks: parseSide(book, 'asks') }
}

const EMPTY: readonly Level[] = []

function parseSide(book: NativeObject, name: 'bids' | 'asks'): readonly Level[] {
  const side = book[name]
  if (side === null) return EMPTY
  const levels: Level[] = []
  for (const level of readArray(side, name)) levels.push(parseLevel(level, name))
  return levels
}

function parseLevel(value: unknown, name: string): Level {
  let price: unknown
  let size: unknown
  if (Array.isArray(value)) {
    if (value.length !== 2) throw wrong(`a level of ${name}`, value, '[price, size]')
    price = value[0]
    size = value[1]
  } else if (typeof value === 'object' && value !== null) {
    price = (value as NativeObject)['price']
    size = (value as NativeObject)['size']
  } else {
    throw wrong(`a level of ${name}`, value, 'a price and a size')
  }
  const level = {
    price: parsePrice(decimalOf(price, `a price of ${name}`), priceDecimals),
    size: parseSize(decimalOf(size, `a size of ${name}`), sizeDecimals),
  }
  if (level.size > 0) return level
  throw new PriorbookError(
    'invalid_message',
    `${name} holds size ${show(size)} at ${show(price)}; a resting size is above zero`,
  )
}
