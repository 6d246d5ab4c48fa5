import { MARKET_STATUSES, type VenueId } from '@priorbook/sdk/domain'
import { textParam, wordParam } from '../../params.ts'
import type { ParamTable } from '../../route.ts'

/** How the list of a venue's markets is described, and by what it can be filtered. */
export type MarketList = {
  readonly summary: string
  readonly description: string
  readonly filters: ParamTable
}

const status = wordParam(MARKET_STATUSES, 'Only markets whose status is this now.')
const RANGE_RULE = 'A market matches a range when [open_time, close_time) meets it.'

/** The lists of markets of the interface document, by venue. */
export const MARKET_LISTS: Readonly<Record<VenueId, MarketList>> = {
  venuea: {
    summary: 'Markets of venue A',
    description: `Market records by (open_time, market_id), with the filters coin, window and status. ${RANGE_RULE}`,
    filters: {
      coin: wordParam(['BTC', 'ETH', 'BNB', 'btc', 'eth', 'bnb'], 'The underlying asset.'),
      window: wordParam(['5m', '15m'], 'The window of the market.'),
      status,
    },
  },
  venueb: {
    summary: 'Markets of venue B',
    description: `Markets with their native series, event and market tickers, by (open_time, market_ticker). ${RANGE_RULE}`,
    filters: {
      series: textParam(200, 'Only markets of this series ticker.', 'KXBTC15M'),
      event: textParam(200, 'Only markets of this event ticker.'),
      status,
    },
  },
  venuec: {
    summary: 'Markets of venue C of one asset',
    description: `Market records by (open_time, condition id). The path names the underlying asset. ${RANGE_RULE}`,
    filters: {
      window: wordParam(['5m', '15m', '1h', '4h', '1d'], 'Only rounds of this length.'),
      status,
      event: textParam(200, 'Only markets of this event id.'),
    },
  },
}
