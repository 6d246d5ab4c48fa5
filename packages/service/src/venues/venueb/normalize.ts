import {
  FLAGS,
  PriorbookError,
  type BookChange,
  type BookSnapshot,
  type TapeEvent,
  type Trade,
} from '@priorbook/sdk/domain'
import type {
  Arrival,
  CaptureRequest,
  MessageProblem,
  Normalized,
  Normalizer,
} from '../capture/contract.ts'
import {
  isObject,
  isNoTime,
  readArray,
  readId,
  readObject,
  readTime,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { asPastTrades } from '../capture/past-trades.ts'
import { heedSelection } from '../capture/selection/told.ts'
import { normalizeCandles } from './candles.ts'
import { contextOf, normalizeCatalogAnswer } from './catalog.ts'
import { readInstrument } from './fields.ts'
import { isLifecycle, normalizeLifecycle } from './lifecycle.ts'
import {
  complement,
  parseBook,
  parseMessage,
  parsePrint,
  toAsks,
  type NativeDelta,
  type NativeSnapshot,
  type NativeTrade,
} from './native.ts'

/**
 * Incremented when venue B's normalizer derives other events from the same bytes; stored with every
 * chunk. 2: lifecycle messages are market revisions. 3: records have asset, window, strike and
 * reference, and tickers that the venue does not name follow from the market's. 4: trades have what their
 * message said. 5: records have the event's facts, category and tags. 6: candlesticks of the archive have
 * values.
 */
export const VENUEB_NORMALIZER_VERSION = 6

/** Creates the normalizer of venue B: messages of its socket and answers of its REST interface. */
export function createVenueBNormalizer(): Normalizer {
  return {
    version: VENUEB_NORMALIZER_VERSION,
    frame: normalizeFrame,
    answer: normalizeAnswer,
    suspects,
  }
}

const NO_EVENTS: readonly TapeEvent[] = []
const NO_PROBLEMS: readonly MessageProblem[] = []
const NOTHING: Normalized = { events: NO_EVENTS, problems: NO_PROBLEMS }

function normalizeFrame(value: unknown, at: Arrival): Normalized {
  if (isLifecycle(value)) return only(normalizeLifecycle(value, at))
  const events = normalizeVenueB(value, at)
  return events.length === 0 ? NOTHING : { events, problems: NO_PROBLEMS }
}

/**
 * Converts one message of venue B's socket to book and trade events. Bids are the yes ladder and asks
 * the complement of the no ladder, in the order sent. Messages without book or trade data give an empty
 * list; malformed ones throw PriorbookError.
 */
export function normalizeVenueB(event: unknown, at: Arrival): readonly TapeEvent[] {
  const message = parseMessage(event)
  switch (message.type) {
    case 'orderbook_delta':
      return [toChange(message, at)]
    case 'orderbook_snapshot':
      return [toSnapshot(message, at)]
    case 'trade':
      return [toTrade(message, at)]
    case 'control':
      break
  }
  return NO_EVENTS
}

// Only order book messages change books, and each concerns the one market it names.
function suspects(value: unknown): 'all' | 'none' | readonly string[] {
  if (!isObject(value) || typeof value['type'] !== 'string') return 'all'
  if (!value['type'].startsWith('orderbook')) return 'none'
  const { msg } = value
  try {
    return [readId(isObject(msg) ? msg['market_ticker'] : undefined, 'market_ticker')]
  } catch {
    return 'all'
  }
}

function normalizeAnswer(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  switch (request.kind) {
    case 'series':
      // Journaled, but not a fact of one market: requests for markets repeat what they need.
      readObject(readObject(value, 'the series answer')['series'], 'series')
      return NOTHING
    case 'all_series':
      readArray(readObject(value, 'the list of series')['series'], 'series')
      return NOTHING
    case 'events':
    case 'event':
    case 'markets':
    case 'market':
    case 'history_event':
    case 'history_markets': {
      const { events, problems } = normalizeCatalogAnswer(value, at, contextOf(request))
      return heedSelection(request, { events, problems })
    }
    case 'orderbook': {
      const ticker = readId(request['ticker'], 'ticker')
      return only(normalizeOrderbookAnswer(ticker, value, at, depthOf(request)))
    }
    case 'orderbooks':
      return normalizeOrderbooks(value, at, depthOf(request))
    case 'trades':
      return normalizeTradesAnswer(value, at)
    case 'history_candles':
      return normalizeCandles(request, value, at)
    case 'history_trades': {
      const { events, problems } = normalizeTradesAnswer(value, at)
      return asPastTrades(request, request['ticker'], events, problems)
    }
    default:
      throw new PriorbookError('unknown_event', `venue B has no request ${show(request.kind)}`)
  }
}

function toChange(message: NativeDelta, at: Arrival): BookChange {
  const { price, delta: size, time } = message
  const change =
    message.side === 'yes'
      ? { price, size, side: 'bid' as const }
      : { price: complement(price), size, side: 'ask' as const }
  // Hot path: two literals, so that each event is one allocation without a later assignment.
  if (time === undefined) {
    return {
      kind: 'change',
      instrument: message.instrument,
      changes: [change],
      signed: true,
      received: at.received,
      venueSeq: message.seq,
      channel: message.sid,
      journal: at.journal,
    }
  }
  return {
    kind: 'change',
    instrument: message.instrument,
    changes: [change],
    signed: true,
    received: at.received,
    source: time,
    venueSeq: message.seq,
    channel: message.sid,
    journal: at.journal,
  }
}

function toSnapshot(message: NativeSnapshot, at: Arrival): BookSnapshot {
  return {
    kind: 'snapshot',
    instrument: message.instrument,
    bids: message.yes,
    asks: toAsks(message.no),
    received: at.received,
    venueSeq: message.seq,
    channel: message.sid,
    journal: at.journal,
  }
}

function toTrade(message: NativeTrade, at: Arrival): Trade {
  const trade: { -readonly [Key in keyof Trade]: Trade[Key] } = {
    kind: 'trade',
    instrument: message.instrument,
    tradeId: message.tradeId,
    price: message.yesPrice,
    size: message.count,
    received: at.received,
    journal: at.journal,
  }
  if (message.time !== undefined) trade.source = message.time
  if (message.seq !== undefined) trade.venueSeq = message.seq
  if (message.sid !== undefined) trade.channel = message.sid
  if (message.takerSide !== undefined) trade.taker = message.takerSide === 'yes' ? 'buy' : 'sell'
  if (message.said !== undefined) trade.native = message.said
  return trade
}

/**
 * Converts an answer of GET /markets/{ticker}/orderbook, or one item of GET /markets/orderbooks, to a
 * full book. The answer has neither a time nor a sequence number. `depth` is the requested limit (0 or
 * absent: all levels); a side that reaches it may have more levels, so the book is flagged as truncated.
 */
export function normalizeOrderbookAnswer(
  ticker: string,
  answer: unknown,
  at: Arrival,
  depth = 0,
): BookSnapshot {
  const instrument = readInstrument(ticker)
  const object = readObject(answer, 'the order book answer')
  const named = object['ticker'] ?? ticker
  if (named !== ticker) throw wrong('the ticker of the answer', named, ticker)
  const book = parseBook(bookOf(object, ticker))
  const snapshot = {
    kind: 'snapshot' as const,
    instrument,
    bids: book.yes,
    asks: toAsks(book.no),
    received: at.received,
    journal: at.journal,
  }
  const isCut = depth > 0 && (book.yes.length >= depth || book.no.length >= depth)
  return isCut ? { ...snapshot, flags: FLAGS.truncated_upstream } : snapshot
}

// Current: {orderbook_fp}. Until spring 2026: {orderbook}. Demo exchange of 2024: {_yes, _no}, alone
// or under its ticker. hasOwn, because `constructor` is a valid ticker and a member of every object.
function bookOf(answer: NativeObject, ticker: string): NativeObject {
  for (const name of ['orderbook_fp', 'orderbook', ticker]) {
    if (Object.hasOwn(answer, name)) return readObject(answer[name], name)
  }
  if (Object.hasOwn(answer, '_yes') || Object.hasOwn(answer, '_no')) return answer
  throw wrong('the answer', answer, 'an order book')
}

function normalizeOrderbooks(value: unknown, at: Arrival, depth: number): Normalized {
  const books = readArray(readObject(value, 'the order books answer')['orderbooks'], 'orderbooks')
  return normalizeEach(books, 'orderbooks', (book, where) => {
    const ticker = readId(readObject(book, where)['ticker'], 'ticker')
    return normalizeOrderbookAnswer(ticker, book, at, depth)
  })
}

// Oldest first, though the venue sends the newest first. REST trades have no seq: their `trade_id` is
// what identifies those that the socket also sent.
function normalizeTradesAnswer(
  answer: unknown,
  at: Arrival,
): { readonly events: readonly Trade[]; readonly problems: readonly MessageProblem[] } {
  const list = readArray(readObject(answer, 'the trades answer')['trades'], 'trades')
  const { events, problems } = normalizeEach(list, 'trades', (value, where) => {
    const trade = readObject(value, where)
    const created = trade['created_time']
    const print = parsePrint(trade, trade['ticker'] ?? trade['market_ticker'])
    const time = isNoTime(created) ? undefined : readTime(created, 'created_time')
    return toTrade({ type: 'trade', sid: undefined, seq: undefined, ...print, time }, at)
  })
  return { events: events.toSorted((a, b) => (a.source ?? 0) - (b.source ?? 0)), problems }
}

/** Converts every item of a list; a malformed one is reported and does not lose the others. */
function normalizeEach<Event extends TapeEvent>(
  list: readonly unknown[],
  name: string,
  read: (value: unknown, where: string) => Event,
): { readonly events: readonly Event[]; readonly problems: readonly MessageProblem[] } {
  const events: Event[] = []
  const problems: MessageProblem[] = []
  list.forEach((value, index) => {
    const where = `${name}[${index}]`
    try {
      events.push(read(value, where))
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where, error })
    }
  })
  return { events, problems }
}

function depthOf(request: CaptureRequest): number {
  const { depth } = request
  return typeof depth === 'number' ? depth : 0
}

function only(event: TapeEvent): Normalized {
  return { events: [event], problems: NO_PROBLEMS }
}
