"""Servers over emulated and recorded data, which `npm run test:python` starts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from priorbook import Client
from priorbook.models import ListedMarket

SERVED: dict[str, Any] = json.loads(os.environ["PRIORBOOK_SERVED"])
VENUES = ("venuea", "venueb", "venuec")


class Server:
    """A server, and a reader of its JSON that shares nothing with the client."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key

    def ask(self, path: str, **query: Any) -> Any:
        """The body of a path; decimals as they are written, times as microseconds."""
        text = urlencode(query)
        address = f"{self.url}{path}{'?' if text else ''}{text}"
        with urlopen(Request(address, headers={"authorization": f"Bearer {self.key}"})) as answer:
            return json.loads(answer.read(), parse_float=Decimal)

    def rows(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All rows of all pages, decimals as text and times as microseconds."""
        rows: list[dict[str, Any]] = []
        style = {"limit": 1000, **query}
        cursor: str | None = None
        while True:
            page = self.ask(path, **style, **({"cursor": cursor} if cursor else {}))
            rows += page["data"]
            cursor = page["pagination"]["next_cursor"]
            if cursor is None:
                return rows


def server_of(name: str) -> Server:
    """A server by its name."""
    if SERVED.get(name) is None:
        pytest.skip("set PRIORBOOK_RECORDINGS to the folder of recordings")
    return Server(**SERVED[name])


@pytest.fixture(scope="session")
def past() -> Server:
    """Rounds that have come and gone."""
    return server_of("past")


@pytest.fixture(scope="session")
def live() -> Server:
    """What goes on being recorded."""
    return server_of("live")


@pytest.fixture(scope="session")
def recorded() -> Server:
    """Recordings of a real venue."""
    return server_of("recordings")


@pytest.fixture(scope="session")
def client(past: Server) -> Iterator[Client]:
    """A client of the past."""
    with Client(past.url, past.key) as made:
        yield made


@pytest.fixture(scope="session")
def busiest(client: Client) -> dict[str, ListedMarket]:
    """The market with the most observations of every venue."""
    found: dict[str, ListedMarket] = {}
    for market in client.markets():
        best = found.get(market.venue)
        if best is None or observations(market) > observations(best):
            found[market.venue] = market
    assert set(found) == set(VENUES)
    return found


def observations(market: ListedMarket) -> int:
    """Recorded books of a market."""
    return market.coverage.observations if market.coverage else 0
