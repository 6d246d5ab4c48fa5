import { PriorbookError, type BookSnapshot, type Micros, type Sample } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, Normalized, Normalizer } from '../capture/contract.ts'
import { readArray, readObject, show, wrong } from '../capture/fields.ts'
import {
  normalizePredictCatalog,
  normalizeSearch,
  normalizeTopic,
  normalizeTopics,
} from './catalog.ts'
import {
  BOOK_TOPIC,
  bookInstrument,
  optionalMetric,
  optionalVenueId,
  parseFrame,
  parseLadder,
  parsePredictBook,
  readBookTime,
  readVenueId,
  type NativeLadder,
} from './native.ts'
import { normalizeChain } from './chain/normalize.ts'
import { hasBooks } from '../capture/selection/selection.ts'
import { heedSelection } from '../capture/selection/told.ts'
import { isChainRequest } from './chain/requests.ts'
import { normalizePastTopic, normalizePastTopics } from './past.ts'

/**
 * Incremented when venue A's normalizer derives other events from the same bytes; stored with every chunk.
 * 2: prices have up to six decimals; records have exchange fields and, where the venue says it, the time of
 * the resolution.
 */
const VENUEA_NORMALIZER_VERSION = 2

const NOTHING: Normalized = { events: [], problems: [] }

/**
 * Creates the normalizer of venue A. Books are the ladder of outcome 0 (Up, Yes), as the socket and
 * Predict.fun send it; the other outcome is its complement and is not requested.
 */
export function createVenueANormalizer(): Normalizer {
  return {
    version: VENUEA_NORMALIZER_VERSION,
    frame(value, at) {
      const frame = parseFrame(value)
      if (frame.type === 'control') return NOTHING
      return only(toSnapshot(frame.marketId, frame, frame.time, at))
    },
    answer(request, value, at) {
      if (isChainRequest(request)) return normalizeChain(request, value, at)
      switch (request.kind) {
        case 'topics':
          return keepSelected(request, normalizeTopics(value, at, categoryOf(request)))
        case 'topic':
          return keepSelected(request, normalizeTopic(value, at, categoryOf(request)))
        case 'search':
          return normalizeSearch(value, at)
        case 'past_topics':
          return normalizePastTopics(request, value, at)
        case 'past_topic':
          return normalizePastTopic(request, value, at)
        case 'categories':
          readArray(readObject(value, 'the answer')['categories'], 'categories')
          return NOTHING
        case 'book':
          return only(toBook(request, value, at))
        case 'last_trade':
          return toLastTrade(request, value, at)
        case 'predict_market':
          return normalizePredictCatalog(value, at)
        case 'predict_book':
          return only(toPredictBook(request, value, at))
        default:
          throw new PriorbookError(
            'unknown_event',
            `venue A has no request of kind ${show(request.kind)}`,
          )
      }
    },
    suspects,
  }
}

// Topics do not say the category under which they are listed.
function categoryOf({ category }: CaptureRequest): string | undefined {
  return typeof category === 'string' ? category : undefined
}

// Values of markets without books are not recorded either.
function keepSelected(request: CaptureRequest, read: Normalized): Normalized {
  const { events, problems } = heedSelection(request, read)
  if (request['captured'] === undefined) return { events, problems }
  const sampled = new Set(
    events.flatMap((event) =>
      event.kind === 'market' && hasBooks(event.record.capture?.tier ?? 'full')
        ? [event.record.marketId]
        : [],
    ),
  )
  return {
    events: events.filter(
      (event) => event.kind !== 'sample' || sampled.has(event.instrument.market),
    ),
    problems,
  }
}

// Every message is a full book, so a malformed one concerns only its own market.
function suspects(value: unknown): 'none' | readonly string[] {
  const topic = (value as { topic?: unknown } | null | undefined)?.topic
  if (typeof topic !== 'string' || !topic.startsWith(BOOK_TOPIC)) return 'none'
  return [topic.slice(BOOK_TOPIC.length)]
}

function only(event: BookSnapshot | Sample): Normalized {
  return { events: [event], problems: [] }
}

function toSnapshot(
  marketId: string,
  { bids, asks }: NativeLadder,
  source: Micros | undefined,
  { received, journal }: Arrival,
): BookSnapshot {
  const instrument = bookInstrument(marketId)
  // Hot path: two literals, so that each event is one allocation without a later assignment.
  return source === undefined
    ? { kind: 'snapshot', instrument, bids, asks, received, journal }
    : { kind: 'snapshot', instrument, bids, asks, received, source, journal }
}

// {outcome, tokenId, timestamp, bids, asks}; the answer does not name its market.
function toBook(request: CaptureRequest, value: unknown, at: Arrival): BookSnapshot {
  const marketId = readVenueId(request['market_id'], 'market_id')
  const outcome = request['outcome_index']
  if (outcome !== 0)
    throw wrong('outcome_index', outcome, '0, the only outcome whose books are kept')
  const book = readObject(value, 'the order book')
  const requested = optionalVenueId(request['token_id'], 'token_id')
  const said = optionalVenueId(book['tokenId'], 'tokenId')
  if (requested !== undefined && said !== undefined && said !== requested) {
    throw wrong('tokenId', said, `the requested token, ${requested}`)
  }
  const source = readBookTime(book['timestamp'], 'timestamp')
  return toSnapshot(marketId, parseLadder(book), source, at)
}

// {success, data: {marketId, updateTimestampMs, asks, bids, …}}
function toPredictBook(request: CaptureRequest, value: unknown, at: Arrival): BookSnapshot {
  const data = readObject(readObject(value, 'the answer')['data'], 'data')
  const book = parsePredictBook(data, readVenueId(request['market_id'], 'market_id'))
  return toSnapshot(book.marketId, book, book.time, at)
}

// {marketId, lastTradePrice}: outcome 0, without a time, and without a price before the first trade.
function toLastTrade(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  const market = readVenueId(request['market_id'], 'market_id')
  const key = readVenueId(request['token_id'], 'token_id')
  const answer = readObject(value, 'the last trade')
  const said = readVenueId(answer['marketId'], 'marketId')
  if (said !== market) throw wrong('marketId', said, `the requested market, ${market}`)
  const price = optionalMetric(answer['lastTradePrice'], 'lastTradePrice')
  if (price === undefined) return NOTHING
  const { received, journal } = at
  const instrument = { venue: 'venuea' as const, market, key }
  return only({ kind: 'sample', instrument, metric: 'last_trade', value: price, received, journal })
}
