import { MARKET_STATUSES, type VenueId } from '../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  wordOrNull,
  type JsonSchema,
} from './json-schema.ts'

const RESOLUTION = objectOf(
  {
    state: wordOrNull(['none', 'proposed', 'disputed', 'final']),
    source: described(TEXT_OR_NULL, 'Who or what decides.'),
    reference: objectOf({
      feed: TEXT_OR_NULL,
      start_price: DECIMAL_OR_NULL,
      end_price: DECIMAL_OR_NULL,
    }),
    payouts: described(listOf(DECIMAL), 'Per outcome, in the order of `outcomes`.'),
    times: objectOf({ determined: TIME_OR_NULL, settled: TIME_OR_NULL }),
  },
  {
    description:
      'How the market ended, or how far its ending has come; never inferred from prices.',
  },
)

const COMMON = {
  market_id: described(TEXT, 'The venue’s own identifier and the path segment of the market.'),
  title: TEXT_OR_NULL,
  status: wordOrNull(MARKET_STATUSES),
  status_native: described(TEXT_OR_NULL, 'The venue’s own word.'),
  open_time: TIME_OR_NULL,
  close_time: TIME_OR_NULL,
  resolved_time: TIME_OR_NULL,
  created_time: TIME_OR_NULL,
  resolution: RESOLUTION,
  winning_outcome: described(TEXT_OR_NULL, 'The label of the outcome that won.'),
  volume: DECIMAL_OR_NULL,
  liquidity: DECIMAL_OR_NULL,
  outcomes: listOf(
    objectOf({ label: TEXT, index: COUNT, token_id: TEXT_OR_NULL, external_id: TEXT_OR_NULL }),
  ),
  units: objectOf({
    price_unit: TEXT,
    size_unit: TEXT,
    volume_unit: TEXT,
    collateral: TEXT,
  }),
  native: { type: 'object', description: 'What the venue said, in its own names.' },
  revision_time: described(TIME, 'When the record was received as it stands here.'),
}

/** The schema of a market record, by venue. */
export const MARKET_SCHEMAS: Readonly<Record<VenueId, JsonSchema>> = {
  venuea: objectOf(
    {
      venue: { const: 'venuea' },
      ...COMMON,
      topic_id: TEXT_OR_NULL,
      condition: objectOf({ id: TEXT_OR_NULL, question_id: TEXT_OR_NULL, question: TEXT_OR_NULL }),
      asset: described(TEXT_OR_NULL, 'BTC, ETH or BNB.'),
      window: described(TEXT_OR_NULL, '5m or 15m.'),
      participant_count: { type: ['integer', 'null'], minimum: 0 },
      chain: described(TEXT, 'Present when available.'),
      exchange_contract: described(TEXT, 'Present when available.'),
    },
    { optional: ['chain', 'exchange_contract'] },
  ),
  venueb: objectOf({
    venue: { const: 'venueb' },
    ...COMMON,
    series_ticker: TEXT_OR_NULL,
    event_ticker: TEXT_OR_NULL,
    market_ticker: TEXT,
    settlement: objectOf({
      result: TEXT_OR_NULL,
      value: DECIMAL_OR_NULL,
      determined_time: TIME_OR_NULL,
      settled_time: TIME_OR_NULL,
      expiration_value: TEXT_OR_NULL,
    }),
  }),
  venuec: objectOf({
    venue: { const: 'venuec' },
    ...COMMON,
    event_id: TEXT_OR_NULL,
    condition_id: TEXT,
    gamma_market_id: TEXT_OR_NULL,
    slug: TEXT_OR_NULL,
    asset: TEXT_OR_NULL,
    window: TEXT_OR_NULL,
  }),
}

/** The schema of a market record of any venue. */
export const ANY_MARKET_SCHEMA: JsonSchema = { anyOf: Object.values(MARKET_SCHEMAS) }

/** The schema of a revision's `anomaly`. */
export const ANOMALY_SCHEMA: JsonSchema = objectOf(
  {
    code: { type: 'string', enum: ['illegal_transition'] },
    from: { type: 'string', enum: MARKET_STATUSES },
    to: { type: 'string', enum: MARKET_STATUSES },
  },
  {
    description:
      'Only on a version whose status does not follow from the version before it: the venue moved the market illegally, or a recorder missed or reordered messages. The version is stored as it was received.',
  },
)
