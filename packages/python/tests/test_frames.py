"""Columns hold what JSON pages hold: 0 differences over all venues and datasets, with exact types."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest

from conftest import VENUES, Server
from priorbook import AsyncClient, BadRequestError, Client
from priorbook._row_tables import schema_of
from priorbook._venues import VENUES as FACTS
from priorbook.models import CalendarDay, Contract, DatasetCoverage, Event, Gap, ListedMarket, ParityDay

STYLE = {"number_format": "string", "time_format": "epoch_us"}
MARKET_DATASETS = [
    ("snapshots", {"include_orderbook": True}),
    ("snapshots", {"include_orderbook": False}),
    ("snapshots", {}),
    ("snapshots", {"include_orderbook": True, "depth": 3}),
    ("snapshots", {"interval": "1s", "include_orderbook": True}),
    ("changes", {}),
    ("trades", {}),
]
CASES = [(venue, name, query) for venue in VENUES for name, query in MARKET_DATASETS] + [
    ("venuea", "timeseries", {"metric": metric}) for metric in ("chance", "price", "last_trade")
]


def path_of(market: ListedMarket) -> str:
    """The address of a market."""
    facts = FACTS[market.venue]
    return facts.market.format(market_id=market.market_id, asset=(market.asset or "").lower())


@pytest.mark.parametrize(("venue", "name", "query"), CASES)
def test_columns_equal_pages(
    client: Client, past: Server, busiest: dict[str, ListedMarket], venue: str, name: str, query: dict[str, Any]
) -> None:
    market = busiest[venue]
    words = {key: str(value).lower() if isinstance(value, bool) else value for key, value in query.items()}
    expected = past.rows(f"{path_of(market)}/{name}", **words, **STYLE)
    table = getattr(client.market(market), name)(**query).to_arrow()
    assert differences(table, expected) == []
    if name != "trades" or venue != "venuea":
        assert table.num_rows > 0


def test_every_market_equals_its_pages(client: Client, past: Server) -> None:
    compared = 0
    for market in client.markets():
        expected = past.rows(f"{path_of(market)}/snapshots", include_orderbook="true", **STYLE)
        table = client.market(market).snapshots(include_orderbook=True).to_arrow()
        assert differences(table, expected) == []
        compared += table.num_rows
    assert compared > 1000


@pytest.mark.parametrize("venue", VENUES)
def test_one_outcome_equals_its_pages(
    client: Client, past: Server, busiest: dict[str, ListedMarket], venue: str
) -> None:
    market = busiest[venue]
    outcome = market.outcomes[0].label
    expected = [row for row in past.rows(f"{path_of(market)}/trades", **STYLE) if row["outcome"] == outcome]
    assert differences(client.market(market).trades(outcome=outcome).to_arrow(), expected) == []


# Venues A and B have one book per market, whose pages have no parameter of an outcome.
OUTCOMES = [("venueb", "trades"), ("venuec", "trades"), ("venuec", "snapshots"), ("venuec", "changes")]


@pytest.mark.parametrize(("venue", "name"), OUTCOMES)
def test_outcomes_are_compared_as_pages_compare_them(
    client: Client, past: Server, busiest: dict[str, ListedMarket], venue: str, name: str
) -> None:
    market = busiest[venue]
    outcome = market.outcomes[0].label.swapcase()
    expected = past.rows(f"{path_of(market)}/{name}", outcome=outcome, **STYLE)
    assert len(expected) > 0
    assert differences(getattr(client.market(market), name)(outcome=outcome).to_arrow(), expected) == []
    token = expected[0]["token_id"]
    if token is not None:
        assert differences(getattr(client.market(market), name)(token_id=token).to_arrow(), expected) == []


@pytest.mark.parametrize(("venue", "name"), OUTCOMES)
def test_columns_of_an_outcome_that_the_market_does_not_have_are_refused(
    client: Client, past: Server, busiest: dict[str, ListedMarket], venue: str, name: str
) -> None:
    rows = getattr(client.market(busiest[venue]), name)
    for param in ("outcome", "token_id"):
        with pytest.raises(BadRequestError, match="the market has no") as page:
            rows(**{param: "nobody"}).page()
        with pytest.raises(BadRequestError, match="the market has no") as columns:
            rows(**{param: "nobody"}).to_arrow()
        assert (columns.value.param, columns.value.allowed) == (page.value.param, page.value.allowed)
        assert columns.value.param == param

    async def read() -> None:
        async with AsyncClient(past.url, past.key) as other:
            await getattr(other.market(busiest[venue]), name)(outcome="nobody").to_arrow()

    with pytest.raises(BadRequestError, match="the market has no outcome"):
        asyncio.run(read())


@pytest.mark.parametrize("name", ["snapshots", "changes"])
def test_columns_of_an_outcome_are_refused_where_pages_have_none(
    client: Client, busiest: dict[str, ListedMarket], name: str
) -> None:
    rows = getattr(client.market(busiest["venueb"]), name)
    outcome = busiest["venueb"].outcomes[0].label
    assert rows(outcome=outcome.swapcase()).to_arrow().num_rows == rows().to_arrow().num_rows > 0
    with pytest.raises(BadRequestError) as refused:
        rows(outcome="nobody").to_arrow()
    assert refused.value.param == "outcome"


def test_an_outcome_without_rows_is_an_empty_table(client: Client, busiest: dict[str, ListedMarket]) -> None:
    market = client.market(busiest["venuec"])
    trades = market.trades().to_list()
    times = [trade.received_time for trade in trades]
    alone = next(trade for trade in trades if times.count(trade.received_time) == 1)
    span: dict[str, Any] = {"start_time": alone.received_time, "end_time": alone.received_time + MICROSECOND}
    one = alone.outcome
    other = next(outcome.label for outcome in busiest["venuec"].outcomes if outcome.label != one)
    assert market.trades(outcome=one, **span).to_arrow().num_rows > 0
    table = market.trades(outcome=other, **span).to_arrow()
    assert table.num_rows == 0 and table.schema == market.trades(**span).to_arrow().schema


def test_panels_equal_their_pages(client: Client, past: Server) -> None:
    query = {"asset": "btc", "window": "5m", "at": "-2s,-1s,0s"}
    expected = past.rows("/v3/panels", **query, **STYLE)
    table = client.panels(**query).to_arrow()  # type: ignore[arg-type]
    assert len(expected) > 0
    assert differences(table, expected) == []


@pytest.mark.parametrize(
    ("name", "path", "query"),
    [
        ("gaps", "/v3/gaps", {}),
        ("contracts", "/v3/contracts", {}),
        ("events", "/v3/events", {}),
        ("markets", "/v3/markets", {}),
        ("markets", "/v3/markets", {"include": "native", "limit": 3}),
    ],
)
def test_lists_equal_their_pages(client: Client, past: Server, name: str, path: str, query: dict[str, Any]) -> None:
    style = STYLE if name in ("contracts", "markets") else {"time_format": "epoch_us"}
    expected = past.rows(path, **query, **style)
    table = getattr(client, name)(**query).to_arrow()
    assert table.num_rows == len(expected) > 0
    for row, page in zip(table.to_pylist(), expected, strict=True):
        for key, value in page.items():
            assert same_nested(row[key], value), (key, row[key], value)


@pytest.mark.parametrize("venue", VENUES)
def test_lists_of_a_venue_equal_their_pages(
    client: Client, past: Server, busiest: dict[str, ListedMarket], venue: str
) -> None:
    market = busiest[venue]
    asset = {"asset": "btc"} if FACTS[venue].has_asset else {}
    path = {"venuea": "/v3/venuea-prediction/markets", "venueb": "/v3/venueb/markets", "venuec": "/v3/btc/markets"}
    lists: list[tuple[Any, str]] = [
        (client.venue_markets(market.venue, **asset), path[venue]),  # type: ignore[arg-type]
        (client.market(market).revisions(), f"{path_of(market)}/revisions"),
    ]
    for walk, address in lists:
        expected = past.rows(address, **STYLE)
        table = walk.to_arrow()
        assert table.num_rows == len(expected) > 0
        for row, page in zip(table.to_pylist(), expected, strict=True):
            for key, value in page.items():
                assert same_nested(row[key], value), (key, row[key], value)


def test_coverage_equals_its_answers(client: Client, past: Server, busiest: dict[str, ListedMarket]) -> None:
    queries: list[tuple[str, str, dict[str, Any]]] = [
        ("coverage", "/v3/coverage", {}),
        *(("coverage", "/v3/coverage", {"venue": venue}) for venue in VENUES),
        *(("coverage", "/v3/coverage", {"venue": venue, "market": busiest[venue].market_id}) for venue in VENUES),
        *(("coverage_days", "/v3/coverage/days", {"venue": venue}) for venue in VENUES),
    ]
    for name, path, query in queries:
        answer = getattr(client, name)(**query)
        expected = past.ask(path, **query, **STYLE)["data"]
        table = answer.to_arrow()
        assert table.num_rows == len(answer.data) == len(expected) > 0
        assert table.column_names == list(expected[0])
        for row, page in zip(table.to_pylist(), expected, strict=True):
            for key, value in page.items():
                assert same_nested(row[key], value), (path, query, key, row[key], value)
        assert answer.to_polars().to_dicts() == table.to_pylist()
        assert list(answer.to_pandas().columns) == table.column_names


def test_coverage_is_awaited_with_the_same_columns(client: Client, past: Server) -> None:
    async def read() -> pa.Table:
        async with AsyncClient(past.url, past.key) as other:
            answer = await other.coverage()
            assert answer.data == client.coverage().data
            table = await answer.to_arrow()
            assert (await answer.to_polars()).height == len(await answer.to_pandas()) == table.num_rows
            return table

    assert asyncio.run(read()).equals(client.coverage().to_arrow())


def test_aligned_prices_of_a_contract_equal_their_pages(client: Client, past: Server) -> None:
    contract = next(iter(client.contracts(kind="up_down")))
    assert contract.opens is not None
    start = (contract.opens - EPOCH) // MICROSECOND
    span: dict[str, Any] = {"start_time": start, "end_time": start + 60_000_000}
    for walk, name, more in (
        (client.contract_snapshots(contract.id, interval="1s", **span), "snapshots", {"interval": "1s"}),
        (client.contract_spreads(contract.id, **span), "spreads", {}),
    ):
        expected = past.rows(f"/v3/contracts/{contract.id}/{name}", **span, **more, **STYLE)
        rows = walk.to_arrow().to_pylist()
        assert len(rows) == len(expected)
        assert same_nested(rows, expected)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v3/gaps", Gap),
        ("/v3/contracts", Contract),
        ("/v3/events", Event),
        ("/v3/markets", ListedMarket),
        ("/v3/parity", ParityDay),
        ("/v3/coverage", DatasetCoverage),
        ("/v3/coverage/days?venue=venueb", CalendarDay),
    ],
)
def test_types_of_lists_are_those_of_the_models(past: Server, path: str, model: Any) -> None:
    headers = {"authorization": f"Bearer {past.key}", "accept": "application/vnd.apache.arrow.stream"}
    with urlopen(Request(f"{past.url}{path}", headers=headers)) as answer, pa.ipc.open_stream(answer.read()) as reader:
        table = reader.read_all()
    assert table.schema.equals(schema_of(model))
    table.validate(full=True)
    polars = pytest.importorskip("polars")
    assert polars.from_arrow(table).height == table.num_rows


def test_reference_prices_equal_their_pages(client: Client, past: Server) -> None:
    expected = past.rows("/v3/reference/btc", **STYLE)
    assert differences(client.reference_prices("btc").to_arrow(), expected) == []
    venue = expected[0]["venue"]
    feed = expected[0]["feed"]
    own = [row for row in expected if row["feed"] == feed]
    first, last = own[0]["received_time"], own[-1]["received_time"] + 1
    frame = client.frame("reference", venue=venue, asset="btc", feed=feed, start_time=first, end_time=last)
    assert differences(frame.to_arrow(), own) == []


@pytest.mark.parametrize("venue", VENUES)
def test_types_are_exact(client: Client, busiest: dict[str, ListedMarket], venue: str) -> None:
    facts = FACTS[venue]
    price, size = pa.decimal128(9, facts.price_decimals), pa.decimal128(18, facts.size_decimals)
    market = client.market(busiest[venue])
    books = market.books().to_arrow()
    assert books.schema.field("received_time").type == pa.timestamp("us", tz="UTC")
    assert books.schema.field("best_bid").type == price
    assert books.schema.field("bids_size").type.value_type == size
    assert books.schema.field("sequence").type == pa.int64()
    changes = market.changes().to_arrow()
    assert changes.schema.field("price").type.value_type == price
    assert changes.schema.field("size").type.value_type == size

    whole = market.books().to_arrow(decimals="scaled")
    assert whole.schema.field("best_bid").type == pa.int64()
    assert whole.schema.field("best_bid").metadata[b"scale"] == str(facts.price_decimals).encode()
    for row, exact in zip(whole.to_pylist(), books.to_pylist(), strict=True):
        for name, scale in (("best_bid", facts.price_decimals), ("mid", facts.price_decimals + 1)):
            assert row[name] == (None if exact[name] is None else int(exact[name].scaleb(scale)))
        assert row["asks_size"] == [int(one.scaleb(facts.size_decimals)) for one in exact["asks_size"]]


@pytest.mark.parametrize("venue", VENUES)
def test_long_books_hold_every_level_once(client: Client, busiest: dict[str, ListedMarket], venue: str) -> None:
    market = client.market(busiest[venue])
    levels = [
        (row["id"], side, level, price, size)
        for row in market.books().to_arrow().to_pylist()
        for side in ("bid", "ask")
        for level, (price, size) in enumerate(zip(row[f"{side}s_price"], row[f"{side}s_size"], strict=True))
    ]
    long = market.books(shape="long").to_arrow().to_pylist()
    assert [(row["id"], row["side"], row["level"], row["price"], row["size"]) for row in long] == levels
    changed = market.changes().to_arrow().to_pylist()
    flat = [pair for row in changed for pair in zip(row["side"], row["price"], row["size"], strict=True)]
    long = market.changes().to_arrow(shape="long").to_pylist()
    assert [(row["side"], row["price"], row["size"]) for row in long] == flat


@pytest.mark.parametrize("venue", VENUES)
def test_top_of_book_is_the_first_level(client: Client, busiest: dict[str, ListedMarket], venue: str) -> None:
    market = client.market(busiest[venue])
    top = market.top_of_book().to_arrow().to_pylist()
    full = market.books().to_arrow().to_pylist()
    assert len(top) == len(full) > 0
    for best, row in zip(top, full, strict=True):
        assert (best["id"], best["best_bid"], best["best_ask"]) == (row["id"], row["best_bid"], row["best_ask"])
        assert best["bid_size"] == (row["bids_size"][0] if row["bids_size"] else None)
        assert best["ask_size"] == (row["asks_size"][0] if row["asks_size"] else None)
        assert best["bid_levels"] == row["bid_levels"]


def test_dataframes_hold_the_same(client: Client, busiest: dict[str, ListedMarket]) -> None:
    market = client.market(busiest["venueb"])
    rows = market.books().to_arrow().to_pylist()
    assert market.books().to_polars().to_dicts() == rows
    pandas = market.books().to_pandas()
    bids = pandas["best_bid"]
    assert [None if empty else bid for bid, empty in zip(bids, bids.isna(), strict=True)] == [
        row["best_bid"] for row in rows
    ]
    assert str(pandas["received_time"].dtype) == "timestamp[us, tz=UTC][pyarrow]"


def test_a_family_is_one_frame(client: Client, past: Server) -> None:
    markets = list(client.markets(venue="venueb", series="KXBTC15M"))
    rows = [row for market in markets for row in client.market(market).snapshots()]
    found: list[str] = []
    # Two days where midnight came while they were recorded.
    for day in {row.received_time.date() for row in rows}:
        frame = client.frame("books", venue="venueb", series="KXBTC15M", day=day, include_orderbook=False).to_arrow()
        found += frame.column("id").to_pylist()
    assert sorted(found) == sorted(row.id for row in rows)
    assert len(rows) > 0


def differences(table: pa.Table, expected: list[dict[str, Any]]) -> list[str]:
    """Where columns and pages part; a column that no page has must be empty."""
    if table.num_rows != len(expected):
        return [f"{table.num_rows} rows for {len(expected)}"]
    found: list[str] = []
    for row, page in zip(table.to_pylist(), expected, strict=True):
        flat = flatten(page)
        for name in {*row, *flat}:
            if not same(row.get(name), flat.get(name)):
                found.append(f"{page.get('id')} {name}: {row.get(name)!r} for {flat.get(name)!r}")
    return found[:5]


def flatten(page: dict[str, Any]) -> dict[str, Any]:
    """A row of JSON with the names of columns."""
    flat = {name: value for name, value in page.items() if name not in ("native", "bids", "asks", "yes", "no")}
    if "flags" in page:
        flat["flags"] = "|".join(page["flags"])
    for side in ("bids", "asks", "yes", "no"):
        if side in page:
            flat[f"{side}_price"], flat[f"{side}_size"] = page[side]["price"], page[side]["size"]
    if isinstance(page.get("changes"), dict):
        flat |= flat.pop("changes")
    native = page.get("native") or {}
    for name in ("sid", "connection", "seq", "taker_side"):
        if name in native:
            flat[f"native_{name}"] = native[name]
    words = {name: value for name, value in native.items() if name not in ("sid", "connection", "seq")}
    if native.get("taker_side") is None or "side" in native:
        words.pop("taker_side", None)
    if words:
        flat["native"] = words
    return flat


def same(column: Any, page: Any) -> bool:
    """True for the same value: decimals by value, times by microsecond."""
    if isinstance(column, datetime):
        return page is not None and (column - EPOCH) // MICROSECOND == page
    if isinstance(column, Decimal):
        return page is not None and column == Decimal(str(page))
    if isinstance(column, list):
        if page is None:
            return False
        return len(column) == len(page) and all(same(one, other) for one, other in zip(column, page, strict=True))
    if isinstance(page, dict) and isinstance(column, str):
        import json

        return bool(json.loads(column, parse_float=Decimal) == page)
    if isinstance(column, float) and page is not None:
        return Decimal(str(column)) == Decimal(str(page))
    return bool(column == page)


def same_nested(column: Any, page: Any) -> bool:
    """The same for objects within objects."""
    if isinstance(column, dict):
        return isinstance(page, dict) and all(same_nested(column.get(name), value) for name, value in page.items())
    if isinstance(column, list) and isinstance(page, list):
        return len(column) == len(page) and all(map(same_nested, column, page))
    return same(column, page)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = datetime.resolution
