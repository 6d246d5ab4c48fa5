"""Recorded rows of any markets, merged by received time, with running books and gaps in their places."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from priorbook._chunk import AFTER_GAP, FLAGS, FULL_BOOK, RESTART, Chunk, Header
from priorbook._query import from_micros, print_micros
from priorbook._tape_tables import parse_micros
from priorbook._venues import VENUES
from priorbook.errors import CorruptChunkError
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


# The merge looks one row ahead in every lane, so a row is applied to its book only when its turn comes.
Lane: TypeAlias = Iterator[tuple[tuple[Any, ...], Callable[[], Event]]]
Gap: TypeAlias = Mapping[str, Any]
# Venue, key and sequence of the last row before a gap that a tape lists.
Explained: TypeAlias = Set[tuple[str, str | None, int]]


def replay(tapes: Iterable[Tape | str | Path]) -> Iterator[Event]:
    """
    Merges tapes by received time, then by kind and sequence: books, trades and samples of any markets, and gaps after
    the last row before them. Books are stale in a gap and until the next whole one. Rows and gaps that several tapes
    have come once; book rows of an instrument that are in none of its tapes, between rows that are, are a gap.
    """
    opened = [source if isinstance(source, Tape) else read_tape(source) for source in tapes]
    running = _Running()
    explained = {(gap["venue"], gap["key"], gap["after_sequence"]) for tape in opened for gap in tape.gaps}
    lanes = [_rows(pieces, running, explained) for pieces in _streams_of(opened).values()]
    lanes.append(_gaps(opened, running))
    for _order, happen in heapq.merge(*lanes, key=lambda pair: pair[0]):
        yield happen()


_RANKS = {"book": 0, "trade": 1, "sample": 2}


class _Piece:
    """A chunk of a tape, of which the rows from ``begin`` up to ``stop`` are in the range of the tape."""

    def __init__(self, chunk: Chunk, start: int, end: int) -> None:
        self.chunk = chunk
        self.begin = 0 if chunk.header.first_received >= start else _row_at(chunk, start)
        self._end = end

    @property
    def first(self) -> int:
        """The sequence of the first row in the range."""
        return self.chunk.header.first + self.begin

    @property
    def stop(self) -> int:
        """The row after the last one in the range."""
        header = self.chunk.header
        return header.count if header.last_received < self._end else _row_at(self.chunk, self._end)


def _row_at(chunk: Chunk, time: int) -> int:
    """The first row received at or after a time."""
    return int(chunk.heads.received.searchsorted(time))


def _streams_of(tapes: Iterable[Tape]) -> dict[tuple[str, ...], list[_Piece]]:
    """The pieces of every stream, whatever tapes they are in, in the order of their rows."""
    streams: dict[tuple[str, ...], list[_Piece]] = {}
    for tape in tapes:
        start, end = tape.bounds()
        for one in tape.chunks:
            header = one.chunk.header
            if header.last_received >= start and header.first_received < end:
                name = (header.venue, header.kind, header.key, header.metric)
                streams.setdefault(name, []).append(_Piece(one.chunk, start, end))
    for pieces in streams.values():
        pieces.sort(key=lambda piece: piece.first)
    return streams


class _Running:
    """The books as they are now, and the gaps so far."""

    def __init__(self) -> None:
        self._books: dict[tuple[str, str], OrderBook] = {}
        self._gaps: list[tuple[int, Gap]] = []

    def book_of(self, header: Header) -> OrderBook:
        """The book of an instrument, empty before its first row."""
        name = (header.venue, header.key)
        if name not in self._books:
            self._books[name] = OrderBook(header.venue)
        return self._books[name]

    def open_gap(self, micros: int, gap: Gap) -> Event:
        """Makes the books of a gap stale."""
        self._gaps.append((micros, gap))
        for (venue, key), book in self._books.items():
            if _concerns(gap, venue, key, book.market_id):
                # A row after the gap may tell only what differs from the book before it, so that its levels stay.
                book.is_stale = True
        venue, key = gap["venue"], gap["key"]
        return Event("gap", micros, venue, key or "", key or "", gap["after_sequence"], (), None, gap)

    def has_gap_after(self, header: Header, micros: int) -> bool:
        """True where a gap of an instrument has begun after a time."""
        return any(at > micros and _concerns(gap, header.venue, header.key, header.market) for at, gap in self._gaps)


def _concerns(gap: Gap, venue: str, key: str, market: str | None) -> bool:
    return bool(gap["venue"] == venue and (gap["scope"] == "venue" or gap["key"] in (key, market)))


class _Place(NamedTuple):
    """A row of a stream."""

    sequence: int
    micros: int


def _rows(pieces: Iterable[_Piece], running: _Running, explained: Explained) -> Lane:
    """The rows of one stream, each of them once, with gaps for book rows that are in no tape."""
    last = _Place(0, 0)
    for piece in pieces:
        header = piece.chunk.header
        if header.first + header.count - 1 <= last.sequence:
            continue
        begin, stop = max(piece.begin, last.sequence + 1 - header.first), piece.stop
        if begin >= stop:
            continue
        received = piece.chunk.heads.received.tolist()
        first = _Place(header.first + begin, received[begin])
        _check_order(header, last, first)
        gap = _missing_rows(header, last, first, explained)
        if gap is not None:
            yield _order_of_gap(last.micros, gap), partial(running.open_gap, last.micros, gap)
        step = _stepper(piece.chunk, running)
        for row in range(begin, stop):
            order = (received[row], 0, _RANKS[header.kind], header.first + row, header.venue, header.key, header.metric)
            yield order, partial(step, row)
        last = _Place(header.first + stop - 1, received[stop - 1])


def _check_order(header: Header, last: _Place, first: _Place) -> None:
    """Refuses tapes from before and after a rebuild: together they would make a history that never happened."""
    if first.micros < last.micros:
        name = f"{header.venue}:{header.key}"
        raise CorruptChunkError(f"{name} goes back in time at row {first.sequence}: the tapes are not of one history")


def _missing_rows(header: Header, last: _Place, first: _Place, explained: Explained) -> Gap | None:
    """The gap of book rows that no tape has, from the row before to the row after, as a tape would list it."""
    missing = first.sequence - last.sequence - 1
    is_explained = (header.venue, header.key, last.sequence) in explained
    if header.kind != "book" or last.sequence == 0 or missing == 0 or is_explained:
        return None
    return {
        "venue": header.venue,
        "scope": "instrument",
        "key": header.key,
        "reason": "corrupt",
        "start_time": print_micros(last.micros),
        "end_time": print_micros(first.micros),
        "source_start_time": None,
        "source_end_time": None,
        "after_sequence": last.sequence,
        "detail": f"{missing} book rows are in none of the files",
    }


def _stepper(chunk: Chunk, running: _Running) -> Callable[[int], Event]:
    header = chunk.header
    if header.kind == "book":
        return _book_stepper(chunk, running)
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


def _book_stepper(chunk: Chunk, running: _Running) -> Callable[[int], Event]:
    header, heads, levels = chunk.header, chunk.heads, chunk.levels
    factor = 10 ** (VENUES[header.venue].price_decimals - header.price_decimals)
    keys, sizes = levels.keys.tolist(), levels.sizes.tolist()
    ends, flags = levels.counts.cumsum().tolist(), heads.flags.tolist()

    def apply(book: OrderBook, row: int) -> None:
        if flags[row] & RESTART:
            book.clear()
        if flags[row] & (RESTART | AFTER_GAP | FULL_BOOK):
            book.is_stale = False
        for at in range(ends[row - 1] if row else 0, ends[row]):
            key = keys[at]
            book.set_units("ask" if key & 1 else "bid", (key >> 1) * factor, sizes[at])

    def rebuild(book: OrderBook, row: int) -> None:
        # The chunk says what the book was before it; its rows that are not in the range are applied unseen.
        book.clear()
        for key, units in levels.base.items():
            book.set_units("ask" if key & 1 else "bid", (key >> 1) * factor, units)
        book.is_stale = False
        for before in range(row):
            apply(book, before)
        if row > 0 and running.has_gap_after(header, int(heads.received[row - 1])):
            book.is_stale = True

    def step(row: int) -> Event:
        book = running.book_of(header)
        if book.sequence != header.first + row - 1:
            rebuild(book, row)
        apply(book, row)
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


_GAP_NAME = ("venue", "key", "scope", "reason", "start_time", "after_sequence")


def _gaps(tapes: Iterable[Tape], running: _Running) -> Lane:
    """Every gap once: files of books and of trades of a market both list its gaps, and so do files of two days."""
    found: dict[tuple[Any, ...], tuple[int, Gap]] = {}
    for tape in tapes:
        start, end = tape.bounds()
        for gap in tape.gaps:
            micros = max(parse_micros(gap["start_time"]), start)
            if micros >= end:
                continue
            name = tuple(gap[field] for field in _GAP_NAME)
            earlier, known = found.get(name, (micros, gap))
            # It may have been open still when a tape was written.
            found[name] = (min(micros, earlier), gap if known["end_time"] is None else known)
    for micros, gap in sorted(found.values(), key=lambda pair: _order_of_gap(*pair)):
        yield _order_of_gap(micros, gap), partial(running.open_gap, micros, gap)


def _order_of_gap(micros: int, gap: Gap) -> tuple[Any, ...]:
    return (micros, 1, 0, gap["after_sequence"], gap["venue"], gap["key"] or "", "")
