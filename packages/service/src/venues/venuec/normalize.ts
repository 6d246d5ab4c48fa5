import { PriorbookError } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, Normalized, Normalizer } from '../capture/contract.ts'
import { show, type NativeObject } from '../capture/fields.ts'
import { normalizeClobMarkets, normalizeGammaEvents, normalizeGammaMarkets } from './catalog.ts'
import { normalizeFrame } from './frame.ts'
import { normalizeBookAnswer, normalizeBooksAnswer } from './orderbook.ts'

/**
 * Counts changes of what venue C's normalizer says of the same bytes; stored with every chunk.
 * 2: of a change with a broken entry no half becomes a row.
 */
export const VENUEC_NORMALIZER_VERSION = 2

/** Creates venue C's normalizer; it has no memory, so one serves everybody. */
export function createVenueCNormalizer(): Normalizer {
  return {
    version: VENUEC_NORMALIZER_VERSION,
    frame: normalizeFrame,
    answer: normalizeAnswer,
    suspects: suspectsOf,
  }
}

function normalizeAnswer(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  switch (request.kind) {
    case 'gamma_markets':
    case 'gamma_market':
      return normalizeGammaMarkets(value, at)
    case 'gamma_events':
    case 'gamma_event':
      return normalizeGammaEvents(value, at)
    case 'clob_markets':
    case 'clob_market':
      return normalizeClobMarkets(value, at)
    case 'clob_book':
      return { events: [normalizeBookAnswer(request, value, at)], problems: [] }
    case 'clob_books':
      return normalizeBooksAnswer(value, at)
    default:
      throw new PriorbookError('unknown_event', `venue C has no request ${show(request.kind)}`)
  }
}

// What names a token closes its book by itself; here is only what names none. A type that is not
// known concerns no book, but what has the fields of a book and cannot be placed concerns any.
function suspectsOf(value: unknown): 'all' | 'none' {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'all'
  const { event_type: type } = value as NativeObject
  if (typeof type === 'string') return BOOK_TYPES.has(type) ? 'all' : 'none'
  return ['bids', 'asks', 'price_changes', 'changes'].some((name) => name in value) ? 'all' : 'none'
}

const BOOK_TYPES: ReadonlySet<string> = new Set(['book', 'price_change', 'tick_size_change'])
