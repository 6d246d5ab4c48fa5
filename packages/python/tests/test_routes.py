"""Every route of the interface, by both clients, with models that keep every member."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from conftest import Server
from priorbook import Answer, ApiError, AsyncClient, AuthenticationError, Client, Walk
from priorbook.models import Limits, ListedMarket, Manifest, Status, Usage

# Pages for people; their addresses are not part of the client.
PAGES = {"home", "docs", "docs_errors", "llms"}
# Addresses of other names for the same routes.
ALIAS = re.compile(r"_alias\d*$")

# What moves on between two requests.
MOVING = (Limits, Status, Manifest)

Call = Callable[[Any], Any]


def calls_of(client: Client, busiest: dict[str, ListedMarket]) -> list[Call]:
    """A call of every route; each is made by both clients."""
    calls: list[Call] = [
        lambda c: c.markets(limit=5),
        lambda c: c.events(limit=5),
        lambda c: c.categories(),
        lambda c: c.gaps(limit=5),
        lambda c: c.coverage(),
        lambda c: c.parity(),
        lambda c: c.reference(),
        lambda c: c.contracts(),
        lambda c: c.proofs(),
        lambda c: c.proof("2026-08-11"),
        lambda c: c.alerts(),
        lambda c: c.whoami(),
        lambda c: c.limits(),
        lambda c: c.usage(days=1),
        lambda c: c.status(),
        lambda c: c.health(),
        lambda c: c.openapi(),
        lambda c: c.asyncapi(),
        lambda c: c.panels(asset="btc", window="5m", at="-1s,0s", limit=5),
        lambda c: c.coverage_days(venue="venueb"),
        lambda c: c.reference_prices("btc", limit=5),
        lambda c: c.venue_markets("venuec", asset="btc"),
    ]
    event = next(client.events().take(1))
    contract = next(iter(client.contracts()))
    priced = next(client.reference_prices("btc").take(1))
    at = priced.received_time
    middle = contract.members[0]
    calls += [
        lambda c: c.event(event.event_id, venue=event.venue),
        lambda c: c.reference_as_of("btc", at=at),
        lambda c: c.reference_audit("btc", id=priced.id),
        lambda c: c.contract(contract.id),
        lambda c: c.contract_books(contract.id, at=at),
        lambda c: c.contract_snapshots(contract.id, interval="1s"),
        lambda c: c.contract_consolidated(contract.id, at=at, side="buy", size=Decimal("1")),
        lambda c: c.contract_spreads(contract.id, min_edge="0.01"),
        lambda c: c.contract_leadlag(contract.id),
    ]
    # A rule that cannot fire, and a webhook that leads nowhere.
    market = busiest["venueb"]
    rule = {"kind": "price", "venue": "venueb", "market_id": market.market_id, "above": "1"}
    alert = client.create_alert({**rule, "webhook": "https://priorbook.invalid/hook"}).data
    assert alert.secret.startswith("whsec_")
    calls += [
        lambda c: c.alert(alert.alert_id),
        lambda c: c.alert_deliveries(alert.alert_id),
    ]
    assert middle.venue
    for venue, market in busiest.items():
        refs: list[Any] = [market]
        if venue == "venuec":
            # Without an asset, as markets that have none.
            refs.append({"venue": venue, "market_id": market.market_id, "asset": ""})
        calls.append(lambda c, v=venue: c.venue_markets(v, limit=2))  # type: ignore[misc]
        for ref in refs:
            calls += market_calls(client, ref)
        scope: dict[str, Any] = {"venue": venue, "market_id": market.market_id}
        calls.append(lambda c, s=scope: c.manifest(**s, formats=["arrow"], estimate=True))  # type: ignore[misc]
    return calls


def market_calls(client: Client, ref: Any) -> list[Call]:
    """The routes of one market."""
    (row, *_) = client.market(ref).snapshots(limit=1).page().data
    at = row.received_time + timedelta(seconds=1)
    methods: list[Call] = [
        lambda m: m.record(),
        lambda m: m.revisions(),
        lambda m: m.latest(depth=2),
        lambda m: m.as_of(at=at),
        lambda m: m.snapshots(limit=3),
        lambda m: m.changes(limit=3),
        lambda m: m.trades(limit=3),
        lambda m: m.timeseries(metric="price", limit=3),
        lambda m: m.history(metric="price"),
        lambda m: m.execution(side="buy", size="1", at=at, outcome=row.outcome),
        lambda m: m.audit(id=row.id),
    ]
    return [lambda c, method=method: method(c.market(ref)) for method in methods]  # type: ignore[misc]


def test_every_route_is_called_by_both_clients(past: Server, client: Client, busiest: dict[str, ListedMarket]) -> None:
    calls = calls_of(client, busiest)
    waited: list[str] = []
    awaited: list[str] = []
    results = run_waiting(past, calls, waited)
    others = asyncio.run(run_awaiting(past, calls, awaited))
    assert len(results) == len(others) == len(calls)
    document = client.openapi()
    patterns = {
        get["get"]["operationId"]: re.compile(re.sub(r"\\\{[^/]+\\\}", "[^/]+", re.escape(path)))
        for path, get in document["paths"].items()
    }
    wanted = {name for name in patterns if name not in PAGES and not ALIAS.search(name) and name != "bulk"}
    for paths in (waited, awaited):
        found = {name for name, pattern in patterns.items() if any(pattern.fullmatch(path) for path in paths)}
        assert wanted - found == set()
    for own, other in zip(results, others, strict=True):
        if isinstance(own, dict):
            assert own == other
        elif not isinstance(own.data, MOVING) and own.meta.count != 0:
            assert own.data == other.data or isinstance(own.data[0], Usage)


def run_waiting(past: Server, calls: list[Call], paths: list[str]) -> list[Any]:
    """The results of the client that waits."""
    http = httpx.Client(event_hooks={"request": [lambda request: paths.append(request.url.path)]})
    results: list[Any] = []
    with http:
        client = Client(past.url, past.key, http=http)
        for call in calls:
            result = call(client)
            results.append(result.page() if isinstance(result, Walk) else result)
    return results


async def run_awaiting(past: Server, calls: list[Call], paths: list[str]) -> list[Any]:
    """The results of the client to await."""

    async def note(request: httpx.Request) -> None:
        paths.append(request.url.path)

    results: list[Any] = []
    async with httpx.AsyncClient(event_hooks={"request": [note]}) as http:
        client = AsyncClient(past.url, past.key, http=http)
        for call in calls:
            result = call(client)
            results.append(await result if inspect.isawaitable(result) else await result.page())
    return results


def test_alerts_are_created_tested_and_deleted(client: Client, past: Server) -> None:
    rule = {"kind": "gap", "venue": "venueb", "asset": "btc", "webhook": "https://priorbook.invalid/hook"}
    alert = client.create_alert(rule).data
    assert alert.rule.webhook == rule["webhook"]
    sent = client.test_alert(alert.alert_id).data
    assert (sent.state, sent.event.kind, sent.event.number) == ("pending", "test", 1)
    assert [one.id for one in client.alert_deliveries(alert.alert_id)] == [sent.id]

    async def delete() -> None:
        async with AsyncClient(past.url, past.key) as other:
            assert (await other.delete_alert(alert.alert_id)).data.alert_id == alert.alert_id

    asyncio.run(delete())
    with pytest.raises(ApiError) as caught:
        client.alert(alert.alert_id)
    assert caught.value.code == "unknown_alert"


def test_no_member_of_an_answer_is_lost(past: Server, busiest: dict[str, ListedMarket]) -> None:
    """Members that the models do not know would mean that they are older than the interface."""
    import msgspec

    from priorbook import models

    addresses = {
        "/v3/markets?limit=50": models.ListedMarket,
        "/v3/gaps?limit=50": models.Gap,
        "/v3/events?limit=50": models.Event,
        "/v3/contracts?limit=50": models.Contract,
        "/v3/coverage": models.Coverage,
        "/v3/panels?asset=btc&window=5m&at=0s": models.PanelRow,
        "/v3/reference/btc?limit=50": models.ReferencePrice,
        "/v3/status": models.Status,
        "/v3/whoami": models.Whoami,
        "/v3/limits": models.Limits,
    }
    for address, model in addresses.items():
        data = past.ask(address)["data"]
        rows = data if isinstance(data, list) else [data]
        for row in rows:
            kept = msgspec.to_builtins(msgspec.convert(row, model, strict=False), builtin_types=(Decimal,))
            assert lost(row, kept) == [], address


def lost(row: Any, kept: Any) -> list[str]:
    """Members of JSON that a model dropped."""
    if isinstance(row, dict):
        missing = [name for name in row if name not in kept]
        return missing + [name for key, value in row.items() if key in kept for name in lost(value, kept[key])]
    if isinstance(row, list):
        return [name for one, other in zip(row, kept, strict=True) for name in lost(one, other)]
    return []


def test_values_have_types(client: Client, busiest: dict[str, ListedMarket]) -> None:
    answer = client.market(busiest["venuec"]).latest()
    assert isinstance(answer, Answer)
    for book in answer.data:
        assert book.bids is not None
        assert all(type(price) is Decimal for price in book.bids.price)
        assert book.received_time.utcoffset() == timedelta(0)
    assert len(answer.data) == 2 or answer.notices


def test_demo_data_need_no_key(past: Server) -> None:
    with Client(past.url, demo=True) as client:
        market = next(client.markets(venue="venueb").take(1))
        assert client.market(market).books().to_arrow().num_rows > 0
        with pytest.raises(AuthenticationError):
            client.whoami()
