"""What the client has to know of each venue. Generated: `npm run models:python`."""

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
    "venuea": Venue(
        price_decimals=6,
        size_decimals=8,
        ladders_by_default=True,
        has_asset=False,
        markets="/v3/venuea-prediction/markets",
        market="/v3/venuea-prediction/{market_id}",
        plain_markets=None,
        plain_market=None,
    ),
    "venueb": Venue(
        price_decimals=4,
        size_decimals=2,
        ladders_by_default=False,
        has_asset=False,
        markets="/v3/venueb/markets",
        market="/v3/venueb/{market_id}",
        plain_markets=None,
        plain_market=None,
    ),
    "venuec": Venue(
        price_decimals=4,
        size_decimals=6,
        ladders_by_default=False,
        has_asset=True,
        markets="/v3/{asset}/markets",
        market="/v3/{asset}/markets/{market_id}",
        plain_markets="/v3/venuec/markets",
        plain_market="/v3/venuec/markets/{market_id}",
    ),
}
