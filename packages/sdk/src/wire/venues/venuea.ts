import type { MarketRecord } from '../../domain/index.ts'
import {
  described,
  named,
  objectOf,
  onlyWord,
  TEXT,
  TEXT_OR_NULL,
  type JsonSchema,
  type TypeOf,
} from '../json-schema.ts'
import { MARKET_MEMBERS, OPTIONAL_MARKET_MEMBERS, type CommonMarketJson } from '../market-common.ts'
import { anyCaseParam, wordParam } from '../routes/param.ts'
import { STATUS_PARAM } from '../routes/params.ts'

const BOOLEAN: JsonSchema<boolean> = { type: 'boolean' }
const COUNT_OR_NULL: JsonSchema<number | null> = { type: ['integer', 'null'], minimum: 0 }

const SCHEMA = named(
  'VenueAMarket',
  objectOf(
    {
      venue: onlyWord('venuea'),
      ...MARKET_MEMBERS,
      topic_id: TEXT_OR_NULL,
      condition: named(
        'VenueACondition',
        objectOf({ id: TEXT_OR_NULL, question_id: TEXT_OR_NULL, question: TEXT_OR_NULL }),
      ),
      participant_count: COUNT_OR_NULL,
      chain: described(TEXT, 'Present when available.'),
      exchange_contract: described(TEXT, 'Present when available.'),
      exchange: named(
        'VenueAExchange',
        objectOf(
          { is_neg_risk: BOOLEAN, is_yield_bearing: BOOLEAN, resolver_address: TEXT },
          {
            optional: ['is_neg_risk', 'is_yield_bearing', 'resolver_address'],
            description:
              'What the venue says about the exchange contract; absent where it does not.',
          },
        ),
      ),
    },
    { optional: [...OPTIONAL_MARKET_MEMBERS, 'chain', 'exchange_contract', 'exchange'] },
  ),
)

/** A market record of venue A. */
export type VenueAMarketJson = TypeOf<typeof SCHEMA>

/** Renders what venue A adds; `chain` and the exchange fields are left out when the venue gave none. */
function toMembers(
  record: MarketRecord,
): Omit<VenueAMarketJson, Exclude<keyof CommonMarketJson, 'venue' | 'asset' | 'window'>> {
  const { chain, exchangeContract, exchange } = record
  return {
    venue: 'venuea',
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
    ...(exchange === undefined ? {} : { exchange: toExchangeJson(exchange) }),
  }
}

function toExchangeJson(
  exchange: NonNullable<MarketRecord['exchange']>,
): NonNullable<VenueAMarketJson['exchange']> {
  const { isNegRisk, isYieldBearing, resolverAddress } = exchange
  return {
    ...(isNegRisk === undefined ? {} : { is_neg_risk: isNegRisk }),
    ...(isYieldBearing === undefined ? {} : { is_yield_bearing: isYieldBearing }),
    ...(resolverAddress === undefined ? {} : { resolver_address: resolverAddress }),
  }
}

/** What the wire knows of venue A alone. */
export const VENUE_A_WIRE = {
  schema: SCHEMA,
  toMembers,
  filters: {
    coin: anyCaseParam(['BTC', 'ETH', 'BNB'], 'VenueACoin'),
    window: wordParam(['5m', '15m'], 'VenueAWindow'),
    status: STATUS_PARAM,
  },
  texts: {
    markets: {
      summary: 'Markets of venue A',
      description:
        'Market records by (open_time, market_id), with the filters coin, window and status. A market matches a range when [open_time, close_time) meets it.',
      params: {
        coin: 'The underlying asset, in upper or lower case.',
        window: 'The window of the market.',
      },
    },
    outcomeRule: 'The first outcome by default; the other one is its complement.',
  },
}
