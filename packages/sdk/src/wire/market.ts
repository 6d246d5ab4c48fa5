import type { Json, MarketRecord, MarketStatus, Resolution, VenueId } from '../domain/index.ts'
import {
  decimalJson,
  timeJson,
  type DecimalJson,
  type TimeJson,
  type ValueStyle,
} from './json-values.ts'

/** A market record as known at one received time: what the store calls a market state. */
export type KnownMarket = { readonly record: MarketRecord; readonly knownAt: number }

/** Renders a market record with the names of the wire; what is not known is null. */
export function toMarketJson(state: KnownMarket, style: ValueStyle = {}): MarketJson {
  const { record, knownAt } = state
  const common = toCommon(record, knownAt, style)
  switch (record.venue) {
    case 'venuea':
      return { ...common, venue: 'venuea', ...toVenueA(record) }
    case 'venueb':
      return { ...common, venue: 'venueb', ...toVenueB(record, style) }
    case 'venuec':
      return { ...common, venue: 'venuec', ...toVenueC(record) }
  }
}

/** What the records of all venues share. */
export type CommonMarketJson = {
  readonly venue: VenueId
  readonly market_id: string
  readonly title: string | null
  readonly status: MarketStatus | null
  readonly status_native: string | null
  readonly open_time: TimeJson | null
  readonly close_time: TimeJson | null
  readonly resolved_time: TimeJson | null
  readonly created_time: TimeJson | null
  readonly resolution: ResolutionJson
  readonly winning_outcome: string | null
  readonly volume: DecimalJson | null
  readonly liquidity: DecimalJson | null
  readonly outcomes: readonly OutcomeJson[]
  readonly units: {
    readonly price_unit: string
    readonly size_unit: string
    readonly volume_unit: string
    readonly collateral: string
  }
  readonly native: { readonly [key: string]: Json }
  /** When the record was received as it stands here. */
  readonly revision_time: TimeJson
}

/** How a market ended, or how far its ending has come. */
export type ResolutionJson = {
  readonly state: Resolution['state'] | null
  readonly source: string | null
  readonly reference: {
    readonly feed: string | null
    readonly start_price: DecimalJson | null
    readonly end_price: DecimalJson | null
  }
  /** In the order of `outcomes`; empty while nothing is paid. */
  readonly payouts: readonly DecimalJson[]
  readonly times: { readonly determined: TimeJson | null; readonly settled: TimeJson | null }
}

/** One outcome with the venue's own token. */
export type OutcomeJson = {
  readonly label: string
  readonly index: number
  readonly token_id: string | null
  readonly external_id: string | null
}

/** What venue A adds; `chain` and `exchange_contract` are left out when the venue gave none. */
export type VenueAMarketJson = CommonMarketJson & {
  readonly venue: 'venuea'
  readonly topic_id: string | null
  readonly condition: {
    readonly id: string | null
    readonly question_id: string | null
    readonly question: string | null
  }
  readonly asset: string | null
  readonly window: string | null
  readonly participant_count: number | null
  readonly chain?: string
  readonly exchange_contract?: string
}

/** What venue B adds. */
export type VenueBMarketJson = CommonMarketJson & {
  readonly venue: 'venueb'
  readonly series_ticker: string | null
  readonly event_ticker: string | null
  readonly market_ticker: string
  readonly settlement: {
    readonly result: string | null
    readonly value: DecimalJson | null
    readonly determined_time: TimeJson | null
    readonly settled_time: TimeJson | null
    readonly expiration_value: string | null
  }
}

/** What venue C adds. */
export type VenueCMarketJson = CommonMarketJson & {
  readonly venue: 'venuec'
  readonly event_id: string | null
  readonly condition_id: string
  readonly gamma_market_id: string | null
  readonly slug: string | null
  readonly asset: string | null
  readonly window: string | null
}

/** A market record of any venue. */
export type MarketJson = VenueAMarketJson | VenueBMarketJson | VenueCMarketJson

function toCommon(record: MarketRecord, knownAt: number, style: ValueStyle): CommonMarketJson {
  return {
    venue: record.venue,
    market_id: record.marketId,
    title: record.title ?? null,
    status: record.status ?? null,
    status_native: record.statusNative ?? null,
    open_time: timeJson(record.openTime, style),
    close_time: timeJson(record.closeTime, style),
    resolved_time: timeJson(record.resolvedTime, style),
    created_time: timeJson(record.createdTime, style),
    resolution: toResolution(record.resolution, style),
    winning_outcome: record.winningOutcome ?? null,
    volume: decimalJson(record.volume, style),
    liquidity: decimalJson(record.liquidity, style),
    outcomes: record.outcomes.map(({ label, index, tokenId, externalId }) => ({
      label,
      index,
      token_id: tokenId ?? null,
      external_id: externalId ?? null,
    })),
    units: {
      price_unit: record.units.priceUnit,
      size_unit: record.units.sizeUnit,
      volume_unit: record.units.volumeUnit,
      collateral: record.units.collateral,
    },
    native: record.native,
    revision_time: timeJson(knownAt, style)!,
  }
}

function toResolution(resolution: Resolution | undefined, style: ValueStyle): ResolutionJson {
  const { reference, times } = resolution ?? {}
  return {
    state: resolution?.state ?? null,
    source: resolution?.source ?? null,
    reference: {
      feed: reference?.feed ?? null,
      start_price: decimalJson(reference?.startPrice, style),
      end_price: decimalJson(reference?.endPrice, style),
    },
    payouts: (resolution?.payouts ?? []).map((payout) => decimalJson(payout, style)!),
    times: {
      determined: timeJson(times?.determined, style),
      settled: timeJson(times?.settled, style),
    },
  }
}

function toVenueA(record: MarketRecord): Omit<VenueAMarketJson, keyof CommonMarketJson> {
  const { chain, exchangeContract } = record
  return {
    topic_id: record.topicId ?? null,
    condition: {
      id: record.conditionId ?? null,
      question_id: record.questionId ?? null,
      question: record.question ?? null,
    },
    asset: record.asset ?? null,
    window: record.window ?? null,
    participant_count: record.participantCount ?? null,
    ...(chain === undefined ? {} : { chain }),
    ...(exchangeContract === undefined ? {} : { exchange_contract: exchangeContract }),
  }
}

function toVenueB(
  record: MarketRecord,
  style: ValueStyle,
): Omit<VenueBMarketJson, keyof CommonMarketJson> {
  const { settlement } = record
  return {
    series_ticker: record.seriesTicker ?? null,
    event_ticker: record.eventTicker ?? null,
    market_ticker: record.marketId,
    settlement: {
      result: settlement?.result ?? null,
      value: decimalJson(settlement?.value, style),
      determined_time: timeJson(settlement?.determinedTime, style),
      settled_time: timeJson(settlement?.settledTime, style),
      expiration_value: settlement?.expirationValue ?? null,
    },
  }
}

function toVenueC(record: MarketRecord): Omit<VenueCMarketJson, keyof CommonMarketJson> {
  return {
    event_id: record.eventId ?? null,
    condition_id: record.conditionId ?? record.marketId,
    gamma_market_id: record.gammaMarketId ?? null,
    slug: record.slug ?? null,
    asset: record.asset ?? null,
    window: record.window ?? null,
  }
}
