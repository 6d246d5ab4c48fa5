"""Files on disk, merged replay, and books of it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conftest import VENUES, Server
from priorbook import (
    Client,
    CorruptChunkError,
    IncompleteFileError,
    OrderBook,
    Tape,
    read_arrow,
    read_parquet,
    read_tape,
    replay,
)
from priorbook._query import print_micros
from priorbook.models import ListedMarket


def tapes(client: Client, folder: Path, markets: dict[str, ListedMarket]) -> list[Path]:
    """Books and trades of markets."""
    paths = []
    for market in markets.values():
        for dataset in ("books", "trades"):
            scope: dict[str, Any] = {"venue": market.venue, "market_id": market.market_id, "dataset": dataset}
            paths.append(client.download(folder / f"{market.venue}-{dataset}.tape", format="tape", **scope))
    return paths


def test_rows_of_all_markets_are_merged_by_received_time(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path
) -> None:
    events = list(replay(tapes(client, tmp_path, busiest)))
    times = [event.micros for event in events]
    assert times == sorted(times)
    assert {event.venue for event in events} == set(VENUES)
    for market in busiest.values():
        own = client.market(market)
        books = [
            (event.key, event.sequence) for event in events if event.kind == "book" and event.venue == market.venue
        ]
        expected = [row.id.split(":") for row in own.snapshots()]
        assert sorted(books) == sorted((key, int(sequence)) for _, key, sequence in expected)
        trades = [event for event in events if event.kind == "trade" and event.venue == market.venue]
        assert [(event.data or {})["trade_id"] for event in trades] == [row.trade_id for row in own.trades()]


@pytest.mark.parametrize("venue", VENUES)
def test_running_books_equal_the_recorded_ones(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str
) -> None:
    market = busiest[venue]
    path = client.download(tmp_path / "x.tape", format="tape", venue=venue, market_id=market.market_id)
    expected = {row.id: OrderBook.of(row) for row in client.market(market).snapshots(include_orderbook=True)}
    compared = 0
    for event in replay([path]):
        if event.kind != "book":
            continue
        assert event.book is not None
        wanted = expected[f"{venue}:{event.key}:{event.sequence}"]
        # Pages cut books of venue B at 100 levels a side.
        assert event.book.bids(100) == wanted.bids()
        assert event.book.asks(100) == wanted.asks()
        assert event.book.received_time == wanted.received_time
        compared += 1
    assert compared == len(expected) > 0


def test_gaps_stand_in_their_places_and_make_books_stale(recorded: Server, tmp_path: Path) -> None:
    with Client(recorded.url, recorded.key) as client:
        ticker = "KXGOLD15M-26AUG102130-30"
        path = client.download(tmp_path, format="tape", venue="venueb", market_id=ticker)
        gaps = [gap for gap in client.gaps(venue="venueb", market=ticker) if gap.reason == "disconnected"]
    assert len(gaps) == 1
    book: OrderBook | None = None
    found = 0
    for event in replay([path]):
        if event.kind == "book":
            book = event.book
        elif (event.data or {}).get("reason") == "disconnected":
            found += 1
            assert book is not None
            assert book.is_stale and book.sequence == gaps[0].after_sequence
            assert event.time == gaps[0].start_time
    assert found == 1


def test_a_part_of_a_tape_begins_with_its_book(recorded: Server, tmp_path: Path) -> None:
    with Client(recorded.url, recorded.key) as client:
        market = max(client.markets(), key=lambda one: one.coverage.observations if one.coverage else 0)
        assert market.coverage is not None and market.coverage.first_time is not None
        start = market.coverage.first_time + timedelta(minutes=3)
        scope: dict[str, Any] = {"venue": "venueb", "market_id": market.market_id}
        times: dict[str, Any] = {"start_time": start, "end_time": start + timedelta(seconds=20)}
        path = client.download(tmp_path, format="tape", **scope, **times)
        expected = client.market(market).snapshots(include_orderbook=True, **times).to_list()
        events = [event for event in replay([path]) if event.kind == "book"]
        assert [event.sequence for event in events] == [row.sequence for row in expected]
        for event, row in zip(replay([path]), expected, strict=False):
            if event.book is None:
                break
            assert event.book.bids(100) == OrderBook.of(row).bids()


class Recorded:
    """A market of the past: files of parts of it, and when its rows were received."""

    def __init__(self, client: Client, folder: Path, market: ListedMarket) -> None:
        self._client = client
        self._folder = folder
        self._scope: dict[str, Any] = {"venue": market.venue, "market_id": market.market_id, "format": "tape"}
        self.times = sorted({event.micros for event in replay(self.files(None, None)) if event.kind == "book"})

    def files(self, start: int | None, end: int | None) -> list[Path]:
        """Books and trades of a part; chunks that overlap it are whole."""
        scope = {**self._scope, "start_time": start, "end_time": end}
        return [
            self._client.download(self._folder / f"{dataset}-{start}-{end}.tape", dataset=dataset, **scope)
            for dataset in ("books", "trades")
        ]

    def at(self, part: float) -> int:
        """The time of the row after a part of all."""
        return self.times[int(part * len(self.times))]


def told(sources: Iterable[Tape | Path]) -> list[tuple[Any, ...]]:
    """Everything that a replay says, with the books as they are then."""
    return [
        (one.kind, one.micros, one.key, one.sequence, one.flags, book_of(one.book), one.data) for one in replay(sources)
    ]


def book_of(book: OrderBook | None) -> Any:
    """A copy of a running book."""
    if book is None:
        return None
    return sorted(book.bid_units.items()), sorted(book.ask_units.items()), book.is_stale, book.received_time


@pytest.mark.parametrize("venue", VENUES)
def test_tapes_of_parts_are_replayed_as_one(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str
) -> None:
    market = Recorded(client, tmp_path, busiest[venue])
    whole = told(market.files(None, None))
    assert len(whole) > 40
    early, late = market.at(0.4), market.at(0.7)
    begin, end = market.files(None, early), market.files(early, None)
    assert told([*begin, *end]) == whole
    assert told([*end, *begin]) == whole
    # Rows that both have come once.
    assert told([*market.files(None, late), *end]) == whole
    assert told([*end, *market.files(None, None), *market.files(early, late)]) == whole


@pytest.mark.parametrize("venue", VENUES)
def test_rows_that_no_tape_has_are_a_gap(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str
) -> None:
    market = Recorded(client, tmp_path, busiest[venue])
    early, late = market.at(0.6), market.at(0.8)
    rows = [row for row in told(market.files(None, None)) if row[0] == "book"]
    files = [*market.files(None, early), *market.files(late, None)]
    assert [row for row in told(files) if row[0] == "book"] == [row for row in rows if not early <= row[1] < late]

    listed = {(gap["key"], gap["after_sequence"]) for path in files for gap in read_tape(path).gaps}
    befores = {row[2]: row for row in rows if row[1] < early}
    afters = {row[2]: row for row in reversed(rows) if row[1] >= late}
    keys = {key for key in {*befores} & {*afters} if afters[key][3] > befores[key][3] + 1}
    keys = {key for key in keys if (key, befores[key][3]) not in listed}
    missing = [event for event in replay(files) if event.data is not None and event.data.get("detail")]
    missing = [event for event in missing if "in none of the files" in (event.data or {})["detail"]]
    assert {event.key for event in missing} == keys and len(missing) == len(keys)
    for event in missing:
        before, after = befores[event.key], afters[event.key]
        assert (event.micros, event.sequence, event.book) == (before[1], before[3], None)
        assert event.data == {
            "venue": venue,
            "scope": "instrument",
            "key": event.key,
            "reason": "corrupt",
            "start_time": print_micros(before[1]),
            "end_time": print_micros(after[1]),
            "source_start_time": None,
            "source_end_time": None,
            "after_sequence": before[3],
            "detail": f"{after[3] - before[3] - 1} book rows are in none of the files",
        }


def part_of(tape: Tape, first: int, last: int, gaps: Iterable[dict[str, Any]] = ()) -> Tape:
    """A tape of some rows of one chunk, which it has whole, with gaps of its own."""
    received = tape.chunks[0].chunk.heads.received
    span = {"start_time": print_micros(int(received[first])), "end_time": print_micros(int(received[last]) + 1)}
    return replace(tape, receipt={**tape.receipt, "range": span}, chunks=tape.chunks[:1], gaps=list(gaps))


def plain_rows(tape: Tape) -> list[int]:
    """Six rows of the first chunk that change a book and are alone at their time, with others between them."""
    chunk = tape.chunks[0].chunk
    times, flags = chunk.heads.received.tolist(), chunk.heads.flags.tolist()
    alone = [row for row in range(1, len(times) - 1) if times[row - 1] < times[row] < times[row + 1]]
    plain = [row for row in alone if not flags[row] & (1 | 64 | 128) and times[row] - times[row - 1] > 1]
    assert len(plain) > 12
    return plain[:: len(plain) // 6]


@pytest.fixture(scope="module")
def tape(client: Client, busiest: dict[str, ListedMarket], tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """The books of a market whose rows are changes, without its gaps."""
    folder = tmp_path_factory.mktemp("tape")
    path = client.download(folder, format="tape", venue="venueb", market_id=busiest["venueb"].market_id)
    return replace(read_tape(path), gaps=[])


def gap_of(tape: Tape, start: int, end: int | None, after: int, reason: str = "disconnected") -> dict[str, Any]:
    """A gap of the instrument of a tape as tapes list it."""
    header = tape.chunks[0].chunk.header
    return {
        "venue": header.venue,
        "scope": "instrument",
        "key": header.key,
        "reason": reason,
        "start_time": print_micros(start),
        "end_time": None if end is None else print_micros(end),
        "source_start_time": None,
        "source_end_time": None,
        "after_sequence": after,
        "detail": None,
    }


def test_tapes_that_share_a_chunk_show_no_levels_of_later_rows(tape: Tape) -> None:
    _, first, middle, overlap, end = plain_rows(tape)[:5]
    times = tape.chunks[0].chunk.heads.received.tolist()
    books = [row for row in told([tape]) if row[0] == "book" and times[first] <= row[1] < times[end]]
    assert [row[3] for row in books] == [tape.chunks[0].chunk.header.first + row for row in range(first, end)]
    assert told([part_of(tape, first, middle - 1), part_of(tape, middle, end - 1)]) == books
    assert told([part_of(tape, middle, end - 1), part_of(tape, first, overlap)]) == books


def test_rows_of_a_shared_chunk_that_are_in_no_range_are_a_gap(tape: Tape) -> None:
    _, last, first, end = plain_rows(tape)[:4]
    chunk = tape.chunks[0].chunk
    times, sequence = chunk.heads.received.tolist(), chunk.header.first + last
    rows = told([part_of(tape, 0, last), part_of(tape, first, end)])
    at = [row[0] for row in rows].index("gap")
    gap = gap_of(tape, times[last], times[first], sequence, "corrupt")
    assert rows[at][1] == times[last] == rows[at - 1][1]
    assert rows[at][-1] == {**gap, "detail": f"{first - last - 1} book rows are in none of the files"}
    books = {row[3]: row for row in told([tape]) if row[0] == "book"}
    assert [row for row in rows if row[0] == "book"] == [
        books[chunk.header.first + row] for row in [*range(last + 1), *range(first, end + 1)]
    ]


def test_a_book_is_stale_until_the_row_after_the_missing_ones(tape: Tape) -> None:
    _, last, first, end = plain_rows(tape)[:4]
    book: OrderBook | None = None
    stale: list[bool] = []
    for event in replay([part_of(tape, 0, last), part_of(tape, first, end)]):
        book = event.book or book
        assert book is not None
        stale.append(book.is_stale)
    # The chunk says what the book was before the row after them.
    assert stale == [False] * (last + 1) + [True] + [False] * (end + 1 - first)


def test_missing_rows_that_a_tape_lists_as_a_gap_are_one_gap(tape: Tape) -> None:
    _, last, first, end = plain_rows(tape)[:4]
    chunk = tape.chunks[0].chunk
    times, sequence = chunk.heads.received.tolist(), chunk.header.first + last
    listed = gap_of(tape, times[last], times[first], sequence, "retention")
    rows = told([part_of(tape, 0, last, [listed]), part_of(tape, first, end)])
    assert [row[-1] for row in rows if row[0] == "gap"] == [listed]
    # A gap after another row explains nothing.
    other = gap_of(tape, times[last - 1], times[last], sequence - 1)
    rows = told([part_of(tape, 0, last, [other]), part_of(tape, first, end)])
    assert [row[-1]["reason"] for row in rows if row[0] == "gap"] == ["disconnected", "corrupt"]


def test_a_gap_that_two_tapes_list_comes_once(tape: Tape) -> None:
    _, last, end = plain_rows(tape)[:3]
    times = tape.chunks[0].chunk.heads.received.tolist()
    still_open = gap_of(tape, times[last] + 1, None, tape.chunks[0].chunk.header.first + last)
    closed = {**still_open, "end_time": print_micros(times[last + 1])}
    one, other = part_of(tape, 0, last, [still_open]), part_of(tape, last + 1, end, [closed])
    # The first tape ends within the gap, the second one begins within it.
    span = {"start_time": one.receipt["range"]["start_time"], "end_time": print_micros(times[last] + 2)}
    one.receipt = {**one.receipt, "range": span}
    for sources in ([one, other], [other, one]):
        gaps = [row for row in told(sources) if row[0] == "gap"]
        assert [(row[1], row[-1]) for row in gaps] == [(times[last] + 1, closed)]


def test_a_book_that_begins_after_a_gap_is_stale(tape: Tape) -> None:
    _, first, end = plain_rows(tape)[:3]
    times = tape.chunks[0].chunk.heads.received.tolist()
    gap = gap_of(tape, times[first] - 1, None, tape.chunks[0].chunk.header.first + first - 1)
    part = part_of(tape, first, end, [gap])
    span = {**part.receipt["range"], "start_time": print_micros(times[first] - 1)}
    rows = told([replace(part, receipt={**part.receipt, "range": span})])
    assert [row[0] for row in rows[:2]] == ["gap", "book"]
    assert rows[1][5][2] is True


def test_tapes_of_two_histories_are_refused(tape: Tape) -> None:
    chunk = copy.copy(tape.chunks[0].chunk)
    chunk.header = replace(chunk.header, first=chunk.header.first + chunk.header.count)
    later = replace(tape, chunks=[replace(tape.chunks[0], chunk=chunk)])
    with pytest.raises(CorruptChunkError, match="goes back in time at row"):
        told([replace(tape, chunks=tape.chunks[:1]), later])


@pytest.mark.parametrize("venue", VENUES)
def test_files_hold_the_same_in_all_formats(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str
) -> None:
    scope: dict[str, Any] = {"venue": venue, "market_id": busiest[venue].market_id}
    arrow = read_arrow(client.download(tmp_path, format="arrow", verify=True, **scope))
    parquet = read_parquet(client.download(tmp_path, format="parquet", verify=True, progress=True, **scope))
    assert arrow.to_pylist() == parquet.to_pylist()
    assert arrow.to_pylist() == client.market(busiest[venue]).books().to_arrow().to_pylist()
    tape = read_tape(client.download(tmp_path, format="tape", verify=True, **scope))
    assert tape.to_arrow().column("id").to_pylist() == arrow.column("id").to_pylist()
    assert read_arrow(next(tmp_path.glob("*.arrow*")), shape="long").schema.field("level").type == pa.int32()


def test_cut_files_are_refused(client: Client, busiest: dict[str, ListedMarket], tmp_path: Path) -> None:
    market = busiest["venueb"]
    path = client.download(tmp_path, format="arrow", venue="venueb", market_id=market.market_id)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(IncompleteFileError):
        read_arrow(path)


def test_books_are_exact() -> None:
    book = OrderBook("venueb")
    book.set_units("bid", 4800, 150)
    book.set_units("bid", 4700, 7000)
    book.set_units("ask", 5300, 25)
    assert book.best_bid == (Decimal("0.48"), Decimal("1.5"))
    assert book.mid == Decimal("0.505")
    assert book.spread == Decimal("0.05")
    assert book.size_at("bid", "0.47") == 70
    assert str(book.size_at("bid", "0.47")) == "70"
    assert book.size_at("ask", "0.47") == 0
    assert book.depth("bid") == Decimal("71.5")
    book.set_units("ask", 5300, 0)
    assert book.mid is None and book.best_ask is None
