import {
  PriorbookError,
  VENUES,
  type Json,
  type MarketRecord,
  type Outcome,
  type Resolution,
} from '@priorbook/sdk/domain'
import type { MessageProblem } from '../capture/contract.ts'
import {
  compact,
  readArray,
  readObject,
  readText,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { readEnding, toPayouts } from './ending.ts'
import { toAsset, toExchangeContract, toWindow } from './family.ts'
import {
  optionalDecimal,
  optionalFlag,
  optionalTime,
  optionalVenueId,
  readVenueId,
} from './fields.ts'
import { toLife, toStatusNative } from './status.ts'

/** The part of a topic (Binance) or category (Predict.fun) that its markets share. */
export type NativeTopic = {
  /** Everything the venue said of it, without its markets. */
  readonly own: NativeObject
  /** How many markets it has: only a single one may take the topic's title and volume for its own. */
  readonly markets: number
  /** `topic` or `category`, the vendor's word, under which `native` keeps it. */
  readonly word: 'topic' | 'category'
}

/** A market as a record, its outcomes as the venue wrote them, and what of it could not be read. */
export type ParsedMarket = {
  readonly record: MarketRecord
  readonly outcomes: readonly NativeObject[]
  readonly problems: readonly MessageProblem[]
}

/**
 * Reads one market. Binance and Predict.fun name some fields differently (`startDate`, `startsAt`);
 * no name has two meanings, so one reader takes both.
 */
export function parseMarket(
  market: NativeObject,
  topic: NativeTopic | undefined,
  where: string,
): ParsedMarket {
  const own = topic?.own ?? {}
  const isSingle = topic?.markets === 1
  const said = (name: string): unknown => market[name] ?? own[name]
  const text = (name: string): string | undefined => readText(said(name), name)
  const slug = readText(own['slug'] ?? market['categorySlug'] ?? market['slug'], 'slug')
  const openTime = optionalTime(said('startDate') ?? said('startsAt'), 'the start')
  const closeTime = optionalTime(said('endDate') ?? said('endsAt'), 'the end')
  const status = readText(market['status'], 'status')
  const tradingStatus = readText(market['tradingStatus'], 'tradingStatus')
  const outcomes = readOutcomes(market['outcomes'])
  const ending = readEnding(market, outcomes)
  const life = toLife(status, tradingStatus, ending !== undefined)
  const named = outcomes.map((outcome, place) => toOutcome(outcome, place, market))
  const reference = readReference(said('variantData'), where)
  const payouts = toPayouts(ending, outcomes.length)
  const title = readText(market['title'], 'title')
  const topicTitle = readText(own['title'], 'title')
  // What one market of several traded is not what the topic did.
  const amount = (name: string): string | undefined =>
    optionalDecimal(market[name] ?? (isSingle ? own[name] : undefined), name)
  const record = compact<MarketRecord>({
    venue: 'venuea',
    marketId: readVenueId(market['marketId'] ?? market['id'], 'marketId'),
    title: isSingle ? (topicTitle ?? title) : (title ?? topicTitle),
    status: life.status,
    statusNative: toStatusNative(status, tradingStatus),
    openTime,
    closeTime,
    createdTime: optionalTime(said('publishedAt') ?? said('createdAt'), 'publishedAt'),
    resolution: compact<Resolution>({
      state: life.state,
      source: reference.source ?? readText(own['resolutionProvider'], 'resolutionProvider'),
      reference: reference.value,
      payouts,
    }),
    winningOutcome: typeof ending === 'number' ? named[ending]?.label : undefined,
    volume: amount('tradeVolume'),
    liquidity: amount('liquidity'),
    participantCount: readParticipants(said('participantCount')),
    outcomes: named,
    units: VENUES.venuea.units,
    topicId: optionalVenueId(own['marketTopicId'] ?? own['id'], 'marketTopicId'),
    conditionId: optionalVenueId(market['conditionId'], 'conditionId'),
    questionId: optionalVenueId(market['questionId'] ?? market['oracleQuestionId'], 'questionId'),
    question: text('question'),
    slug,
    asset: toAsset(readText(said('symbol'), 'symbol') ?? reference.symbol, slug),
    window: toWindow(slug, openTime, closeTime),
    chain: text('chainId'),
    exchangeContract: toExchangeContract(
      optionalFlag(said('isNegRisk')),
      optionalFlag(said('isYieldBearing')),
    ),
    // The values come from JSON.parse, so they are JSON.
    native:
      topic === undefined
        ? { market: market as Json }
        : { [topic.word]: topic.own as Json, market: market as Json },
  })
  return { record, outcomes, problems: reference.problems }
}

function readOutcomes(value: unknown): readonly NativeObject[] {
  if (value === undefined || value === null) return []
  return readArray(value, 'outcomes').map((outcome) => readObject(outcome, 'an outcome'))
}

/** The place of an outcome: `index` of Binance, `indexSet` 1 or 2 of Predict.fun, else its place in the list. */
export function readOutcomeIndex(outcome: NativeObject, place: number): number {
  const { index, indexSet } = outcome
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) return index
  if (indexSet === 1 || indexSet === 2) return indexSet - 1
  return place
}

/** The token of an outcome, which is `onChainId` on Predict.fun; absent where the venue gave none. */
export function readTokenId(outcome: NativeObject): string | undefined {
  return optionalVenueId(outcome['tokenId'] ?? outcome['onChainId'], 'tokenId')
}

function toOutcome(outcome: NativeObject, place: number, market: NativeObject): Outcome {
  const label = readText(outcome['name'], 'the name of an outcome')
  if (label === undefined) throw wrong('the name of an outcome', outcome['name'], 'text')
  return compact<Outcome>({
    label,
    index: readOutcomeIndex(outcome, place),
    tokenId: readTokenId(outcome),
    // The vendor's own market, which Binance names per market.
    externalId: readExternalId(outcome['externalId'] ?? market['externalId']),
  })
}

// Free text: documented examples hold an underscore, which no identifier of ours takes.
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

// A price that is no number (documented examples hold the word `endPrice`) does not lose the market.
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
