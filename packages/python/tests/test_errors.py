"""Failures: what the server says, what a network does, and rows that do not arrive."""

from __future__ import annotations

import asyncio
import copy
import json
import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pytest

from conftest import Server
from priorbook import (
    ApiError,
    AsyncClient,
    AuthenticationError,
    BacktestError,
    BadRequestError,
    Client,
    ClientError,
    CorruptChunkError,
    IncompleteFileError,
    IncompleteWalkError,
    NetworkError,
    NotFoundError,
    OrderBook,
    PlanError,
    PriorbookError,
    RateLimitError,
    RetryEvent,
    RetryPolicy,
    ServerError,
    StrategyError,
    StreamError,
    read_tape,
)

QUICK = RetryPolicy(retries=3, base_delay=0.01, max_delay=0.02)
Reply = tuple[int, dict[str, str], bytes]


@contextmanager
def scripted(replies: Callable[[int, str], Reply]) -> Iterator[str]:
    """A server that answers its n-th request as the script says."""
    count = 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal count
            count += 1
            status, headers, body = replies(count, self.path)
            self.send_response(status)
            length = headers.pop("content-length", str(len(body)))
            for name, value in {"content-type": "application/json", "content-length": length, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def gap(number: int) -> dict[str, Any]:
    return {
        "venue": "venueb",
        "scope": "venue",
        "key": None,
        "reason": "disconnected",
        "start_time": f"2026-08-11T00:00:{number:02d}.000000Z",
        "end_time": None,
        "source_start_time": None,
        "source_end_time": None,
        "after_sequence": number,
        "detail": None,
    }


def sample(key: str, sequence: int) -> dict[str, Any]:
    return {
        "id": f"venuea:{key}/price:{sequence}",
        "venue": "venuea",
        "market_id": "1",
        "received_time": "2026-08-11T00:00:00.000000Z",
        "sequence": sequence,
        "price": 0.5,
        "flags": [],
    }


def page(rows: list[dict[str, Any]], cursor: str | None, receipt: Any = None) -> bytes:
    meta: dict[str, Any] = {
        "count": len(rows),
        "range": None,
        "gaps": [],
        "market": None,
        "schema_version": "3.0",
        "notices": [],
    }
    if receipt is not None:
        meta["receipt"] = receipt
    return json.dumps(
        {"data": rows, "meta": meta, "pagination": {"next_cursor": cursor, "has_more": cursor is not None}}
    ).encode()


def test_problems_are_typed(client: Client, past: Server) -> None:
    with pytest.raises(NotFoundError) as unknown:
        client.market("venueb", "NONE").record()
    assert (unknown.value.code, unknown.value.status) == ("unknown_market", 404)
    assert unknown.value.param == "market_ticker"
    assert unknown.value.hint and unknown.value.request_id
    with pytest.raises(BadRequestError) as wrong:
        client.gaps(limit=5000).page()
    assert wrong.value.param == "limit"
    with pytest.raises(AuthenticationError), Client(past.url, "pb_live_wrong", retries=0) as stranger:
        stranger.whoami()
    assert issubclass(NotFoundError, ApiError)


PROBLEM: dict[str, Any] = {
    "code": "invalid_parameter",
    "status": 400,
    "title": "A parameter is wrong.",
    "detail": "the market has no outcome",
    "param": "outcome",
    "allowed": ["Yes"],
    "hint": "say Yes",
    "plan": "pro",
    "limit": "rows",
    "retry_after": 1.5,
    "request_id": "r1",
}
API_ERRORS = (ApiError, BadRequestError, AuthenticationError, PlanError, NotFoundError, RateLimitError, ServerError)
ERRORS: list[PriorbookError] = [
    PriorbookError("something"),
    ClientError("bad_answer"),
    NetworkError("timed_out", "no answer in 3 s"),
    IncompleteWalkError("1 of 3 rows did not arrive", {"rows": 3}, 2),
    IncompleteFileError("the file ends within a frame"),
    CorruptChunkError("no magic"),
    StreamError("unknown_market", "there is no such market", close_code=4404, hint="look", error_code="x"),
    BacktestError("no such file", status=4, reason="not_found", hint="look"),
    StrategyError("nothing there", ["report"]),
    *(kind(**PROBLEM) for kind in API_ERRORS),
]


def kinds_of(kind: type[PriorbookError]) -> set[type[PriorbookError]]:
    """A class of errors and all below it."""
    return {kind}.union(*(kinds_of(below) for below in kind.__subclasses__()))


def test_every_error_can_be_sent_to_another_process() -> None:
    assert {type(error) for error in ERRORS} == kinds_of(PriorbookError)
    for error in ERRORS:
        copies = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for again in (*copies, copy.copy(error), copy.deepcopy(error)):
            assert type(again) is type(error)
            assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_an_error_in_a_pool_of_processes_reaches_its_parent() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(ClientError, match="there is no venue nowhere") as wrong:
            pool.apply_async(OrderBook, ("nowhere",)).get(timeout=120)
        assert wrong.value.code == "invalid_option"
        with pytest.raises(IncompleteFileError, match="not a tape"):
            pool.apply_async(read_tape, (b"",)).get(timeout=120)


def test_options_are_checked_and_the_key_is_never_repeated(client: Client) -> None:
    for url, key in (("ftp://x", "k"), ("http://a:b@x", "k"), ("http://x", "sec ret"), ("http://x", "")):
        with pytest.raises(ClientError) as refused:
            Client(url, key)
        assert refused.value.code == "invalid_option"
        assert "sec ret" not in str(refused.value)
    with pytest.raises(ClientError, match="float"):
        client.market("venueb", "X").execution(side="buy", size=1.5)  # type: ignore[arg-type]
    with pytest.raises(ClientError, match="venue"):
        client.market("nowhere", "X")


def test_retry_after_is_honoured() -> None:
    events: list[RetryEvent] = []

    def replies(count: int, _: str) -> Reply:
        if count == 1:
            return 429, {"retry-after": "1"}, b'{"code":"rate_limited","title":"t","detail":"d"}'
        return 200, {}, page([gap(1)], None, {"rows": 1, "gaps": 0})

    with scripted(replies) as url, Client(url, "k", retries=QUICK, on_retry=events.append) as client:
        begun = time.monotonic()
        assert len(client.gaps().to_list()) == 1
        assert time.monotonic() - begun >= 1
    assert isinstance(events[0].error, RateLimitError)
    assert events[0].delay >= 1


def test_columns_of_coverage_need_no_second_request() -> None:
    asked: list[str] = []
    row = {
        "kind": "dataset",
        "venue": "venueb",
        "dataset": "books",
        "assets": ["BTC"],
        "windows": None,
        "venue_floor": None,
        "year_inferred": False,
        "backfilled": False,
        "capture_started_time": "2026-08-11T00:00:00.000001Z",
        "first_time": "2026-08-11T00:00:00.000002Z",
        "first_day": "2026-08-11",
        "backfilled_first_time": None,
        "backfilled_last_time": None,
    }

    def replies(_: int, path: str) -> Reply:
        asked.append(path)
        return 200, {}, page([row], None)

    async def read(url: str) -> pa.Table:
        async with AsyncClient(url, "k") as other:
            return await (await other.coverage()).to_arrow()

    with scripted(replies) as url, Client(url, "k") as client:
        answer = client.coverage()
        table = answer.to_arrow()
        assert pickle.loads(pickle.dumps(answer)).to_arrow().equals(table)
        assert len(asked) == 1
        assert asyncio.run(read(url)).equals(table)
        assert len(asked) == 2
    assert table.column_names == list(row)
    assert table.column("first_time").cast(pa.int64()).to_pylist() == [1786406400000002]
    assert table.column("assets").to_pylist() == [["BTC"]]


def test_a_long_retry_after_fails_at_once() -> None:
    with scripted(lambda *_: (429, {"retry-after": "3600"}, b"{}")) as url, Client(url, "k") as client:
        begun = time.monotonic()
        with pytest.raises(RateLimitError) as limited:
            client.gaps().page()
        assert time.monotonic() - begun < 1
        assert limited.value.retry_after == 3600


@pytest.mark.parametrize(
    "bad",
    [
        (503, {}, b"busy"),
        (200, {"content-length": "5000"}, b'{"data":['),
        (200, {}, b'{"data":['),
        (200, {}, b"<html>"),
    ],
)
def test_broken_answers_are_retried(bad: Reply) -> None:
    def replies(count: int, _: str) -> Reply:
        return (bad[0], dict(bad[1]), bad[2]) if count < 3 else (200, {}, page([gap(1)], None))

    with scripted(replies) as url, Client(url, "k", retries=QUICK) as client:
        assert len(client.gaps().to_list()) == 1


def test_retries_end() -> None:
    count = 0

    def replies(number: int, _: str) -> Reply:
        nonlocal count
        count = number
        return 500, {}, b"{}"

    with scripted(replies) as url, Client(url, "k", retries=QUICK) as client, pytest.raises(ServerError):
        client.gaps().page()
    assert count == 1 + QUICK.retries
    with Client("http://127.0.0.1:9", "k", retries=0) as nobody, pytest.raises(NetworkError):
        nobody.health()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([sample("k", 1), sample("k", 2)], "1 of 3 rows did not arrive"),
        ([sample("k", 1), sample("k", 2), sample("k", 2), sample("k", 3)], "1 rows more arrived"),
        ([sample("k", 1), sample("k", 3), sample("k", 2)], "out of order"),
        ([sample("k", 1), sample("k", 2), sample("k", 4)], "not those of the receipt"),
        ([sample("k", 1), sample("k", 2), sample("j", 3)], "j/price is not in the receipt"),
    ],
)
def test_the_receipt_finds_rows_that_did_not_arrive(rows: list[dict[str, Any]], words: str) -> None:
    receipt = {
        "rows": 3,
        "gaps": 0,
        "instruments": [{"key": "k/price", "first": 1, "last": 3, "rows": 3, "head": None}],
    }

    def replies(_: int, path: str) -> Reply:
        is_second = "cursor=" in path
        return 200, {}, page(rows[2:], None, receipt) if is_second else page(rows[:2], "next")

    with scripted(replies) as url, Client(url, "k", retries=QUICK) as client:
        walk = client.market("venuea", "1").timeseries(metric="price")
        got: list[Any] = []
        with pytest.raises(IncompleteWalkError, match=words) as incomplete:
            for row in walk:
                got.append(row)
        again = pickle.loads(pickle.dumps(incomplete.value))
        assert (again.expected, again.received.rows) == (incomplete.value.expected, len(rows))
        # Every row comes before the verdict.
        assert len(got) == len(rows)
        assert len(list(walk.take(2))) == 2


def test_a_walk_is_taken_up_by_another_client(past: Server, client: Client) -> None:
    market = max(client.markets(), key=lambda one: one.coverage.observations if one.coverage else 0)
    whole = [row.id for row in client.market(market).snapshots(limit=50)]
    first = client.market(market).snapshots(limit=50).page()
    assert first.resume is not None
    with Client(past.url, past.key) as other:
        rest = [row.id for row in other.market(market).snapshots(limit=50, resume=first.resume)]
    assert [row.id for row in first.data] + rest == whole


def test_a_cut_stream_of_columns_is_fetched_again(past: Server, client: Client) -> None:
    """A proxy that cuts the first Arrow stream: the second one is read."""
    from urllib.request import Request, urlopen

    market = max(client.markets(venue="venueb"), key=lambda one: one.coverage.observations if one.coverage else 0)
    cuts = 0

    def replies(_: int, path: str) -> Reply:
        nonlocal cuts
        request = Request(past.url + path, headers={"authorization": f"Bearer {past.key}"})
        with urlopen(request) as answer:
            body = answer.read()
        if path.startswith("/v3/bulk?") and cuts == 0:
            cuts += 1
            return 200, {}, body[: len(body) // 2]
        return 200, {}, body

    with scripted(replies) as url, Client(url, "k", retries=QUICK) as cut:
        table = cut.market(market).books().to_arrow()
    assert cuts == 1
    assert table.equals(client.market(market).books().to_arrow())
