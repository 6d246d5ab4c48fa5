"""The book of one instrument, held exactly: whole numbers inside, decimals outside."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from priorbook._query import DecimalInput
from priorbook._venues import VENUES
from priorbook.errors import ClientError
from priorbook.models import Book, BookChange


class Level(NamedTuple):
    """One level."""

    price: Decimal
    size: Decimal


class OrderBook:
    """Feed it rows, or messages of the stream; after a hole it is stale until the next whole book."""

    def __init__(self, venue: str) -> None:
        if venue not in VENUES:
            raise ClientError("invalid_option", f"there is no venue {venue}: {', '.join(VENUES)}")
        self.venue = venue
        self.price_decimals = VENUES[venue].price_decimals
        self.size_decimals = VENUES[venue].size_decimals
        self.bid_units: dict[int, int] = {}
        """Sizes in units of 10^-size_decimals by price in ticks of 10^-price_decimals."""
        self.ask_units: dict[int, int] = {}
        self.market_id: str | None = None
        self.token_id: str | None = None
        self.sequence = 0
        """The sequence of the last row; 0 before the first."""
        self.received_time: datetime | None = None
        self.source_time: datetime | None = None
        self.is_stale = True
        """True before the first row and after missed changes: the book may then differ from the market."""

    @classmethod
    def of(cls, row: Book) -> OrderBook:
        """A book of its first row."""
        book = cls(row.venue)
        book.apply_row(row)
        return book

    def apply(self, message: Any) -> bool:
        """
        Applies a message of the stream. False where it cannot be applied: it is older than the book, or it changes
        a book that was not seen, which makes this book stale.
        """
        row = message.row
        if message.type == "update":
            if message.sequence <= self.sequence:
                return False
            needs_book = isinstance(row, BookChange) and "restart" not in row.flags
            if needs_book and (self.is_stale or message.previous_sequence != self.sequence):
                self.is_stale = True
                return False
        self.apply_row(row)
        return True

    def apply_row(self, row: Book | BookChange) -> None:
        """Applies a row: a whole book, or changes to the current one."""
        if row.venue != self.venue:
            raise ClientError("invalid_option", f"a row of {row.venue} in a book of {self.venue}")
        if isinstance(row, BookChange):
            self._change(row)
        else:
            self._replace(row)
        self.market_id = row.market_id
        self.token_id = row.token_id
        self.sequence = row.sequence
        self.received_time = row.received_time
        self.source_time = row.source_time

    def set_units(self, side: str, ticks: int, units: int) -> None:
        """Sets the size of a level in whole numbers; 0 removes it."""
        levels = self.bid_units if side == "bid" else self.ask_units
        if units == 0:
            levels.pop(ticks, None)
        else:
            levels[ticks] = units

    def clear(self) -> None:
        """Empties the book; it is stale until the next whole one."""
        self.bid_units.clear()
        self.ask_units.clear()
        self.is_stale = True

    def bids(self, depth: int | None = None) -> list[Level]:
        """Bids, highest first."""
        return self._levels(sorted(self.bid_units.items(), reverse=True)[:depth])

    def asks(self, depth: int | None = None) -> list[Level]:
        """Asks, lowest first."""
        return self._levels(sorted(self.ask_units.items())[:depth])

    @property
    def best_bid(self) -> Level | None:
        """The highest bid."""
        return self._levels([max(self.bid_units.items())])[0] if self.bid_units else None

    @property
    def best_ask(self) -> Level | None:
        """The lowest ask."""
        return self._levels([min(self.ask_units.items())])[0] if self.ask_units else None

    @property
    def mid(self) -> Decimal | None:
        """Half-way between the best prices, exact; None unless both sides have levels."""
        if not self.bid_units or not self.ask_units:
            return None
        return _plain((max(self.bid_units) + min(self.ask_units)) * 5, self.price_decimals + 1)

    @property
    def spread(self) -> Decimal | None:
        """Best ask less best bid, exact."""
        if not self.bid_units or not self.ask_units:
            return None
        return _plain(min(self.ask_units) - max(self.bid_units), self.price_decimals)

    def size_at(self, side: str, price: DecimalInput) -> Decimal:
        """The size that rests at a price; 0 where none does."""
        levels = self.bid_units if side == "bid" else self.ask_units
        ticks = Decimal(price).scaleb(self.price_decimals)
        return _plain(levels.get(int(ticks), 0) if ticks == int(ticks) else 0, self.size_decimals)

    def depth(self, side: str, levels: int | None = None) -> Decimal:
        """How much rests on a side down to so many levels."""
        own = self.bids(levels) if side == "bid" else self.asks(levels)
        return sum((level.size for level in own), Decimal(0))

    def _levels(self, items: Iterable[tuple[int, int]]) -> list[Level]:
        return [Level(_plain(ticks, self.price_decimals), _plain(units, self.size_decimals)) for ticks, units in items]

    def _replace(self, row: Book) -> None:
        if row.bids is None or row.asks is None:
            raise ClientError("invalid_option", "the row has no ladders: ask for include_orderbook=True")
        self.clear()
        for side, ladder in (("bid", row.bids), ("ask", row.asks)):
            for price, size in zip(ladder.price, ladder.size, strict=True):
                self._set(side, price, size)
        self.is_stale = False

    def _change(self, row: BookChange) -> None:
        is_restart = "restart" in row.flags
        if is_restart:
            self.clear()
        changes = row.changes
        for side, price, size in zip(changes.side, changes.price, changes.size, strict=True):
            self._set(side, price, size)
        if is_restart:
            self.is_stale = False

    def _set(self, side: str, price: Decimal, size: Decimal) -> None:
        ticks, units = price.scaleb(self.price_decimals), size.scaleb(self.size_decimals)
        if ticks != int(ticks) or units != int(units) or not 0 < price < 1 or units < 0:
            raise ClientError("bad_answer", f"a level of {price} × {size} is none")
        self.set_units(side, int(ticks), int(units))


# Without zeros at the end, and never with an exponent.
def _plain(units: int, decimals: int) -> Decimal:
    value = Decimal(units).scaleb(-decimals).normalize()
    exponent = value.as_tuple().exponent
    return value.quantize(Decimal(1)) if isinstance(exponent, int) and exponent > 0 else value
