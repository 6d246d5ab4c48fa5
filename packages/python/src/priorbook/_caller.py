"""Calls routes: waiting or awaiting, with demo mode and the addresses of markets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import httpx

from priorbook._body import Body
from priorbook._http import Send, Settings, Steps, Write, request_steps
from priorbook._query import Query, quoted
from priorbook._venues import VENUES
from priorbook._walk import Answer, AsyncListAnswer, AsyncWalk, ListAnswer, Plan, Walk, parse_answer
from priorbook.errors import ClientError
from priorbook.models import Book

T = TypeVar("T")

MAX_LIMIT = 1000
"""Max rows per page."""
MANIFEST_TIMEOUT = 900.0
"""A manifest renders the whole file before it answers."""

# Routes of the account and of the service itself, which have no demonstration data.
_NO_DEMO = (
    "/v3/alerts",
    "/v3/proofs",
    "/v3/whoami",
    "/v3/limits",
    "/v3/usage",
    "/v3/health",
    "/v3/openapi",
    "/v3/asyncapi",
)


class Base:
    """What both clients share."""

    def __init__(self, settings: Settings, is_demo: bool) -> None:
        self._settings = settings
        self.is_demo = is_demo
        """True where the client reads demonstration data."""

    @property
    def url(self) -> str:
        """The base of all addresses, without a slash at the end."""
        return self._settings.base

    def place(self, path: str) -> str:
        """An address as this client calls it: the demo has routes of its own."""
        if self.is_demo and not path.startswith(_NO_DEMO):
            return path.replace("/v3/", "/v3/demo/", 1)
        return path

    def answer_steps(self, data_type: Any, path: str, query: Query) -> Steps[Answer[Any]]:
        timeout = MANIFEST_TIMEOUT if path == "/v3/bulk/manifest" else None
        return request_steps(
            self._settings, self.place(path), query, lambda response: parse_answer(data_type, response), timeout=timeout
        )

    def write_steps(self, data_type: Any, method: str, path: str, body: Mapping[str, Any] | None) -> Steps[Answer[Any]]:
        return request_steps(
            self._settings,
            path,
            {},
            lambda response: parse_answer(data_type, response),
            write=Write(method, body),
        )


class Caller(Base):
    """Calls routes and waits for the answers."""

    def __init__(self, settings: Settings, is_demo: bool, http: httpx.Client) -> None:
        super().__init__(settings, is_demo)
        self._http = http

    def _run(self, steps: Steps[T]) -> T:
        result: Any = None
        error: Exception | None = None
        while True:
            try:
                step = steps.throw(error) if error is not None else steps.send(result)
            except StopIteration as stop:
                return cast(T, stop.value)
            result, error = None, None
            try:
                if isinstance(step, Send):
                    result = self._send(step)
                else:
                    time.sleep(step.seconds)
            except httpx.HTTPError as cause:
                error = cause

    def _send(self, step: Send) -> httpx.Response:
        body: Body | None = step.body
        if body is None:
            return self._http.send(step.request)
        response = self._http.send(step.request, stream=True)
        try:
            if not response.is_success:
                response.read()
                return response
            body.begin(response)
            for piece in response.iter_raw():
                body.write(piece)
            return response
        finally:
            response.close()

    def _answer(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return self._run(self.answer_steps(data_type, path, query))

    def _one(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return self._answer(data_type, path, query)

    def _list(self, row_type: Any, path: str, query: Query) -> ListAnswer[Any]:
        answer = self._answer(list[row_type], path, query)
        return ListAnswer(answer.data, answer.meta, answer.request_id, answer.next_cursor, answer.more, row_type)

    def _write(self, data_type: Any, method: str, path: str, body: Mapping[str, Any] | None) -> Answer[Any]:
        return self._run(self.write_steps(data_type, method, path, body))

    def _walk(
        self, row_type: Any, path: str, query: Query, *, resume: str | None, dataset: str | None = None
    ) -> Walk[Any]:
        plan = Plan(row_type, with_limit(query), resume, dataset, own_scope(dataset))
        return Walk(self, lambda: path, plan)


class AsyncCaller(Base):
    """Calls routes and awaits the answers."""

    def __init__(self, settings: Settings, is_demo: bool, http: httpx.AsyncClient) -> None:
        super().__init__(settings, is_demo)
        self._http = http

    async def _run(self, steps: Steps[T]) -> T:
        result: Any = None
        error: Exception | None = None
        while True:
            try:
                step = steps.throw(error) if error is not None else steps.send(result)
            except StopIteration as stop:
                return cast(T, stop.value)
            result, error = None, None
            try:
                if isinstance(step, Send):
                    result = await self._send(step)
                else:
                    await asyncio.sleep(step.seconds)
            except httpx.HTTPError as cause:
                error = cause

    async def _send(self, step: Send) -> httpx.Response:
        body: Body | None = step.body
        if body is None:
            return await self._http.send(step.request)
        response = await self._http.send(step.request, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                return response
            body.begin(response)
            async for piece in response.aiter_raw():
                body.write(piece)
            return response
        finally:
            await response.aclose()

    async def _answer(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return await self._run(self.answer_steps(data_type, path, query))

    async def _one(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return await self._answer(data_type, path, query)

    async def _list(self, row_type: Any, path: str, query: Query) -> AsyncListAnswer[Any]:
        answer = await self._answer(list[row_type], path, query)
        return AsyncListAnswer(answer.data, answer.meta, answer.request_id, answer.next_cursor, answer.more, row_type)

    async def _write(self, data_type: Any, method: str, path: str, body: Mapping[str, Any] | None) -> Answer[Any]:
        return await self._run(self.write_steps(data_type, method, path, body))

    def _walk(
        self, row_type: Any, path: str, query: Query, *, resume: str | None, dataset: str | None = None
    ) -> AsyncWalk[Any]:
        plan = Plan(row_type, with_limit(query), resume, dataset, own_scope(dataset))

        async def address() -> str:
            return path

        return AsyncWalk(self, address, plan)


def with_limit(query: Query) -> dict[str, Any]:
    """The largest pages where the caller does not say."""
    return {**query, "limit": query.get("limit") or MAX_LIMIT}


# Rows of no market that also come as columns.
def own_scope(dataset: str | None) -> dict[str, Any] | None:
    return {} if dataset == "panels" else None


class MarketRef:
    """Names a market; an ``asset`` that its address needs is looked up."""

    def __init__(self, venue: str, market_id: str, asset: str | None) -> None:
        if venue not in VENUES or not market_id:
            raise ClientError("invalid_option", f"a market is named by venue ({', '.join(VENUES)}) and market_id")
        self.venue = venue
        self.market_id = market_id
        self.asset = asset
        self.is_asset_known = asset is not None or not VENUES[venue].has_asset

    def path(self) -> str:
        """The address of the market."""
        facts = VENUES[self.venue]
        market_id = quoted(self.market_id)
        if facts.has_asset and not self.asset:
            return (facts.plain_market or facts.market).format(market_id=market_id)
        return facts.market.format(market_id=market_id, asset=quoted((self.asset or "").lower()))

    def coverage(self) -> dict[str, Any]:
        """The request that finds the asset by the id alone."""
        return {"venue": self.venue, "market": self.market_id}

    def learn(self, meta: Mapping[str, Any]) -> None:
        """Takes the asset from the answer of that request."""
        market = meta.get("market")
        self.asset = market.get("asset") if isinstance(market, dict) else None
        self.is_asset_known = True

    def plan(self, row_type: Any, query: Query, resume: str | None, dataset: str | None) -> Plan:
        scope = {"venue": self.venue, "market_id": self.market_id}
        return Plan(row_type, with_limit(query), resume, dataset, scope)


class MarketCaller:
    """Calls the routes of one market and waits for the answers."""

    def __init__(self, caller: Caller, ref: MarketRef) -> None:
        self._caller = caller
        self.ref = ref

    def _path(self) -> str:
        if not self.ref.is_asset_known:
            self.ref.learn(self._caller._answer(Any, "/v3/coverage", self.ref.coverage()).more)
        return self.ref.path()

    def _one(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return self._caller._answer(data_type, self._path() + path, query)

    def _books(self, path: str, query: Query) -> Answer[list[Book]]:
        return to_book_list(self._one(Book | list[Book] | None, path, query))

    def _walk(
        self, row_type: Any, path: str, query: Query, *, resume: str | None, dataset: str | None = None
    ) -> Walk[Any]:
        return Walk(self._caller, lambda: self._path() + path, self.ref.plan(row_type, query, resume, dataset))


class AsyncMarketCaller:
    """Calls the routes of one market and awaits the answers."""

    def __init__(self, caller: AsyncCaller, ref: MarketRef) -> None:
        self._caller = caller
        self.ref = ref

    async def _path(self) -> str:
        if not self.ref.is_asset_known:
            self.ref.learn((await self._caller._answer(Any, "/v3/coverage", self.ref.coverage())).more)
        return self.ref.path()

    async def _one(self, data_type: Any, path: str, query: Query) -> Answer[Any]:
        return await self._caller._answer(data_type, await self._path() + path, query)

    async def _books(self, path: str, query: Query) -> Answer[list[Book]]:
        return to_book_list(await self._one(Book | list[Book] | None, path, query))

    def _walk(
        self, row_type: Any, path: str, query: Query, *, resume: str | None, dataset: str | None = None
    ) -> AsyncWalk[Any]:
        async def address() -> str:
            return await self._path() + path

        return AsyncWalk(self._caller, address, self.ref.plan(row_type, query, resume, dataset))


# The server answers with a book, a list of books or null: callers always get a list.
def to_book_list(answer: Answer[Any]) -> Answer[list[Book]]:
    data = answer.data
    books = [] if data is None else data if isinstance(data, list) else [data]
    return Answer(books, answer.meta, answer.request_id, answer.next_cursor, answer.more)
