import type { VenueId } from '@priorbook/sdk/domain'
import { textParam, type Param, required } from './param.ts'

/**
 * Where the markets of a venue hang: the addresses of the interface document. `market` is the path up
 * to one market, `alias` a second base that serves the same.
 */
export type VenueAddress = {
  readonly venue: VenueId
  readonly markets: string
  readonly market: string
  readonly alias?: { readonly markets: string; readonly market: string }
  /** The name of the path parameter that holds the market's id. */
  readonly marketParam: 'market_id' | 'market_ticker'
  readonly path: Readonly<Record<string, Param<string>>>
}

const MARKET_ID = required(textParam(200, 'The venue’s own identifier of the market.'))

/** Venue A and its alias. */
export const VENUE_A_ADDRESS: VenueAddress = {
  venue: 'venuea',
  markets: '/v3/venuea-prediction/markets',
  market: '/v3/venuea-prediction/{market_id}',
  alias: { markets: '/v3/venuea-alias/markets', market: '/v3/venuea-alias/{market_id}' },
  marketParam: 'market_id',
  path: { market_id: MARKET_ID },
}

/** Venue B: the path segment is the exact market ticker. */
export const VENUE_B_ADDRESS: VenueAddress = {
  venue: 'venueb',
  markets: '/v3/venueb/markets',
  market: '/v3/venueb/{market_ticker}',
  marketParam: 'market_ticker',
  path: { market_ticker: MARKET_ID },
}

/** Venue C: by underlying asset, then the condition id. */
export const VENUE_C_ADDRESS: VenueAddress = {
  venue: 'venuec',
  markets: '/v3/{asset}/markets',
  market: '/v3/{asset}/markets/{market_id}',
  marketParam: 'market_id',
  path: {
    asset: required(textParam(20, 'The underlying asset, such as btc.', 'btc')),
    market_id: MARKET_ID,
  },
}

/** All of them. */
export const VENUE_ADDRESSES: readonly VenueAddress[] = [
  VENUE_A_ADDRESS,
  VENUE_B_ADDRESS,
  VENUE_C_ADDRESS,
]
