import type { MarketRecord } from '../../domain/index.ts'
import { named, objectOf, onlyWord, TEXT, TEXT_OR_NULL, type TypeOf } from '../json-schema.ts'
import { MARKET_MEMBERS, OPTIONAL_MARKET_MEMBERS, type CommonMarketJson } from '../market-common.ts'
import { textParam, wordParam } from '../routes/param.ts'
import { STATUS_PARAM } from '../routes/params.ts'

const SCHEMA = named(
  'VenueCMarket',
  objectOf(
    {
      venue: onlyWord('venuec'),
      ...MARKET_MEMBERS,
      event_id: TEXT_OR_NULL,
      condition_id: TEXT,
      gamma_market_id: TEXT_OR_NULL,
      slug: TEXT_OR_NULL,
    },
    { optional: OPTIONAL_MARKET_MEMBERS },
  ),
)

/** A market record of venue C. */
export type VenueCMarketJson = TypeOf<typeof SCHEMA>

/** Renders what venue C adds. */
function toMembers(
  record: MarketRecord,
): Omit<VenueCMarketJson, Exclude<keyof CommonMarketJson, 'venue' | 'asset' | 'window'>> {
  return {
    venue: 'venuec',
    event_id: record.eventId ?? null,
    condition_id: record.conditionId ?? record.marketId,
    gamma_market_id: record.gammaMarketId ?? null,
    slug: record.slug ?? null,
    asset: record.asset ?? null,
    window: record.window ?? null,
  }
}

/** What the wire knows of venue C alone. */
export const VENUE_C_WIRE = {
  schema: SCHEMA,
  toMembers,
  filters: {
    window: wordParam(['5m', '15m', '1h', '4h', '1d'], 'VenueCWindow'),
    status: STATUS_PARAM,
    event: textParam(200, '520694'),
  },
  texts: {
    markets: {
      summary: 'Markets of venue C of one asset',
      description:
        'Market records by (open_time, condition id). The path names the underlying asset. A market matches a range when [open_time, close_time) meets it.',
      params: { window: 'Only rounds of this length.', event: 'Only markets of this event id.' },
    },
    outcomeRule: 'Every token has a book of its own: outcome or token_id is required.',
  },
}
