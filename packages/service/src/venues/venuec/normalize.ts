import {
  PriorbookError,
  type BookChange,
  type BookReset,
  type BookSnapshot,
  type Instrument,
  type Micros,
  type TapeEvent,
} from '@priorbook/sdk/domain'
import type {
  Arrival,
  CaptureRequest,
  MessageProblem,
  Normalized,
  Normalizer,
} from '../capture/contract.ts'
import { readArray, readObject, show, wrong, type NativeObject } from '../capture/fields.ts'
import { announcedMarket } from './gamma.ts'
import { normalizeClobMarkets, normalizeGammaEvents, normalizeGammaMarkets } from './catalog.ts'
import { asPastTrades } from '../capture/past-trades.ts'
import { heedSelection } from '../capture/selection/told.ts'
import { normalizeDataTrades } from './data-trades.ts'
import { readInstrument, readMillis } from './fields.ts'
import {
  foldChanges,
  parseLadders,
  parseMessage,
  spoiledBooks,
  type NativeLadders,
  type NativeMessage,
  type SidedLevel,
} from './native.ts'
import { toTrade } from './to-trade.ts'
import { normalizePricesHistory } from './past-prices.ts'
import { isReferenceMessage, normalizeReference, referenceOf } from './reference.ts'

/**
 * The version of venue C's normalizer, stored with every chunk.
 * 2: a change with a malformed entry becomes no row, instead of a part of it. 3: trades have what their
 * message said. 4: records have the event's facts, category and tags. 5: markets other than rounds open with
 * their listing, and not with the match that they are about.
 */
const VENUEC_NORMALIZER_VERSION = 5

/** Creates venue C's normalizer, which is stateless. */
export function createVenueCNormalizer(): Normalizer {
  return {
    version: VENUEC_NORMALIZER_VERSION,
    frame: normalizeFrame,
    answer: normalizeAnswer,
    suspects: (value) => {
      const reference = referenceOf(value)
      return reference === undefined ? suspectsOf(value) : [reference.key]
    },
  }
}

function normalizeAnswer(request: CaptureRequest, value: unknown, at: Arrival): Normalized {
  switch (request.kind) {
    case 'gamma_markets':
    case 'gamma_market':
    case 'history_gamma_markets':
      return heedSelection(request, normalizeGammaMarkets(value, at))
    case 'gamma_events':
    case 'gamma_event':
    case 'history_gamma_event':
      return heedSelection(request, normalizeGammaEvents(value, at))
    case 'clob_markets':
    case 'clob_market':
      return normalizeClobMarkets(value, at)
    case 'history_prices':
      return normalizePricesHistory(request, value, at)
    case 'history_trades': {
      const { trades, problems } = normalizeDataTrades(request, value, at)
      return asPastTrades(request, request['condition_id'], trades, problems)
    }
    case 'clob_book':
      return { events: [normalizeBookAnswer(request, value, at)], problems: [] }
    case 'clob_books':
      return normalizeBooksAnswer(request, value, at)
    default:
      throw new PriorbookError('unknown_event', `venue C has no request ${show(request.kind)}`)
  }
}

// Malformed messages that name tokens close their books by resets, so only those without a token arrive
// here. An unknown type concerns no book, but a message without a type and with the fields of a book may
// concern any.
function suspectsOf(value: unknown): 'all' | 'none' {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'all'
  const { event_type: type } = value as NativeObject
  if (typeof type === 'string') return BOOK_TYPES.has(type) ? 'all' : 'none'
  return ['bids', 'asks', 'price_changes', 'changes'].some((name) => name in value) ? 'all' : 'none'
}

const BOOK_TYPES: ReadonlySet<string> = new Set(['book', 'price_change', 'tick_size_change'])

/**
 * Normalizes one frame of the market channel, an object or a list of objects. Everything that a frame
 * says of a token's book is merged in order, so that a token gets at most one observation. A malformed
 * object is a problem and a reset of the books that it concerns; the other objects count.
 */
function normalizeFrame(value: unknown, at: Arrival): Normalized {
  if (isReferenceMessage(value)) return normalizeReference(value, at)
  const reader = new FrameReader(at)
  if (Array.isArray(value)) {
    value.forEach((one: unknown, index) => reader.read(one, `[${index}]`))
    return reader.finish()
  }
  reader.read(value, '')
  const said = reader.finish()
  // A frame with a single, malformed object is malformed as a whole.
  if (said.events.length === 0 && said.problems.length === 1) throw said.problems[0]!.error
  return said
}

/** What the objects of a frame so far said of one token's book. */
type MergedBook = {
  readonly instrument: Instrument
  full: NativeLadders | undefined
  changes: SidedLevel[]
  claims: BookChange['claims'] | undefined
  time: Micros | undefined
  /** The book is closed here, until the next full one. */
  reset: { readonly reason: BookReset['reason']; readonly time: Micros | undefined } | undefined
  /** Changes after the reset, which the recorder counts as unapplied. */
  later: SidedLevel[]
}

class FrameReader {
  readonly #at: Arrival
  readonly #events: TapeEvent[] = []
  readonly #problems: MessageProblem[] = []
  readonly #books = new Map<string, MergedBook>()

  constructor(at: Arrival) {
    this.#at = at
  }

  read(value: unknown, where: string): void {
    let message: NativeMessage
    try {
      message = parseMessage(value)
      this.#take(message, where)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      const spoiled = spoiledBooks(value)
      const concernsAllBooks = spoiled.length === 0 && suspectsOf(value) === 'all'
      this.#problems.push({ where, error, ...(concernsAllBooks ? { concernsAllBooks } : {}) })
      for (const instrument of spoiled) this.#reset(instrument, 'rejected', undefined)
    }
  }

  finish(): Normalized {
    for (const book of this.#books.values()) this.#finishBook(book)
    return { events: this.#events, problems: this.#problems }
  }

  #take(message: NativeMessage, where: string): void {
    switch (message.type) {
      case 'price_change':
        // Malformed entries first: the other entries of the same book would be half a change.
        for (const entry of message.entries) {
          if ('level' in entry) continue
          const { instrument, error } = entry
          if (instrument === undefined)
            this.#problems.push({ where, error, concernsAllBooks: true })
          else {
            this.#problems.push({ where: instrument.key, error })
            this.#reset(instrument, 'rejected', message.time)
          }
        }
        for (const entry of message.entries) {
          if (!('level' in entry)) continue
          this.#change(entry.instrument, entry.level, entry.claims, message.time)
        }
        return
      case 'book': {
        const { instrument, bids, asks, time } = message
        // A full book supersedes what the frame said of this token before.
        this.#books.set(instrument.key, { ...emptyBook(instrument), full: { bids, asks }, time })
        return
      }
      case 'tick_size_change':
        this.#reset(message.instrument, 'book_reset', message.time)
        return
      case 'last_trade_price':
        this.#events.push(toTrade(message, this.#at))
        return
      case 'new_market':
      case 'market_resolved': {
        const record = announcedMarket(message)
        if (record !== undefined) {
          this.#events.push({ kind: 'market', record, ...this.#provenance(message.time) })
        }
        return
      }
      case 'best_bid_ask':
        return
    }
  }

  #bookOf(instrument: Instrument): MergedBook {
    const known = this.#books.get(instrument.key)
    if (known !== undefined) return known
    const book = emptyBook(instrument)
    this.#books.set(instrument.key, book)
    return book
  }

  #change(
    instrument: Instrument,
    level: SidedLevel,
    claims: BookChange['claims'] | undefined,
    time: Micros | undefined,
  ): void {
    const book = this.#bookOf(instrument)
    if (book.reset !== undefined) {
      book.later.push(level)
      return
    }
    book.changes.push(level)
    book.claims = claims
    book.time = time ?? book.time
  }

  #reset(instrument: Instrument, reason: BookReset['reason'], time: Micros | undefined): void {
    this.#bookOf(instrument).reset ??= { reason, time }
  }

  #finishBook({ instrument, full, changes, claims, time, reset, later }: MergedBook): void {
    const provenance = this.#provenance(time)
    if (full !== undefined) {
      const ladders = changes.length === 0 ? full : foldChanges(full, changes)
      const { bids, asks } = ladders
      const snapshot: BookSnapshot = { kind: 'snapshot', instrument, bids, asks, ...provenance }
      this.#events.push(snapshot)
    } else if (changes.length > 0) {
      const change = { kind: 'change' as const, instrument, changes, signed: false, ...provenance }
      this.#events.push(claims === undefined ? change : { ...change, claims })
    }
    if (reset === undefined) return
    const after = this.#provenance(reset.time)
    this.#events.push({ kind: 'reset', instrument, reason: reset.reason, ...after })
    if (later.length === 0) return
    this.#events.push({ kind: 'change', instrument, changes: later, signed: false, ...after })
  }

  #provenance(time: Micros | undefined): Arrival & { readonly source?: Micros } {
    const { received, journal } = this.#at
    return time === undefined ? { received, journal } : { received, source: time, journal }
  }
}

function emptyBook(instrument: Instrument): MergedBook {
  return {
    instrument,
    full: undefined,
    changes: [],
    claims: undefined,
    time: undefined,
    reset: undefined,
    later: [],
  }
}

/**
 * Normalizes an answer of GET /book. Market and token are those of the request where the answer does not
 * name them; an answer that names others is malformed.
 */
function normalizeBookAnswer(request: CaptureRequest, answer: unknown, at: Arrival): BookSnapshot {
  const object = readObject(answer, 'the order book')
  const asset = object['asset_id'] ?? request['token_id']
  const market = object['market'] ?? request['condition_id']
  if (request['token_id'] !== undefined && asset !== request['token_id']) {
    throw wrong('asset_id', asset, 'the token that was asked for')
  }
  if (request['condition_id'] !== undefined && market !== request['condition_id']) {
    throw wrong('market', market, 'the market that was asked for')
  }
  const instrument = readInstrument(market, asset)
  const source = readMillis(object['timestamp'], 'timestamp')
  const { bids, asks } = parseLadders(object)
  const { received, journal } = at
  const book = { kind: 'snapshot' as const, instrument, bids, asks, received, journal }
  return source === undefined ? book : { ...book, source }
}

/** Normalizes an answer of POST /books, a list of books; a malformed one is a problem. */
function normalizeBooksAnswer(request: CaptureRequest, answer: unknown, at: Arrival): Normalized {
  const events: BookSnapshot[] = []
  const problems: MessageProblem[] = []
  readArray(answer, 'the order books').forEach((book, index) => {
    try {
      const said = normalizeBookAnswer({ kind: 'clob_books' }, book, at)
      events.push(request['polled'] === true ? { ...said, isPolled: true } : said)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `[${index}]`, error })
    }
  })
  return { events, problems }
}
