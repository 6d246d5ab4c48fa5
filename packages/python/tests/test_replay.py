"""Files on disk, merged replay, and books of it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conftest import VENUES, Server
from priorbook import Client, IncompleteFileError, OrderBook, read_arrow, read_parquet, read_tape, replay
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
