import {
  PriorbookError,
  VENUES,
  type Json,
  type MarketRecord,
  type MarketRevision,
  type Micros,
  type Outcome,
  type Resolution,
  type Sample,
} from '@priorbook/sdk/domain'
import type { Arrival, MessageProblem } from '../capture/contract.ts'
import {
  compact,
  readArray,
  readObject,
  readText,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import {
  optionalDecimal,
  optionalFlag,
  optionalMetric,
  optionalTime,
  optionalVenueId,
  readVenueId,
} from './native.ts'
import { readResult, toMarketState, toPayouts, toStatusNative } from './resolution.ts'

/** A revision and samples per market of a catalogue answer, and its malformed parts. */
export type CatalogAnswer = {
  readonly events: readonly (MarketRevision | Sample)[]
  readonly problems: readonly MessageProblem[]
}

/** Converts an answer of GET market/list: `{marketTopics, total, offset, limit, hasMore}`. */
export function normalizeTopics(answer: unknown, at: Arrival, category?: string): CatalogAnswer {
  const object = readObject(answer, 'the list of topics')
  const reader = new CatalogReader(at, 'topic', category)
  reader.readTopics(object['marketTopics'], 'marketTopics')
  return reader.result()
}

/** Converts an answer of GET market/detail: one topic. */
export function normalizeTopic(answer: unknown, at: Arrival, category?: string): CatalogAnswer {
  const object = readObject(answer, 'the topic')
  if (object['marketTopicId'] === undefined) throw wrong('the answer', answer, 'a topic')
  const reader = new CatalogReader(at, 'topic', category)
  reader.readTopic(object, 'topic')
  return reader.result()
}

/** Converts an answer of GET market/search: an array of topics. */
export function normalizeSearch(answer: unknown, at: Arrival): CatalogAnswer {
  const reader = new CatalogReader(at, 'topic')
  reader.readTopics(answer, 'topics')
  return reader.result()
}

/**
 * Converts an answer of Predict.fun's GET /markets, /markets/{id}, /categories or /categories/{slug}:
 * `{success, data}`, data being a market, a category with its markets, or an array of either.
 */
export function normalizePredictCatalog(answer: unknown, at: Arrival): CatalogAnswer {
  const { data } = readObject(answer, 'the answer')
  const reader = new CatalogReader(at, 'category')
  const many = Array.isArray(data)
  const items: readonly unknown[] = many ? data : [data]
  items.forEach((item, index) => {
    const where = many ? `data[${index}]` : 'data'
    reader.attempt(where, () => {
      const object = readObject(item, where)
      if (object['markets'] === undefined) reader.readMarket(object, undefined, where)
      else reader.readTopic(object, where)
    })
  })
  return reader.result()
}

/** The metrics of an outcome in the catalogue; separate series, never merged. */
const METRICS = ['chance', 'price'] as const

class CatalogReader {
  readonly #events: (MarketRevision | Sample)[] = []
  readonly #problems: MessageProblem[] = []
  readonly #at: Arrival
  readonly #word: NativeTopic['word']
  readonly #category: string | undefined

  constructor(at: Arrival, word: NativeTopic['word'], category?: string) {
    this.#at = at
    this.#word = word
    this.#category = category
  }

  result(): CatalogAnswer {
    return { events: this.#events, problems: this.#problems }
  }

  readTopics(value: unknown, where: string): void {
    readArray(value, where).forEach((topic, index) => {
      const place = `${where}[${index}]`
      this.attempt(place, () => this.readTopic(readObject(topic, place), place))
    })
  }

  readTopic(topic: NativeObject, where: string): void {
    const { markets, ...own } = topic
    const list = readArray(markets, `${where}.markets`)
    const parent = { own, markets: list.length, word: this.#word }
    list.forEach((market, index) => {
      const place = `${where}.markets[${index}]`
      this.attempt(place, () => this.readMarket(readObject(market, place), parent, place))
    })
  }

  readMarket(market: NativeObject, topic: NativeTopic | undefined, where: string): void {
    const { received, journal } = this.#at
    const parsed = parseMarket(market, topic, where)
    this.#problems.push(...parsed.problems)
    const named = this.#category === undefined ? {} : { category: this.#category }
    const record = { ...parsed.record, ...named }
    this.#events.push({ kind: 'market', record, received, journal })
    this.#readSamples(parsed, where)
  }

  /** Reads one part of the answer; a malformed part is reported as a problem. */
  attempt(where: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#problems.push({ where, error })
    }
  }

  #readSamples({ record, outcomes }: ParsedMarket, where: string): void {
    const { received, journal } = this.#at
    outcomes.forEach((outcome, index) => {
      for (const metric of METRICS) {
        const place = `${where}.outcomes[${index}].${metric}`
        this.attempt(place, () => {
          const value = optionalMetric(outcome[metric], metric)
          if (value === undefined) return
          const key = readTokenId(outcome)
          if (key === undefined) throw wrong('tokenId', undefined, 'the token of the sample')
          const instrument = { venue: 'venuea' as const, market: record.marketId, key }
          this.#events.push({ kind: 'sample', instrument, metric, value, received, journal })
        })
      }
    })
  }
}

/** The topic (Binance) or category (Predict.fun) that markets belong to. */
type NativeTopic = {
  /** All of its fields, without its markets. */
  readonly own: NativeObject
  /** How many markets it has: only a single one may use the topic's title and volume. */
  readonly markets: number
  /** `topic` or `category`, the vendor's word and its key in `native`. */
  readonly word: 'topic' | 'category'
}

/** A market as a record, its outcomes as sent, and its malformed parts. */
type ParsedMarket = {
  readonly record: MarketRecord
  readonly outcomes: readonly NativeObject[]
  readonly problems: readonly MessageProblem[]
}

// Binance and Predict.fun name some fields differently (`startDate`, `startsAt`), but no name has two
// meanings, so one function parses both.
function parseMarket(
  market: NativeObject,
  topic: NativeTopic | undefined,
  where: string,
): ParsedMarket {
  const own = topic?.own ?? {}
  const isSingle = topic?.markets === 1
  const either = (name: string): unknown => market[name] ?? own[name]
  const text = (name: string): string | undefined => readText(either(name), name)
  const slug = readText(own['slug'] ?? market['categorySlug'] ?? market['slug'], 'slug')
  const openTime = optionalTime(either('startDate') ?? either('startsAt'), 'the start')
  const closeTime = optionalTime(either('endDate') ?? either('endsAt'), 'the end')
  const status = readText(market['status'], 'status')
  const tradingStatus = readText(market['tradingStatus'], 'tradingStatus')
  const outcomes = readOutcomes(market['outcomes'])
  const result = readResult(market, outcomes)
  const state = toMarketState(status, tradingStatus, result !== undefined)
  const named = outcomes.map((outcome, place) => toOutcome(outcome, place, market))
  const reference = readReference(either('variantData'), where)
  const payouts = toPayouts(result, outcomes.length)
  const exchange = readExchange(either)
  const resolved = readResolvedTime(market, where)
  const title = readText(market['title'], 'title')
  const topicTitle = readText(own['title'], 'title')
  // The volume of a topic is not that of one of its several markets.
  const amount = (name: string): string | undefined =>
    optionalDecimal(market[name] ?? (isSingle ? own[name] : undefined), name)
  const record = compact<MarketRecord>({
    venue: 'venuea',
    marketId: readVenueId(market['marketId'] ?? market['id'], 'marketId'),
    title: isSingle ? (topicTitle ?? title) : (title ?? topicTitle),
    status: state.status,
    statusNative: toStatusNative(status, tradingStatus),
    openTime,
    closeTime,
    createdTime: optionalTime(either('publishedAt') ?? either('createdAt'), 'publishedAt'),
    resolvedTime: state.resolution === 'final' ? resolved.value : undefined,
    resolution: compact<Resolution>({
      state: state.resolution,
      source: reference.source ?? readText(own['resolutionProvider'], 'resolutionProvider'),
      reference: reference.value,
      payouts,
    }),
    winningOutcome: typeof result === 'number' ? named[result]?.label : undefined,
    volume: amount('tradeVolume'),
    liquidity: amount('liquidity'),
    participantCount: readParticipants(either('participantCount')),
    outcomes: named,
    units: VENUES.venuea.units,
    topicId: optionalVenueId(own['marketTopicId'] ?? own['id'], 'marketTopicId'),
    conditionId: optionalVenueId(market['conditionId'], 'conditionId'),
    questionId: optionalVenueId(market['questionId'] ?? market['oracleQuestionId'], 'questionId'),
    question: text('question'),
    slug,
    asset: toAsset(readText(either('symbol'), 'symbol') ?? reference.symbol, slug),
    window: toWindow(slug, openTime, closeTime),
    chain: text('chainId'),
    exchangeContract: toExchangeContract(exchange ?? {}),
    exchange,
    // The values come from JSON.parse, so they are JSON.
    native:
      topic === undefined
        ? { market: market as Json }
        : { [topic.word]: topic.own as Json, market: market as Json },
  })
  return { record, outcomes, problems: [...reference.problems, ...resolved.problems] }
}

function readOutcomes(value: unknown): readonly NativeObject[] {
  if (value === undefined || value === null) return []
  return readArray(value, 'outcomes').map((outcome) => readObject(outcome, 'an outcome'))
}

// `index` of Binance, `indexSet` 1 or 2 of Predict.fun, else the place in the list.
function readOutcomeIndex(outcome: NativeObject, place: number): number {
  const { index, indexSet } = outcome
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) return index
  if (indexSet === 1 || indexSet === 2) return indexSet - 1
  return place
}

// `tokenId` of Binance, `onChainId` of Predict.fun.
function readTokenId(outcome: NativeObject): string | undefined {
  return optionalVenueId(outcome['tokenId'] ?? outcome['onChainId'], 'tokenId')
}

function toOutcome(outcome: NativeObject, place: number, market: NativeObject): Outcome {
  const label = readText(outcome['name'], 'the name of an outcome')
  if (label === undefined) throw wrong('the name of an outcome', outcome['name'], 'text')
  return compact<Outcome>({
    label,
    index: readOutcomeIndex(outcome, place),
    tokenId: readTokenId(outcome),
    // The vendor's own market id, which Binance sends per market.
    externalId: readExternalId(outcome['externalId'] ?? market['externalId']),
  })
}

// Free text: documented examples contain an underscore, which our identifiers do not allow.
function readExternalId(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : readText(value, 'externalId')
}

function readParticipants(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw wrong('participantCount', value, 'a whole number')
}

type Reference = {
  readonly source: string | undefined
  readonly symbol: string | undefined
  readonly value: NonNullable<Resolution['reference']> | undefined
  readonly problems: readonly MessageProblem[]
}

// A price that is not a number (documented examples hold the word `endPrice`) does not lose the market.
function readReference(value: unknown, where: string): Reference {
  if (value === undefined || value === null) {
    return { source: undefined, symbol: undefined, value: undefined, problems: [] }
  }
  const data = readObject(value, 'variantData')
  const problems: MessageProblem[] = []
  const price = (name: string): string | undefined => {
    try {
      return optionalDecimal(data[name], name)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `${where}.variantData.${name}`, error })
      return undefined
    }
  }
  const symbol = readText(data['priceFeedSymbol'], 'priceFeedSymbol')
  const reference = compact<NonNullable<Resolution['reference']>>({
    feed: symbol ?? readText(data['priceFeedId'], 'priceFeedId'),
    startPrice: price('startPrice'),
    endPrice: price('endPrice'),
  })
  return {
    source: readText(data['priceFeedProvider'], 'priceFeedProvider'),
    symbol,
    value: Object.keys(reference).length === 0 ? undefined : reference,
    problems,
  }
}

const QUOTES = /(?:FDUSD|USDT|USDC|USD)$/
const NAMES: ReadonlyMap<string, string> = new Map([
  ['btc', 'BTC'],
  ['bitcoin', 'BTC'],
  ['eth', 'ETH'],
  ['ethereum', 'ETH'],
  ['bnb', 'BNB'],
])

// The underlying asset: BTC for `BTCUSDT`; without a symbol, by the first word of the slug.
function toAsset(symbol: string | undefined, slug: string | undefined): string | undefined {
  if (symbol !== undefined) {
    const asset = symbol.replace(QUOTES, '')
    if (/^[A-Z0-9]{1,12}$/.test(asset)) return asset
  }
  return NAMES.get(slug?.split('-', 1)[0]?.toLowerCase() ?? '')
}

// A number and its unit between dashes: `btc-updown-15m-1787839200`, `btc-price-1h-up-or-down`.
const IN_SLUG = /(?:^|-)(\d{1,3})(m|h|d)(?:-|$)/

const MINUTE = 60_000_000
const BY_LENGTH: ReadonlyMap<number, string> = new Map([
  [5 * MINUTE, '5m'],
  [15 * MINUTE, '15m'],
  [60 * MINUTE, '1h'],
  [240 * MINUTE, '4h'],
  [1440 * MINUTE, '1d'],
])

// The window of a market: from its slug, which holds at any speed of the emulator, else by its length.
function toWindow(
  slug: string | undefined,
  open: Micros | undefined,
  close: Micros | undefined,
): string | undefined {
  const named = slug === undefined ? null : IN_SLUG.exec(slug)
  if (named !== null) return `${named[1]}${named[2]}`
  return open === undefined || close === undefined ? undefined : BY_LENGTH.get(close - open)
}

/** Exchange contracts on BNB chain mainnet, from the vendor's page of deployed contracts. */
export const EXCHANGES = {
  plain: '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689',
  negRisk: '0x365fb81bd4A24D6303cd2F19c349dE6894D8d58A',
  yield: '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5',
  yieldNegRisk: '0x8A289d458f5a134bA40015085A8F50Ffb681B41d',
} as const

type Exchange = NonNullable<MarketRecord['exchange']>

// What the venue says about the contracts of a market; undefined where it says nothing.
function readExchange(said: (name: string) => unknown): Exchange | undefined {
  const resolver = said('resolverAddress')
  const exchange = compact<Exchange>({
    isNegRisk: optionalFlag(said('isNegRisk')),
    isYieldBearing: optionalFlag(said('isYieldBearing')),
    resolverAddress: typeof resolver === 'string' ? resolver : undefined,
  })
  return Object.keys(exchange).length === 0 ? undefined : exchange
}

// The vendors say when a market was resolved in `resolvedAt`, of the market or of its resolution, or not
// at all. The time at which we learned of it is not that time.
function readResolvedTime(
  market: NativeObject,
  where: string,
): { readonly value: Micros | undefined; readonly problems: readonly MessageProblem[] } {
  const { resolution } = market
  const own =
    typeof resolution === 'object' && resolution !== null
      ? (resolution as NativeObject)['resolvedAt']
      : undefined
  try {
    const value = optionalTime(market['resolvedAt'] ?? own, 'resolvedAt')
    return { value, problems: [] }
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return { value: undefined, problems: [{ where: `${where}.resolvedAt`, error }] }
  }
}

// The exchange contract that the two flags select; undefined unless the venue sent both.
function toExchangeContract({ isNegRisk, isYieldBearing }: Exchange): string | undefined {
  if (isNegRisk === undefined || isYieldBearing === undefined) return undefined
  if (isYieldBearing) return isNegRisk ? EXCHANGES.yieldNegRisk : EXCHANGES.yield
  return isNegRisk ? EXCHANGES.negRisk : EXCHANGES.plain
}
