"""Recorded rows of any markets, merged by received time, with running books and gaps in their places."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from priorbook._chunk import AFTER_GAP, FLAGS, FULL_BOOK, RESTART, Chunk
from priorbook._query import from_micros
from priorbook._tape_tables import parse_micros, rows_within
from priorbook._venues import VENUES
from priorbook.order_book import OrderBook
from priorbook.tape import Tape, read_tape

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class Event:
    """One row, or a gap; ``micros`` is its received time, or the start of the gap."""

    kind: Literal["book", "trade", "sample", "gap"]
    micros: int
    venue: str
    market_id: str
    key: str
    sequence: int
    flags: tuple[str, ...] = ()
    book: OrderBook | None = None
    """The running book after this row; it goes on changing with the next event."""
    data: Mapping[str, Any] | None = None
    """What a trade, a sample or a gap says; prices and sizes are whole numbers of the venue's scales."""

    @property
    def time(self) -> datetime:
        """The received time."""
        return from_micros(self.micros)


Books: TypeAlias = dict[tuple[str, str], OrderBook]
# The merge looks one row ahead in every lane, so a row is applied to its book only when its turn comes.
Lane: TypeAlias = Iterator[tuple[tuple[Any, ...], Callable[[], Event]]]


def replay(tapes: Iterable[Tape | str | Path]) -> Iterator[Event]:
    """
    Merges tapes by received time, then by kind and sequence: books, trades and samples of any markets, and gaps after
    the last row before them. Books are stale in a gap and until the next whole one.
    """
    books: Books = {}
    lanes: list[Lane] = []
    for index, source in enumerate(tapes):
        tape = source if isinstance(source, Tape) else read_tape(source)
        streams: dict[tuple[str, str, str], list[Chunk]] = {}
        for one in tape.chunks:
            header = one.chunk.header
            streams.setdefault((header.kind, header.key, header.metric), []).append(one.chunk)
        lanes += [_rows(chunks, books, tape.bounds(), index) for chunks in streams.values()]
        lanes.append(_gaps(tape, books, index))
    seen: set[tuple[Any, ...]] = set()
    for _order, happen in heapq.merge(*lanes, key=lambda pair: pair[0]):
        event = happen()
        if event.kind == "gap":
            # Files of books and of trades of a market both list its gaps.
            name = (event.venue, event.key, event.micros, (event.data or {}).get("reason"))
            if name in seen:
                continue
            seen.add(name)
        yield event


_RANKS = {"book": 0, "trade": 1, "sample": 2}


def _rows(chunks: list[Chunk], books: Books, bounds: tuple[int, int], index: int) -> Lane:
    for chunk in chunks:
        header, heads = chunk.header, chunk.heads
        inside = rows_within(chunk, *bounds)
        first, last = (int(inside[0]), int(inside[-1])) if len(inside) else (header.count, -1)
        step = _stepper(chunk, books)
        received = heads.received.tolist()
        # Rows before the range build the book; those after it are left out.
        for row in range(first if last >= 0 else 0):
            step(row)
        for row in range(first, last + 1):
            order = (received[row], 0, _RANKS[header.kind], header.first + row, header.venue, header.key, index)
            yield order, partial(step, row)


def _stepper(chunk: Chunk, books: Books) -> Callable[[int], Event]:
    header = chunk.header
    if header.kind == "book":
        return _book_stepper(chunk, books)
    if header.kind == "trade":
        factor = 10 ** (VENUES[header.venue].price_decimals - header.price_decimals)
        return lambda row: _event(chunk, row, data=_trade(chunk, row, factor))
    return lambda row: _event(
        chunk,
        row,
        data={
            "metric": header.metric,
            "value": int(chunk.samples.value[row]),
            "fine": int(chunk.samples.fine[row]),
        },
    )


def _trade(chunk: Chunk, row: int, factor: int) -> dict[str, Any]:
    trades = chunk.trades
    return {
        "trade_id": trades.ids[row],
        "price": int(trades.price[row]) * factor,
        "size": int(trades.size[row]),
        "taker_side": (None, "buy", "sell")[int(trades.taker[row])],
    }


def _book_stepper(chunk: Chunk, books: Books) -> Callable[[int], Event]:
    header, heads, levels = chunk.header, chunk.heads, chunk.levels
    factor = 10 ** (VENUES[header.venue].price_decimals - header.price_decimals)
    name = (header.venue, header.key)
    keys, sizes = levels.keys.tolist(), levels.sizes.tolist()
    ends, flags = levels.counts.cumsum().tolist(), heads.flags.tolist()

    def step(row: int) -> Event:
        book = books.get(name)
        if book is None:
            book = books[name] = OrderBook(header.venue)
        if row == 0 and book.sequence != header.first - 1:
            # The first chunk of a file: it says what the book was before it.
            book.clear()
            for key, units in levels.base.items():
                book.set_units("ask" if key & 1 else "bid", (key >> 1) * factor, units)
            book.is_stale = False
        if flags[row] & RESTART:
            book.clear()
        if flags[row] & (RESTART | AFTER_GAP | FULL_BOOK):
            book.is_stale = False
        for at in range(ends[row - 1] if row else 0, ends[row]):
            key = keys[at]
            book.set_units("ask" if key & 1 else "bid", (key >> 1) * factor, sizes[at])
        book.market_id = header.market
        book.sequence = header.first + row
        book.received_time = from_micros(int(heads.received[row]))
        book.source_time = from_micros(int(heads.source[row])) if heads.has_source[row] else None
        return _event(chunk, row, book=book)

    return step


def _event(chunk: Chunk, row: int, book: OrderBook | None = None, data: Mapping[str, Any] | None = None) -> Event:
    header, heads = chunk.header, chunk.heads
    flags = int(heads.flags[row])
    names = tuple(name for bit, name in enumerate(FLAGS) if flags >> bit & 1)
    kind: Any = header.kind
    return Event(
        kind, int(heads.received[row]), header.venue, header.market, header.key, header.first + row, names, book, data
    )


def _gaps(tape: Tape, books: Books, index: int) -> Lane:
    start, end = tape.bounds()
    found = [(max(parse_micros(gap["start_time"]), start), gap) for gap in tape.gaps]
    for micros, gap in sorted(found, key=lambda pair: pair[0]):
        if micros < end:
            order = (micros, 1, 0, gap["after_sequence"], gap["venue"], gap["key"] or "", index)
            yield order, partial(_open_gap, books, micros, gap)


def _open_gap(books: Books, micros: int, gap: Mapping[str, Any]) -> Event:
    venue, key = gap["venue"], gap["key"]
    for (own_venue, own_key), book in books.items():
        is_own = gap["scope"] == "venue" or key in (own_key, book.market_id)
        if own_venue == venue and is_own:
            # A row after the gap may tell only what differs from the book before it, so that its levels stay.
            book.is_stale = True
    return Event("gap", micros, venue, key or "", key or "", gap["after_sequence"], (), None, gap)
