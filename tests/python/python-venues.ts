import { VENUE_IDS, VENUES } from '../../packages/sdk/src/domain/index.ts'

/** The module `_venues.py`: what the client has to know of each venue. */
export function toVenues(): string {
  const entries = VENUE_IDS.map((id) => {
    const { priceDecimals, sizeDecimals, laddersByDefault, paths } = VENUES[id]
    const { markets, market, marketParam, hasAsset, plain } = paths
    const text = (value: string | undefined): string =>
      value === undefined
        ? 'None'
        : JSON.stringify(value.replace(`{${marketParam}}`, '{market_id}'))
    return `    ${JSON.stringify(id)}: Venue(
        price_decimals=${priceDecimals},
        size_decimals=${sizeDecimals},
        ladders_by_default=${laddersByDefault ? 'True' : 'False'},
        has_asset=${hasAsset ? 'True' : 'False'},
        markets=${text(markets)},
        market=${text(market)},
        plain_markets=${text(plain?.markets)},
        plain_market=${text(plain?.market)},
    ),
`
  })
  return `"""What the client has to know of each venue. Generated: \`npm run models:python\`."""

from __future__ import annotations

from typing import NamedTuple


class Venue(NamedTuple):
    """Scales of prices and sizes, ladders of pages by default, and addresses; the plain ones have no asset."""

    price_decimals: int
    size_decimals: int
    has_asset: bool
    ladders_by_default: bool
    markets: str
    market: str
    plain_markets: str | None
    plain_market: str | None


VENUES: dict[str, Venue] = {
${entries.join('')}}
`
}
