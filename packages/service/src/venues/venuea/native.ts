import { PriorbookError, type Micros } from '@priorbook/sdk/domain'
import {
  isNoTime,
  readObject,
  readUnixTime,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { optionalVenueId, readVenueId } from './fields.ts'
import { parseLadder, type NativeLadder } from './levels.ts'

/** The whole book of one market, with the venue's clock. */
export type NativeBook = NativeLadder & {
  readonly type: 'book'
  readonly marketId: string
  readonly time: Micros | undefined
}

/** A frame that is known and says nothing of a book. */
export type NativeControl = { readonly type: 'control'; readonly name: string }

/** Every frame of venue A's sockets. */
export type NativeFrame = NativeBook | NativeControl

/** What stands in front of the market id in a topic of the Binance socket. */
export const BOOK_TOPIC = 'web3_prediction_orderbook_'

// The topic that carries the books of all active markets.
const ALL_BOOKS = `${BOOK_TOPIC}data`
const PREDICT_BOOK_TOPIC = 'predictOrderbook/'

// Answers to commands and heartbeats of the Binance gateway; `R` answers a Predict.fun request.
const CONTROL_TYPES: ReadonlySet<string> = new Set(['COMMAND', 'PING', 'PONG', 'HEARTBEAT', 'R'])

// Topics of Predict.fun that are documented and carry no book.
const PREDICT_CONTROL = [
  'heartbeat',
  'predictTradingStatus/',
  'assetPriceUpdate/',
  'polymarketChance/',
  'kalshiChance/',
]

/** Reads one frame, already parsed from JSON; throws PriorbookError alone. */
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

/** Reads a book of Predict.fun, of its socket or of its REST interface. */
export function parsePredictBook(book: NativeObject, marketId: string): NativeBook {
  const asked = readVenueId(marketId, 'the market asked for')
  const said = optionalVenueId(book['marketId'], 'marketId') ?? asked
  if (said !== asked) throw wrong('marketId', said, `the market asked for, ${asked}`)
  return {
    type: 'book',
    marketId: said,
    time: readBookTime(book['updateTimestampMs'], 'updateTimestampMs'),
    ...parseLadder(book),
  }
}

/** Reads the clock of a book in milliseconds; absent where the venue left it out. */
export function readBookTime(value: unknown, name: string): Micros | undefined {
  return isNoTime(value) ? undefined : readUnixTime(value, name, 1000)
}

// `data` is a JSON text inside the JSON of the frame.
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
    throw new PriorbookError('invalid_message', 'data is text that is no JSON', { cause: error })
  }
}
