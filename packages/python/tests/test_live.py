"""The stream: live rows, resume after a lost connection, refusals, and recorded rows over the socket."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from conftest import Server
from priorbook import AsyncClient, Client, LiveOptions, OrderBook, RetryPolicy, StreamError
from priorbook.live import Message, Places, Socket
from priorbook.models import Book, BookChange, ListedMarket

PATIENCE = 60.0


def busy(server: Server) -> ListedMarket:
    """A market that goes on trading; shortly before all of them close, one of the next."""
    with Client(server.url, server.key) as client:
        while True:
            later = datetime.now(timezone.utc) + timedelta(seconds=2 * PATIENCE)
            markets = [one for one in client.markets(venue="venueb", status="open") if closes(one) > later]
            if markets:
                return max(markets, key=lambda one: one.coverage.observations if one.coverage else 0)
            time.sleep(1)


def closes(market: ListedMarket) -> datetime:
    """When a market closes."""
    return market.close_time or datetime.max.replace(tzinfo=timezone.utc)


def test_books_of_changes_equal_the_recorded_ones(live: Server) -> None:
    market = busy(live)

    async def follow() -> OrderBook:
        book = OrderBook("venueb")
        rows = 0
        async with AsyncClient(live.url, live.key) as client:
            subscription = {"venue": "venueb", "market_id": market.market_id, "mode": "changes"}
            async with aclosing(client.live(subscription)) as messages:  # type: ignore[arg-type, type-var]
                async for message in messages:
                    if message.type in ("snapshot", "update"):
                        assert book.apply(message)
                        rows += 1
                        if rows >= 15:
                            return book
        raise AssertionError("the stream ended")

    book = asyncio.run(asyncio.wait_for(follow(), PATIENCE))
    assert not book.is_stale
    with Client(live.url, live.key) as client:
        assert book.received_time is not None
        rows = client.market(market).snapshots(
            include_orderbook=True, start_time=book.received_time, end_time=book.received_time + timedelta(seconds=1)
        )
        (expected,) = [row for row in rows if row.sequence == book.sequence]
        assert OrderBook.of(expected).bids() == book.bids()
        assert OrderBook.of(expected).asks() == book.asks()
        assert (expected.mid, expected.spread) == (book.mid, book.spread)


def test_a_lost_connection_is_resumed_without_a_hole(live: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sockets: list[Socket] = []
    begin = Socket.__init__

    def note(self: Socket, *args: Any) -> None:
        begin(self, *args)
        sockets.append(self)

    monkeypatch.setattr(Socket, "__init__", note)

    async def follow() -> list[Message]:
        seen: list[Message] = []
        options = LiveOptions(retry=RetryPolicy(base_delay=0.2))
        async with AsyncClient(live.url, live.key) as client:
            subscription = {"venue": "venueb", "datasets": ["books"]}
            async with aclosing(client.live(subscription, options)) as messages:  # type: ignore[arg-type, type-var]
                async for message in messages:
                    seen.append(message)
                    rows = sum(one.type in ("snapshot", "update") for one in seen)
                    if len(sockets) == 1 and rows >= 40:
                        # Without a closing handshake, as a network fails.
                        sockets[0]._connection.transport.abort()
                    if len(sockets) == 2 and rows >= 120:
                        return seen
        raise AssertionError("the stream ended")

    seen = asyncio.run(asyncio.wait_for(follow(), PATIENCE))
    kinds = [message.type for message in seen]
    assert kinds.count("disconnected") == 1
    assert kinds.count("welcome") == 2
    assert "hole" not in kinds
    last: dict[str, int] = {}
    resynced = {message.key for message in seen if message.type == "resync"}
    for message in seen:
        if message.type not in ("snapshot", "update") or message.key in resynced:
            continue
        assert message.key is not None and message.sequence is not None
        if message.key in last:
            assert message.sequence == last[message.key] + 1
        last[message.key] = message.sequence


def test_refusals_are_errors(live: Server) -> None:
    async def follow(key: str, subscription: Any) -> None:
        async with AsyncClient(live.url, key, retries=0) as client:
            async for _ in client.live(subscription):
                pass

    with pytest.raises(StreamError) as unknown:
        asyncio.run(asyncio.wait_for(follow(live.key, {"venue": "venueb", "market_id": "NONE"}), PATIENCE))
    assert unknown.value.reason == "unknown_market"
    with pytest.raises(Exception, match=r"key|unauth"):
        asyncio.run(asyncio.wait_for(follow("pb_live_wrong", {"venue": "venueb"}), PATIENCE))


def row(sequence: int, previous: int | None, kind: str = "update", is_change: bool = True) -> Message:
    """A message of a made-up book."""
    common: dict[str, Any] = {
        "id": f"venueb:K:{sequence}",
        "venue": "venueb",
        "market_id": "K",
        "received_time": "2026-08-11T00:00:00Z",
        "sequence": sequence,
        "flags": [],
        "native": {},
    }
    import msgspec

    made: Any
    if is_change:
        made = msgspec.convert({**common, "changes": {"side": [], "price": [], "size": []}}, BookChange, strict=False)
    else:
        made = msgspec.convert({**common, "bid_levels": 0, "ask_levels": 0}, Book, strict=False)
    return Message(type=kind, key="K", sequence=sequence, previous_sequence=previous, row=made)


def test_missing_rows_are_holes() -> None:
    places = Places()
    assert places.see(row(1, None, "snapshot", False)) == "next"
    assert places.see(row(2, 1)) == "next"
    assert places.see(row(2, 1)) == "old"
    hole = places.see(row(5, 4))
    assert isinstance(hole, Message)
    assert (hole.type, hole.after_sequence, hole.sequence) == ("hole", 2, 5)
    assert places.resume_of("venueb", None) == {"K": 5}
    places.forget("venueb", "K")
    assert places.resume_of("venueb", None) == {}
    # A change to a book that was never seen.
    assert isinstance(places.see(row(9, 8)), Message)


def test_recorded_rows_come_over_the_socket(past: Server, busiest: dict[str, ListedMarket]) -> None:
    async def play() -> list[Message]:
        async with AsyncClient(past.url, past.key) as client:
            markets = [{"venue": one.venue, "market_id": one.market_id} for one in busiest.values()]
            ranges = [one.coverage for one in busiest.values() if one.coverage]
            start = min(one.first_time for one in ranges if one.first_time)
            end = max(one.last_time for one in ranges if one.last_time) + timedelta(seconds=1)
            return [one async for one in client.socket_replay(markets, start_time=start, end_time=end)]

    messages = asyncio.run(asyncio.wait_for(play(), PATIENCE))
    books = [one for one in messages if one.type in ("snapshot", "update")]
    times = [one.row.received_time for one in books]
    assert times == sorted(times)
    with Client(past.url, past.key) as client:
        expected = [row.id for one in busiest.values() for row in client.market(one).snapshots()]
    assert sorted(one.row.id for one in books) == sorted(expected)
