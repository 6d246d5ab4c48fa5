import type { MarketRecord } from '../../domain/index.ts'
import {
  DECIMAL_OR_NULL,
  named,
  objectOf,
  onlyWord,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  type TypeOf,
} from '../json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from '../json-values.ts'
import { MARKET_MEMBERS, OPTIONAL_MARKET_MEMBERS, type CommonMarketJson } from '../market-common.ts'
import { textParam } from '../routes/param.ts'
import { STATUS_PARAM } from '../routes/params.ts'

const SCHEMA = named(
  'VenueBMarket',
  objectOf(
    {
      venue: onlyWord('venueb'),
      ...MARKET_MEMBERS,
      series_ticker: TEXT_OR_NULL,
      event_ticker: TEXT_OR_NULL,
      market_ticker: TEXT,
      settlement: named(
        'VenueBSettlement',
        objectOf({
          result: TEXT_OR_NULL,
          value: DECIMAL_OR_NULL,
          determined_time: TIME_OR_NULL,
          settled_time: TIME_OR_NULL,
          expiration_value: TEXT_OR_NULL,
        }),
      ),
    },
    { optional: OPTIONAL_MARKET_MEMBERS },
  ),
)

/** A market record of venue B. */
export type VenueBMarketJson = TypeOf<typeof SCHEMA>

/** Renders what venue B adds. */
function toMembers(
  record: MarketRecord,
  style: ValueStyle,
): Omit<VenueBMarketJson, Exclude<keyof CommonMarketJson, 'venue'>> {
  const { settlement } = record
  return {
    venue: 'venueb',
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

/** What the wire knows of venue B alone. */
export const VENUE_B_WIRE = {
  schema: SCHEMA,
  toMembers,
  filters: {
    series: textParam(200, 'KXBTC15M'),
    event: textParam(200, 'KXBTC15M-26AUG110115'),
    status: STATUS_PARAM,
    asset: textParam(20, 'btc'),
  },
  texts: {
    markets: {
      summary: 'Markets of venue B',
      description:
        'Markets with their native series, event and market tickers, by (open_time, market_ticker). A market matches a range when [open_time, close_time) meets it.',
      params: {
        series: 'Only markets of this series ticker.',
        event: 'Only markets of this event ticker.',
        asset: 'Only markets of this underlying asset, in upper or lower case.',
      },
    },
    outcomeRule: 'outcome is yes (the default) or no; no is the complement of yes.',
  },
}
