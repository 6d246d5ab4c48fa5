import { PriorbookError, type TapeEvent } from '@priorbook/sdk/domain'
import type {
  Arrival,
  CaptureRequest,
  MessageProblem,
  Normalized,
  Normalizer,
} from '../capture/contract.ts'
import { readArray, readId, readObject, show } from '../capture/fields.ts'
import { normalizeCatalogAnswer } from './catalog.ts'
import { isLifecycle, normalizeLifecycle } from './lifecycle.ts'
import { isObject } from './market-fields.ts'
import { normalizeVenueB, VENUEB_NORMALIZER_VERSION } from './normalize.ts'
import { normalizeOrderbookAnswer } from './orderbook.ts'
import { readFees } from './series-fees.ts'
import { normalizeTradesAnswer } from './trades.ts'

/** Creates the normalizer of venue B: messages of its socket and answers of its REST interface. */
export function createVenueBNormalizer(): Normalizer {
  return {
    version: VENUEB_NORMALIZER_VERSION,
    frame: normalizeFrame,
    answer: normalizeAnswer,
    suspects,
  }
}

const NO_PROBLEMS: readonly MessageProblem[] = []
const NOTHING: Normalized = { events: [], problems: NO_PROBLEMS }

function normalizeFrame(value: unknown, at: Arrival): Normalized {
  if (isLifecycle(value)) return only(normalizeLifecycle(value, at))
  const events = normalizeVenueB(value, at)
  return events.length === 0 ? NOTHING : { events, problems: NO_PROBLEMS }
}

// Only order book messages change books, and each is about the one market that it names.
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
      // Kept in the journal, no fact of one market; requests for markets repeat the fees.
      readObject(readObject(value, 'the series answer')['series'], 'series')
      return NOTHING
    case 'events':
    case 'event':
    case 'markets':
    case 'market': {
      const { series } = request
      const fees = readFees(request['fees'])
      const context = {
        ...(typeof series === 'string' ? { seriesTicker: series } : {}),
        ...(fees === undefined ? {} : { fees }),
      }
      const { events, problems } = normalizeCatalogAnswer(value, at, context)
      return { events, problems }
    }
    case 'orderbook': {
      const ticker = readId(request['ticker'], 'ticker')
      return only(normalizeOrderbookAnswer(ticker, value, at, depthOf(request)))
    }
    case 'orderbooks':
      return normalizeOrderbooks(value, at, depthOf(request))
    case 'trades':
      return normalizeTradesAnswer(value, at)
    default:
      throw new PriorbookError('unknown_event', `venue B has no request ${show(request.kind)}`)
  }
}

function normalizeOrderbooks(value: unknown, at: Arrival, depth: number): Normalized {
  const books = readArray(readObject(value, 'the order books answer')['orderbooks'], 'orderbooks')
  const events: TapeEvent[] = []
  const problems: MessageProblem[] = []
  books.forEach((book, index) => {
    const where = `orderbooks[${index}]`
    try {
      const ticker = readId(readObject(book, where)['ticker'], 'ticker')
      events.push(normalizeOrderbookAnswer(ticker, book, at, depth))
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
