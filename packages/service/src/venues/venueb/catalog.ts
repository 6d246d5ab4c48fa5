import {
  canonicalDecimal,
  printScaled,
  PriorbookError,
  VENUES,
  type Json,
  type MarketRecord,
  type MarketRevision,
  type Micros,
  type Resolution,
} from '@priorbook/sdk/domain'
import {
  isObject,
  compact,
  describedFlag,
  describedText,
  describedTexts,
  isNoTime,
  readArray,
  readCounter,
  readId,
  readObject,
  readText,
  readTime,
  type NativeObject,
} from '../capture/fields.ts'
import type { Arrival, MessageProblem } from '../capture/contract.ts'
import { decimal, field, OUTCOMES, payouts } from './fields.ts'
import { MARKET_STATES } from './lifecycle.ts'
import { readTicker, windowOf } from './ticker.ts'

/** The market revisions of a catalogue answer, its malformed parts, and the cursor of the next page. */
export type CatalogAnswer = {
  readonly events: readonly MarketRevision[]
  readonly problems: readonly MessageProblem[]
  readonly cursor?: string
}

/** What the request says beside the answer: the series of all its markets, and facts of series. */
export type CatalogContext = {
  readonly seriesTicker?: string
  /** The series of single markets, by their tickers. */
  readonly seriesOf?: ReadonlyMap<string, string>
  readonly series?: SeriesFacts
}

/**
 * Converts an answer of GET /events/{ticker}, /events, /markets/{ticker} or /markets:
 * `{event, markets}`, `{event: {…, markets}}`, `{events: […], cursor}`, `{market}` or
 * `{markets, cursor}`. An answer of another shape throws; a malformed market is reported as a problem
 * and does not lose the others.
 */
export function normalizeCatalogAnswer(
  answer: unknown,
  at: Arrival,
  context: CatalogContext = {},
): CatalogAnswer {
  const object = readObject(answer, 'the catalogue answer')
  const reader = new CatalogReader(at, context)
  if (object['event'] !== undefined) {
    reader.readEvent(object['event'], 'event', object['markets'])
  } else if (object['events'] !== undefined) {
    readArray(object['events'], 'events').forEach((event, index) => {
      reader.readEvent(event, `events[${index}]`, undefined)
    })
  } else if (object['market'] !== undefined) {
    reader.readMarket(object['market'], 'market', undefined)
  } else {
    reader.readMarkets(object['markets'], 'markets', undefined)
  }
  const { events, problems } = reader
  const cursor = readText(object['cursor'], 'cursor')
  return cursor === undefined ? { events, problems } : { events, problems, cursor }
}

/** The fields of an event that its markets need; `own` is the event without its markets. */
type NativeEvent = {
  readonly ticker: string
  readonly seriesTicker: string | undefined
  readonly title: string | undefined
  readonly sources: string | undefined
  readonly isExclusive: boolean | undefined
  readonly category: string | undefined
  readonly own: NativeObject
}

class CatalogReader {
  readonly events: MarketRevision[] = []
  readonly problems: MessageProblem[] = []
  readonly #at: Arrival
  readonly #context: CatalogContext

  constructor(at: Arrival, context: CatalogContext) {
    this.#at = at
    this.#context = context
  }

  /** Markets come beside the event or, when requested as nested, inside it. */
  readEvent(value: unknown, where: string, beside: unknown): void {
    const event = this.#attempt(where, () => parseEvent(value))
    if (!isEmptyList(beside)) {
      this.#attempt('markets', () => this.readMarkets(beside, 'markets', event))
    } else if (isObject(value) && !isEmptyList(value['markets'])) {
      const nested = `${where}.markets`
      this.#attempt(nested, () => this.readMarkets(value['markets'], nested, event))
    }
  }

  readMarkets(value: unknown, where: string, event: NativeEvent | undefined): void {
    readArray(value, where).forEach((market, index) => {
      this.readMarket(market, `${where}[${index}]`, event)
    })
  }

  readMarket(value: unknown, where: string, event: NativeEvent | undefined): void {
    const { received, journal } = this.#at
    this.#attempt(where, () => {
      const record = parseMarket(readObject(value, where), event, this.#context)
      this.events.push({ kind: 'market', record, received, journal })
    })
  }

  #attempt<T>(where: string, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.problems.push({ where, error })
      return undefined
    }
  }
}

function parseEvent(value: unknown): NativeEvent {
  const event = readObject(value, 'event')
  const { markets: _markets, ...own } = event
  return {
    ticker: readId(field(event, 'event_ticker'), 'event_ticker'),
    seriesTicker: optionalId(event, 'series_ticker'),
    title: readText(field(event, 'title'), 'title'),
    sources: sourceNames(event['settlement_sources']),
    isExclusive: describedFlag(event['mutually_exclusive']),
    category: describedText(event['category']),
    own,
  }
}

function parseMarket(
  market: NativeObject,
  answered: NativeEvent | undefined,
  context: CatalogContext,
): MarketRecord {
  const marketId = readId(field(market, 'ticker'), 'ticker')
  const eventTicker = optionalId(market, 'event_ticker') ?? answered?.ticker
  // A market of another event must not inherit this event's series.
  const event = answered?.ticker === eventTicker ? answered : undefined
  const statusNative = readText(field(market, 'status'), 'status')
  const state = statusNative === undefined ? undefined : MARKET_STATES.get(statusNative)
  const result = readText(field(market, 'result'), 'result')
  const value =
    decimal(market, 'settlement_value_dollars') ?? centsAsDollars(market, 'settlement_value')
  const settledTime = time(market, 'settlement_ts')
  const [openTime, closeTime] = [time(market, 'open_time'), time(market, 'close_time')]
  const series =
    event?.seriesTicker ??
    optionalId(market, 'series_ticker') ??
    context.seriesOf?.get(marketId) ??
    context.seriesTicker
  const named = readTicker(marketId, { series, event: eventTicker })
  const facts = context.series?.get(series ?? named.seriesTicker ?? '')
  const strike = strikeOf(market) ?? named.strike
  return compact<MarketRecord>({
    venue: 'venueb',
    marketId,
    title: readText(field(market, 'title'), 'title') ?? event?.title,
    status: state?.status,
    statusNative,
    openTime,
    closeTime,
    resolvedTime: settledTime,
    createdTime: time(market, 'created_time'),
    resolution:
      state === undefined
        ? undefined
        : compact<Resolution>({
            state: state.resolution,
            source: event?.sources,
            reference: referenceOf(market, event, named.window === undefined ? undefined : strike),
            payouts: value === undefined ? undefined : payouts(value),
            times: settledTime === undefined ? undefined : { settled: settledTime },
          }),
    winningOutcome: result === 'yes' ? 'Yes' : result === 'no' ? 'No' : undefined,
    volume: decimal(market, 'volume_fp') ?? decimal(market, 'volume'),
    liquidity: decimal(market, 'liquidity_dollars') ?? centsAsDollars(market, 'liquidity'),
    outcomes: OUTCOMES,
    units: VENUES.venueb.units,
    ...named,
    window: named.window ?? windowOf(openTime, closeTime),
    strike,
    event: eventOf(market, event),
    category: event?.category ?? facts?.category,
    tags: facts?.tags,
    settlement: compact<NonNullable<MarketRecord['settlement']>>({
      result,
      value,
      settledTime,
      expirationValue: readText(field(market, 'expiration_value'), 'expiration_value'),
    }),
    native: {
      ...nativeOf(market, event),
      ...(facts?.fees === undefined ? {} : { series: facts.fees }),
    },
  })
}

function eventOf(market: NativeObject, event: NativeEvent | undefined): MarketRecord['event'] {
  const shared = compact<NonNullable<MarketRecord['event']>>({
    title: event?.title,
    outcome: describedText(market['yes_sub_title']),
    isExclusive: event?.isExclusive,
  })
  return Object.keys(shared).length === 0 ? undefined : shared
}

// A market between two strikes has no single price that decides it.
function strikeOf(market: NativeObject): string | undefined {
  const type = field(market, 'strike_type')
  if (type === 'between' || type === 'structured' || type === 'custom') return undefined
  const isBelow = typeof type === 'string' && type.startsWith('less')
  return decimal(market, isBelow ? 'cap_strike' : 'floor_strike')
}

// A round compares two prices of the underlying: its strike is the one at its start.
function referenceOf(
  market: NativeObject,
  event: NativeEvent | undefined,
  startPrice: string | undefined,
): Resolution['reference'] {
  const end = readText(field(market, 'expiration_value'), 'expiration_value')
  const reference = compact<NonNullable<Resolution['reference']>>({
    feed: event?.sources,
    startPrice,
    endPrice: end !== undefined && PLAIN_DECIMAL.test(end) ? canonicalDecimal(end) : undefined,
  })
  return Object.keys(reference).length === 0 ? undefined : reference
}

const PLAIN_DECIMAL = /^\d{1,15}(?:\.\d{1,8})?$/

function isEmptyList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function optionalId(object: NativeObject, name: string): string | undefined {
  const value = field(object, name)
  return value === undefined || value === null || value === '' ? undefined : readId(value, name)
}

// A time that Micros cannot hold, such as a close in the year 9999, is omitted; native keeps it.
function time(object: NativeObject, name: string): Micros | undefined {
  const value = field(object, name)
  if (isNoTime(value)) return undefined
  const year = typeof value === 'string' && /^\d{4}-/.test(value) ? Number(value.slice(0, 4)) : NaN
  return year < 1970 || year > 2254 ? undefined : readTime(value, name)
}

// The old form of an amount: whole cents.
function centsAsDollars(object: NativeObject, name: string): string | undefined {
  const value = field(object, name)
  if (value === undefined || value === null) return undefined
  return printScaled(readCounter(value, name), 2)
}

function sourceNames(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  const names = value.flatMap((source: unknown) =>
    isObject(source) && typeof source['name'] === 'string' ? [source['name']] : [],
  )
  return names.length === 0 ? undefined : names.join(', ')
}

// Everything the venue sent, under its own names, including the fields mapped above.
function nativeOf(market: NativeObject, event: NativeEvent | undefined): MarketRecord['native'] {
  // The values come from JSON.parse, so they are JSON.
  return event === undefined
    ? { market: market as Json }
    : { market: market as Json, event: event.own as Json }
}

/** What a series charges, in the venue's own words: the fee formula and its multiplier. */
type SeriesFees = { readonly fee_type?: Json; readonly fee_multiplier?: Json }

/** What markets take from their series, which no answer about markets repeats. */
export type OneSeries = {
  readonly fees?: SeriesFees
  readonly category?: string
  readonly tags?: readonly string[]
}

/** Facts of series by ticker. */
type SeriesFacts = ReadonlyMap<string, OneSeries>

const FEE_FIELDS = ['fee_type', 'fee_multiplier'] as const

/** Reads an object of a series, as the venue sends it or as a request repeats it. */
export function readSeries(series: unknown): OneSeries {
  if (!isObject(series)) return {}
  return compact<OneSeries>({
    fees: readFees(series),
    category: describedText(series['category']),
    tags: describedTexts(series['tags']),
  })
}

/** Reads the facts of series that a request repeats. */
function readSeriesFacts(request: Readonly<Record<string, unknown>>): SeriesFacts {
  const { facts, fees, series } = request
  // Requests of one series had its fees alone before facts of several were kept.
  if (typeof series === 'string' && fees !== undefined) return new Map([[series, readSeries(fees)]])
  if (!isObject(facts)) return new Map()
  return new Map(Object.entries(facts).map(([ticker, said]) => [ticker, readSeries(said)]))
}

/** Reads the series of single markets that a request names. */
function readSeriesOf(request: Readonly<Record<string, unknown>>): Map<string, string> {
  const { series_of: said } = request
  if (!isObject(said)) return new Map()
  return new Map(
    Object.entries(said).flatMap(([ticker, series]) =>
      typeof series === 'string' ? [[ticker, series] as const] : [],
    ),
  )
}

/** What a request says of the markets of its answer. */
export function contextOf(request: Readonly<Record<string, unknown>>): CatalogContext {
  const { series } = request
  return {
    ...(typeof series === 'string' ? { seriesTicker: series } : {}),
    seriesOf: readSeriesOf(request),
    series: readSeriesFacts(request),
  }
}

/** A series as a request repeats it. */
export function toRequestSeries({ fees, category, tags }: OneSeries): Json {
  return {
    ...fees,
    ...(category === undefined ? {} : { category }),
    ...(tags === undefined ? {} : { tags }),
  }
}

// Only strings and numbers are kept.
function readFees(series: NativeObject): SeriesFees | undefined {
  const fees = FEE_FIELDS.flatMap((name) => {
    const value = series[name]
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
  })
  return fees.length === 0 ? undefined : Object.fromEntries(fees)
}
