import {
  CAPTURE_TIERS,
  GAP_REASONS,
  isVenueId,
  parseMicros,
  PriorbookError,
  showValue,
  toMicros,
  VENUES,
  type Gap,
  type GapReason,
  type GapScope,
  type Json,
  type MarketRecord,
  type Micros,
  type Outcome,
  type Resolution,
} from '../domain/index.ts'
import type { KnownMarket } from './market-common.ts'

/** An object of a parsed answer whose values are not checked yet. */
export type JsonFields = Readonly<Record<string, unknown>>

/**
 * Parses JSON so that no decimal loses a digit: a number that a double cannot hold becomes an object
 * with its text, which `decimalOf` reads. All other values are those of `JSON.parse`.
 */
export function parseExactJson(text: string): unknown {
  return (JSON.parse as ParseWithSource)(text, (_key, value, context) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    return String(value) === context.source ? value : { rawJSON: context.source }
  })
}

/** The fields of an object; anything else is `invalid_message`. */
export function fieldsOf(value: unknown, what: string): JsonFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong(`${what} is ${showValue(value)}, not an object`)
  }
  return value as JsonFields
}

/** The text of a decimal of the wire: a number, text, or a number with more digits than a double holds. */
export function decimalOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  const { rawJSON } = fieldsOf(value, 'a decimal')
  if (typeof rawJSON !== 'string') throw wrong('a decimal is an object')
  return rawJSON
}

/** A time of the wire: ISO 8601 or whole microseconds; null is absent. */
export function timeOf(value: unknown): Micros | undefined {
  if (value === null || value === undefined) return undefined
  return typeof value === 'number' ? toMicros(value) : parseMicros(value)
}

/** Reads a gap as `toGapJson` writes it; places in the journal are not on the wire. */
export function fromGapJson(value: unknown): Gap {
  const json = fieldsOf(value, 'a gap')
  const { venue, scope, reason, after_sequence: afterSequence } = json
  const start = timeOf(json['start_time'])
  if (
    !isVenueId(venue) ||
    !isScope(scope) ||
    !isReason(reason) ||
    start === undefined ||
    !isCount(afterSequence)
  ) {
    throw wrong('a gap lacks venue, scope, reason, start or sequence')
  }
  const end = timeOf(json['end_time'])
  const sourceStart = timeOf(json['source_start_time'])
  const sourceEnd = timeOf(json['source_end_time'])
  const detail = textOf(json['detail'])
  return {
    venue,
    scope,
    key: textOf(json['key']) ?? '',
    reason,
    start,
    ...(end === undefined ? {} : { end }),
    ...(sourceStart === undefined ? {} : { sourceStart }),
    ...(sourceEnd === undefined ? {} : { sourceEnd }),
    afterSequence,
    ...(detail === undefined ? {} : { detail }),
    journal: 0,
  }
}

/** Reads a market record as `toMarketJson` writes it, with the time at which it was known. */
export function fromMarketJson(value: unknown): KnownMarket {
  const json = fieldsOf(value, 'a market')
  const { venue } = json
  const marketId = textOf(json['market_id'])
  const knownAt = timeOf(json['revision_time'])
  if (!isVenueId(venue) || marketId === undefined || knownAt === undefined) {
    throw wrong('a market lacks venue, market_id or revision_time')
  }
  const record: MarketRecord = {
    venue,
    marketId,
    ...present({
      title: textOf(json['title']),
      status: textOf(json['status']) as MarketRecord['status'],
      statusNative: textOf(json['status_native']),
      openTime: timeOf(json['open_time']),
      closeTime: timeOf(json['close_time']),
      resolvedTime: timeOf(json['resolved_time']),
      createdTime: timeOf(json['created_time']),
      resolution: fromResolution(json['resolution']),
      winningOutcome: textOf(json['winning_outcome']),
      volume: decimalOf(json['volume']),
      liquidity: decimalOf(json['liquidity']),
      participantCount: json['participant_count'] as number | undefined,
      topicId: textOf(json['topic_id']),
      eventTicker: textOf(json['event_ticker']),
      eventId: textOf(json['event_id']),
      seriesTicker: textOf(json['series_ticker']),
      gammaMarketId: textOf(json['gamma_market_id']),
      slug: textOf(json['slug']),
      asset: textOf(json['asset']),
      window: textOf(json['window']),
      event: fromEvent(json['event']),
      category: textOf(json['category']),
      tags: fromTags(json['tags']),
      capture: fromCapture(json['capture']),
      chain: textOf(json['chain']),
      exchangeContract: textOf(json['exchange_contract']),
      exchange: fromExchange(json['exchange']),
      settlement: fromSettlement(json['settlement']),
      ...conditionOf(json),
    }),
    outcomes: listOf(json['outcomes']).map(fromOutcome),
    units: fromUnits(json['units'], venue),
    native: (json['native'] ?? {}) as { readonly [key: string]: Json },
  }
  return { record, knownAt }
}

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
) => unknown

type Present<Fields> = { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> }

/** Drops null and absent values: both mean the same on the wire. */
function present<Fields extends object>(fields: Fields): Present<Fields> {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(kept) as Present<Fields>
}

function fromEvent(value: unknown): MarketRecord['event'] {
  if (value === undefined || value === null) return undefined
  const json = fieldsOf(value, 'an event')
  const event = present({
    title: textOf(json['title']),
    slug: textOf(json['slug']),
    outcome: textOf(json['outcome']),
    isExclusive: flagOf(json['is_exclusive']),
    isNegRisk: flagOf(json['is_neg_risk']),
  })
  return Object.keys(event).length === 0 ? undefined : event
}

function fromCapture(value: unknown): MarketRecord['capture'] {
  if (value === undefined || value === null) return undefined
  const json = fieldsOf(value, 'capture')
  const tier = CAPTURE_TIERS.find((one) => one === json['tier'])
  return tier === undefined ? undefined : { tier, why: textOf(json['why']) ?? '' }
}

function fromTags(value: unknown): readonly string[] | undefined {
  const tags = listOf(value ?? []).filter((tag) => typeof tag === 'string')
  return tags.length === 0 ? undefined : tags
}

function flagOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function fromExchange(value: unknown): MarketRecord['exchange'] {
  if (value === undefined || value === null) return undefined
  const json = fieldsOf(value, 'exchange')
  return present({
    isNegRisk: flagOf(json['is_neg_risk']),
    isYieldBearing: flagOf(json['is_yield_bearing']),
    resolverAddress: textOf(json['resolver_address']),
  })
}

function conditionOf(
  json: JsonFields,
): Pick<
  { [Key in keyof MarketRecord]?: MarketRecord[Key] | undefined },
  'conditionId' | 'questionId' | 'question'
> {
  const id = textOf(json['condition_id'])
  if (id !== undefined) return { conditionId: id }
  if (json['condition'] === undefined) return {}
  const condition = fieldsOf(json['condition'], 'a condition')
  return {
    conditionId: textOf(condition['id']),
    questionId: textOf(condition['question_id']),
    question: textOf(condition['question']),
  }
}

function fromResolution(value: unknown): Resolution | undefined {
  if (value === null || value === undefined) return undefined
  const json = fieldsOf(value, 'a resolution')
  const reference = fieldsOf(json['reference'] ?? {}, 'a reference')
  const times = fieldsOf(json['times'] ?? {}, 'times')
  const payouts = listOf(json['payouts'] ?? []).map((payout) => decimalOf(payout)!)
  // Without a state nothing is known about the ending.
  const state = textOf(json['state']) as Resolution['state'] | undefined
  if (state === undefined) return undefined
  const feeds = present({
    feed: textOf(reference['feed']),
    startPrice: decimalOf(reference['start_price']),
    endPrice: decimalOf(reference['end_price']),
  })
  const known = present({
    determined: timeOf(times['determined']),
    settled: timeOf(times['settled']),
  })
  return {
    state,
    ...present({ source: textOf(json['source']) }),
    ...(Object.keys(feeds).length === 0 ? {} : { reference: feeds }),
    ...(payouts.length === 0 ? {} : { payouts }),
    ...(Object.keys(known).length === 0 ? {} : { times: known }),
  }
}

function fromSettlement(value: unknown): MarketRecord['settlement'] {
  if (value === null || value === undefined) return undefined
  const json = fieldsOf(value, 'a settlement')
  const settlement = present({
    result: textOf(json['result']),
    value: decimalOf(json['value']),
    determinedTime: timeOf(json['determined_time']),
    settledTime: timeOf(json['settled_time']),
    expirationValue: textOf(json['expiration_value']),
  })
  return Object.keys(settlement).length === 0 ? undefined : settlement
}

function fromOutcome(value: unknown): Outcome {
  const json = fieldsOf(value, 'an outcome')
  const { label, index } = json
  if (typeof label !== 'string' || !isCount(index)) throw wrong('an outcome lacks label or index')
  return {
    label,
    index,
    ...present({ tokenId: textOf(json['token_id']), externalId: textOf(json['external_id']) }),
  }
}

function fromUnits(value: unknown, venue: MarketRecord['venue']): MarketRecord['units'] {
  const json = fieldsOf(value ?? {}, 'units')
  const own = VENUES[venue].units
  return {
    priceUnit: textOf(json['price_unit']) ?? own.priceUnit,
    sizeUnit: textOf(json['size_unit']) ?? own.sizeUnit,
    volumeUnit: textOf(json['volume_unit']) ?? own.volumeUnit,
    collateral: textOf(json['collateral']) ?? own.collateral,
  }
}

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value !== 'string') throw wrong(`${showValue(value)} is not text`)
  return value
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(`${showValue(value)} is not a list`)
  return value
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isScope(value: unknown): value is GapScope {
  return value === 'instrument' || value === 'market' || value === 'venue'
}

function isReason(value: unknown): value is GapReason {
  return typeof value === 'string' && Object.hasOwn(GAP_REASONS, value)
}

function wrong(detail: string): PriorbookError {
  return new PriorbookError('invalid_message', detail)
}
