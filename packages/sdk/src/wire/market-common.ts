import {
  ANOMALY_CODES,
  CAPTURE_TIERS,
  eventIdOf,
  MARKET_STATUSES,
  type Json,
  type MarketRecord,
  type Resolution,
} from '../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  FLAG_OR_NULL,
  listOf,
  named,
  objectOf,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from './json-values.ts'

/** A market record as known at one received time: what the store calls a market state. */
export type KnownMarket = { readonly record: MarketRecord; readonly knownAt: number }

const RESOLUTION = named(
  'Resolution',
  objectOf(
    {
      state: orNull(named('ResolutionState', wordOf(['none', 'proposed', 'disputed', 'final']))),
      source: described(TEXT_OR_NULL, 'Who or what decides.'),
      reference: named(
        'ResolutionReference',
        objectOf({
          feed: TEXT_OR_NULL,
          start_price: DECIMAL_OR_NULL,
          end_price: DECIMAL_OR_NULL,
        }),
      ),
      payouts: described(listOf(DECIMAL), 'Per outcome, in the order of `outcomes`.'),
      times: named(
        'ResolutionTimes',
        objectOf({ determined: TIME_OR_NULL, settled: TIME_OR_NULL }),
      ),
    },
    {
      description:
        'How the market ended, or how far its ending has come; never inferred from prices.',
    },
  ),
)

/** How a market ended, or how far its ending has come. */
export type ResolutionJson = TypeOf<typeof RESOLUTION>

const OUTCOME = named(
  'Outcome',
  objectOf({ label: TEXT, index: COUNT, token_id: TEXT_OR_NULL, external_id: TEXT_OR_NULL }),
)

/** One outcome with the venue's own token. */
export type OutcomeJson = TypeOf<typeof OUTCOME>

const NATIVE: JsonSchema<{ readonly [key: string]: Json }> = named('MarketNative', {
  type: 'object',
  description: 'What the venue said, in its own names; on lists only with `include=native`.',
  additionalProperties: true,
})

/** The schema of a market's status. */
export const MARKET_STATUS_SCHEMA = named('MarketStatus', wordOf(MARKET_STATUSES))

/** The members that the market records of all venues share. */
export const MARKET_MEMBERS = {
  market_id: described(TEXT, 'The venue’s own identifier and the path segment of the market.'),
  title: TEXT_OR_NULL,
  status: orNull(MARKET_STATUS_SCHEMA),
  status_native: described(TEXT_OR_NULL, 'The venue’s own word.'),
  open_time: TIME_OR_NULL,
  close_time: TIME_OR_NULL,
  resolved_time: TIME_OR_NULL,
  created_time: TIME_OR_NULL,
  resolution: RESOLUTION,
  winning_outcome: described(TEXT_OR_NULL, 'The label of the outcome that won.'),
  volume: DECIMAL_OR_NULL,
  liquidity: DECIMAL_OR_NULL,
  outcomes: listOf(OUTCOME),
  asset: described(TEXT_OR_NULL, 'The underlying, such as BTC.'),
  window: described(TEXT_OR_NULL, 'The length of the round, such as 15m.'),
  strike: described(
    DECIMAL_OR_NULL,
    'The price of the underlying that decides the market: a fixed strike, or the price at the start of the round.',
  ),
  event: orNull(
    named(
      'MarketEvent',
      objectOf(
        {
          id: described(TEXT, 'The venue’s own id of the event.'),
          title: TEXT_OR_NULL,
          slug: TEXT_OR_NULL,
          outcome: described(
            TEXT_OR_NULL,
            'The name of this market among those of the event: a candidate, a range, a team.',
          ),
          is_exclusive: described(
            FLAG_OR_NULL,
            'True where at most one market of the event can end with Yes.',
          ),
          is_neg_risk: described(
            FLAG_OR_NULL,
            'True where No of one market can be converted into Yes of all others.',
          ),
        },
        { description: 'The event that the market belongs to, with what its markets share.' },
      ),
    ),
  ),
  category: described(TEXT_OR_NULL, 'The venue’s own heading, such as Politics.'),
  tags: described(listOf(TEXT), 'The venue’s own labels.'),
  capture: orNull(
    named(
      'MarketCapture',
      objectOf(
        { tier: named('CaptureTier', wordOf(CAPTURE_TIERS)), why: TEXT },
        {
          description: 'How deep the market is recorded, and why; its revisions say since when.',
        },
      ),
    ),
  ),
  units: named(
    'Units',
    objectOf({ price_unit: TEXT, size_unit: TEXT, volume_unit: TEXT, collateral: TEXT }),
  ),
  native: NATIVE,
  /** When the record was received in this version. */
  revision_time: described(TIME, 'When the record was received in this version.'),
  last_anomaly: orNull(
    named(
      'MarketAnomaly',
      objectOf(
        {
          code: named('AnomalyCode', wordOf(ANOMALY_CODES)),
          from: MARKET_STATUS_SCHEMA,
          to: MARKET_STATUS_SCHEMA,
          received_time: TIME,
        },
        {
          description:
            'The newest version that contradicted the one before it: an illegal change of status, or an id that the venue gave to another market.',
        },
      ),
    ),
  ),
} as const

/** The members that lists leave out unless they are asked for. */
export const OPTIONAL_MARKET_MEMBERS = ['native'] as const

const COMMON_MARKET_SCHEMA = objectOf(
  { venue: VENUE, ...MARKET_MEMBERS },
  { optional: OPTIONAL_MARKET_MEMBERS },
)

/** What the market records of all venues share. */
export type CommonMarketJson = TypeOf<typeof COMMON_MARKET_SCHEMA>

/** Renders what all venues share. */
export function toCommonMarket(
  record: MarketRecord,
  knownAt: number,
  style: ValueStyle,
): Omit<CommonMarketJson, LaterName> {
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

type LaterName =
  | 'asset'
  | 'window'
  | 'strike'
  | 'last_anomaly'
  | 'event'
  | 'category'
  | 'tags'
  | 'capture'

/** Renders the members that came after 0.1.0, which follow all others. */
export function toLaterMembers(
  record: MarketRecord,
  style: ValueStyle,
): Pick<CommonMarketJson, LaterName> {
  return {
    strike: decimalJson(record.strike ?? record.resolution?.reference?.startPrice, style),
    last_anomaly: toAnomaly(record.lastAnomaly, style),
    asset: record.asset ?? null,
    window: record.window ?? null,
    event: toEvent(record),
    category: record.category ?? null,
    tags: record.tags ?? [],
    capture: record.capture ?? null,
  }
}

function toEvent(record: MarketRecord): CommonMarketJson['event'] {
  const { event } = record
  const id = eventIdOf(record)
  if (id === undefined) return null
  return {
    id,
    title: event?.title ?? null,
    slug: event?.slug ?? null,
    outcome: event?.outcome ?? null,
    is_exclusive: event?.isExclusive ?? null,
    is_neg_risk: event?.isNegRisk ?? null,
  }
}

function toAnomaly(
  anomaly: MarketRecord['lastAnomaly'],
  style: ValueStyle,
): CommonMarketJson['last_anomaly'] {
  if (anomaly === undefined) return null
  const { code, from, to, received } = anomaly
  return { code, from, to, received_time: timeJson(received, style)! }
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
