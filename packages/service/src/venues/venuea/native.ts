import {
  canonicalDecimal,
  decimalText,
  parseNativeId,
  parsePrice,
  parseScaled,
  parseSize,
  printScaled,
  PriorbookError,
  VENUES,
  type Instrument,
  type Level,
  type Micros,
} from '@priorbook/sdk/domain'
import {
  decimalOf,
  isNoTime,
  readArray,
  readId,
  readObject,
  readTime,
  readUnixTime,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'

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

/** Readers of fields whose form is venue A's own; the general ones are in `../capture/fields.ts`. */

// Frames of a few hundred markets come 5–8 times a second: each market shares one value. Bounded, so
// that a venue that invents ids cannot fill the memory.
const MAX_INSTRUMENTS = 4096
const instruments = new Map<string, Instrument>()

/** The instrument of a market's book: venue A has one order book per market, that of outcome 0. */
export function bookInstrument(marketId: string): Instrument {
  const known = instruments.get(marketId)
  if (known !== undefined) return known
  const instrument: Instrument = { venue: 'venuea', market: marketId, key: marketId }
  if (instruments.size >= MAX_INSTRUMENTS) instruments.delete(instruments.keys().next().value!)
  instruments.set(marketId, instrument)
  return instrument
}

/** Reads an identifier that the venue writes as a whole number or as text. */
export function readVenueId(value: unknown, name: string): string {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return parseNativeId(String(value))
    throw new PriorbookError('invalid_id', `${name} is ${show(value)}, not an identifier`)
  }
  return readId(value, name)
}

/** Reads an identifier that may be missing. */
export function optionalVenueId(value: unknown, name: string): string | undefined {
  return value === undefined || value === null || value === ''
    ? undefined
    : readVenueId(value, name)
}

/** Reads a time in milliseconds (Binance) or as RFC 3339 text (Predict.fun) that may be missing. */
export function optionalTime(value: unknown, name: string): Micros | undefined {
  if (isNoTime(value) || value === 0) return undefined
  return typeof value === 'string' ? readTime(value, name) : readUnixTime(value, name, 1000)
}

// Longer than any decimal text a venue sends; the decimal readers are slow on megabytes.
const MAX_DECIMAL_CHARS = 64

/** Reads decimal text of any precision (volume, liquidity, a reference price) that may be missing. */
export function optionalDecimal(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return canonicalDecimal(shortDecimal(value, name))
}

/** Max decimals of a sample on the tape. */
const SAMPLE_DECIMALS = 8

/** Reads the value of a metric that may be missing: canonical text, exact to 10^−8. */
export function optionalMetric(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return printScaled(parseScaled(shortDecimal(value, name), SAMPLE_DECIMALS), SAMPLE_DECIMALS)
}

/** Reads true or false that may be missing. */
export function optionalFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function shortDecimal(value: unknown, name: string): string {
  const text = decimalText(decimalOf(value, name))
  if (text.length > MAX_DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return text
}
