"""The clients: one that waits for its answers, and one to await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
import msgspec

from priorbook._caller import AsyncCaller, Caller, MarketRef
from priorbook._download import download_steps
from priorbook._frames import Decimals, Shape, Source, file_steps, to_pandas, to_polars, top_of_book
from priorbook._http import Settings, Steps, check_key, request_steps
from priorbook._query import TimeInput, quoted
from priorbook._retry import OnRetry, RetryPolicy
from priorbook._routes import AsyncMarketRoutes, AsyncRoutes, MarketRoutes, Routes
from priorbook._venues import VENUES
from priorbook._walk import AsyncWalk, Walk
from priorbook.errors import ClientError
from priorbook.models import Book, Market, PriceHistory, ReferencePrice, Sample, Trade, VenueId

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from priorbook.live import LiveOptions, Message, Subscription

TIMEOUT = 30.0
"""Seconds that one attempt may wait for bytes."""


ROWS: Mapping[str, Any] = {
    "books": Book,
    "trades": Trade,
    "samples": Sample,
    "history": PriceHistory,
    "reference": ReferencePrice,
}
"""What a download may hold, with the rows of each dataset."""


class Frame:
    """Rows of a download as columns; nothing is requested before one of its methods is called."""

    def __init__(
        self, caller: Caller, source: Source, shape: Shape, finish: Callable[[Any], Any] | None = None
    ) -> None:
        self._caller = caller
        self._source = source
        self._shape = shape
        self._finish = finish

    def to_arrow(self, *, decimals: Decimals = "decimal", progress: bool = False) -> pyarrow.Table:
        """As a table of Arrow."""
        return self._caller._run(
            _frame_steps(self._caller, self._source, self._shape, decimals, progress, self._finish)
        )

    def to_polars(self, *, decimals: Decimals = "decimal", progress: bool = False) -> polars.DataFrame:
        """As a DataFrame of polars."""
        return to_polars(self.to_arrow(decimals=decimals, progress=progress))

    def to_pandas(self, *, decimals: Decimals = "decimal", progress: bool = False) -> pandas.DataFrame:
        """As a DataFrame of pandas with Arrow types."""
        return to_pandas(self.to_arrow(decimals=decimals, progress=progress))


class AsyncFrame:
    """Rows of a download as columns, for programs that await."""

    def __init__(
        self, caller: AsyncCaller, source: Source, shape: Shape, finish: Callable[[Any], Any] | None = None
    ) -> None:
        self._caller = caller
        self._source = source
        self._shape = shape
        self._finish = finish

    async def to_arrow(self, *, decimals: Decimals = "decimal", progress: bool = False) -> pyarrow.Table:
        """As a table of Arrow."""
        steps = _frame_steps(self._caller, self._source, self._shape, decimals, progress, self._finish)
        return await self._caller._run(steps)

    async def to_polars(self, *, decimals: Decimals = "decimal", progress: bool = False) -> polars.DataFrame:
        """As a DataFrame of polars."""
        return to_polars(await self.to_arrow(decimals=decimals, progress=progress))

    async def to_pandas(self, *, decimals: Decimals = "decimal", progress: bool = False) -> pandas.DataFrame:
        """As a DataFrame of pandas with Arrow types."""
        return to_pandas(await self.to_arrow(decimals=decimals, progress=progress))


def _frame_steps(
    caller: Caller | AsyncCaller,
    source: Source,
    shape: Shape,
    decimals: Decimals,
    progress: bool,
    finish: Callable[[Any], Any] | None,
) -> Steps[Any]:
    from priorbook._columns import scaled

    table = yield from file_steps(caller, source, shape=shape, progress=progress)
    if finish is not None:
        table = finish(table)
    return scaled(table) if decimals == "scaled" else table


def _books_source(scope: Mapping[str, Any], **more: Any) -> Source:
    query = {name: value for name, value in {**scope, "dataset": "books", **more}.items() if value is not None}
    return Source("/v3/bulk", query, "arrow", {}, Book)


class MarketClient(MarketRoutes):
    """The routes of one market."""

    def books(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        depth: int | None = None,
        shape: Shape = "wide",
    ) -> Frame:
        """Every recorded book with its ladders: a row each, or a row per level (``shape="long"``)."""
        scope = {"venue": self.ref.venue, "market_id": self.ref.market_id}
        source = _books_source(scope, start_time=start_time, end_time=end_time, depth=depth)
        return Frame(self._caller, source, shape)

    def top_of_book(self, *, start_time: TimeInput | None = None, end_time: TimeInput | None = None) -> Frame:
        """The best prices of every recorded book, with their sizes."""
        scope = {"venue": self.ref.venue, "market_id": self.ref.market_id}
        source = _books_source(scope, start_time=start_time, end_time=end_time, depth=1)
        return Frame(self._caller, source, "wide", top_of_book)


class AsyncMarketClient(AsyncMarketRoutes):
    """The routes of one market, to await."""

    def books(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        depth: int | None = None,
        shape: Shape = "wide",
    ) -> AsyncFrame:
        """Every recorded book with its ladders: a row each, or a row per level (``shape="long"``)."""
        scope = {"venue": self.ref.venue, "market_id": self.ref.market_id}
        source = _books_source(scope, start_time=start_time, end_time=end_time, depth=depth)
        return AsyncFrame(self._caller, source, shape)

    def top_of_book(self, *, start_time: TimeInput | None = None, end_time: TimeInput | None = None) -> AsyncFrame:
        """The best prices of every recorded book, with their sizes."""
        scope = {"venue": self.ref.venue, "market_id": self.ref.market_id}
        source = _books_source(scope, start_time=start_time, end_time=end_time, depth=1)
        return AsyncFrame(self._caller, source, "wide", top_of_book)


def _settings_of(
    url: str, key: str | Callable[[], str] | None, demo: bool, retries: int | RetryPolicy, timeout: float, on_retry: Any
) -> Settings:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ClientError("invalid_option", f"url begins with http or https: {url}")
    if parts.username or parts.password:
        raise ClientError("invalid_option", "a key goes into `key`, never into the url")
    base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    own = None if demo else check_key(key) if isinstance(key, str) else key
    policy = retries if isinstance(retries, RetryPolicy) else RetryPolicy(retries=retries)
    headers = {"user-agent": "priorbook-python/0.1.0", "accept-encoding": "gzip"}
    return Settings(base, own, policy, timeout, on_retry, headers)


def _ref_of(market: Any, market_id: str | None, asset: str | None) -> MarketRef:
    if isinstance(market, str):
        return MarketRef(market, market_id or "", asset)
    if isinstance(market, Mapping):
        return MarketRef(market.get("venue", ""), market.get("market_id", ""), market.get("asset"))
    # A record that has no asset is one of a market without it.
    ref = MarketRef(market.venue, market.market_id, getattr(market, "asset", None))
    ref.is_asset_known = True
    return ref


def _markets_path(venue: str, query: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if venue not in VENUES:
        raise ClientError("invalid_option", f"there is no venue {venue}: {', '.join(VENUES)}")
    facts = VENUES[venue]
    asset = query.get("asset")
    if not facts.has_asset or (asset is None and facts.plain_markets is not None):
        return facts.plain_markets or facts.markets, query
    rest = {name: value for name, value in query.items() if name != "asset"}
    return facts.markets.format(asset=quoted(str(asset).lower())), rest


class Client(Routes):
    """The whole interface, for programs that wait for their answers. Close it, or use it with ``with``."""

    def __init__(
        self,
        url: str,
        key: str | Callable[[], str] | None = None,
        *,
        demo: bool = False,
        retries: int | RetryPolicy = 5,
        timeout: float = TIMEOUT,
        on_retry: OnRetry | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        settings = _settings_of(url, key, demo, retries, timeout, on_retry)
        self._owns = http is None
        super().__init__(settings, demo, http or httpx.Client())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._owns:
            self._http.close()

    def venue_markets(self, venue: VenueId, *, resume: str | None = None, **query: Any) -> Walk[Market]:
        """Markets of one venue, with that venue's own filters; of one asset or of all."""
        path, rest = _markets_path(venue, query)
        return self._walk(Market, path, rest, resume=resume, dataset="list")

    def market(self, market: Any, market_id: str | None = None, asset: str | None = None) -> MarketClient:
        """The routes of one market: any record of it, or its venue and id."""
        return MarketClient(self, _ref_of(market, market_id, asset))

    def frame(
        self, dataset: str = "books", *, shape: Shape = "wide", filters: Mapping[str, str] | None = None, **scope: Any
    ) -> Frame:
        """A download as columns: of a market or a family (``series``, ``asset``, ``window``), a ``day`` or a range."""
        query = {name: value for name, value in {**scope, "dataset": dataset}.items() if value is not None}
        return Frame(self, Source("/v3/bulk", query, "arrow", dict(filters or {}), ROWS[dataset]), shape)

    def download(self, to: str | Path, *, progress: bool = False, verify: bool = False, **scope: Any) -> Path:
        """Writes a file of ``/v3/bulk`` into a folder or under a name; ``verify`` compares it with its manifest."""
        return self._run(download_steps(self, to, scope, progress=progress, verify=verify))

    def openapi(self) -> dict[str, Any]:
        """The server's OpenAPI document; needs no key."""
        return self._document("/v3/openapi.json")

    def asyncapi(self) -> dict[str, Any]:
        """The AsyncAPI document of the stream; needs no key."""
        return self._document("/v3/asyncapi.json")

    def _document(self, path: str) -> dict[str, Any]:
        return self._run(_document_steps(self, path))


class AsyncClient(AsyncRoutes):
    """The whole interface, to await: REST and the stream. Close it, or use it with ``async with``."""

    def __init__(
        self,
        url: str,
        key: str | Callable[[], str] | None = None,
        *,
        demo: bool = False,
        retries: int | RetryPolicy = 5,
        timeout: float = TIMEOUT,
        on_retry: OnRetry | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        settings = _settings_of(url, key, demo, retries, timeout, on_retry)
        self._owns = http is None
        super().__init__(settings, demo, http or httpx.AsyncClient())

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._owns:
            await self._http.aclose()

    def venue_markets(self, venue: VenueId, *, resume: str | None = None, **query: Any) -> AsyncWalk[Market]:
        """Markets of one venue, with that venue's own filters; of one asset or of all."""
        path, rest = _markets_path(venue, query)
        return self._walk(Market, path, rest, resume=resume, dataset="list")

    def market(self, market: Any, market_id: str | None = None, asset: str | None = None) -> AsyncMarketClient:
        """The routes of one market: any record of it, or its venue and id."""
        return AsyncMarketClient(self, _ref_of(market, market_id, asset))

    def frame(
        self, dataset: str = "books", *, shape: Shape = "wide", filters: Mapping[str, str] | None = None, **scope: Any
    ) -> AsyncFrame:
        """A download as columns: of a market or a family (``series``, ``asset``, ``window``), a ``day`` or a range."""
        query = {name: value for name, value in {**scope, "dataset": dataset}.items() if value is not None}
        return AsyncFrame(self, Source("/v3/bulk", query, "arrow", dict(filters or {}), ROWS[dataset]), shape)

    async def download(self, to: str | Path, *, progress: bool = False, verify: bool = False, **scope: Any) -> Path:
        """Writes a file of ``/v3/bulk`` into a folder or under a name; ``verify`` compares it with its manifest."""
        return await self._run(download_steps(self, to, scope, progress=progress, verify=verify))

    async def openapi(self) -> dict[str, Any]:
        """The server's OpenAPI document; needs no key."""
        return await self._run(_document_steps(self, "/v3/openapi.json"))

    async def asyncapi(self) -> dict[str, Any]:
        """The AsyncAPI document of the stream; needs no key."""
        return await self._run(_document_steps(self, "/v3/asyncapi.json"))

    @property
    def stream_url(self) -> str:
        """The address of the stream."""
        return self.url.replace("http", "ws", 1) + self.place("/v3/stream")

    def live(
        self, subscription: Subscription | Sequence[Subscription], options: LiveOptions | None = None
    ) -> AsyncIterator[Message]:
        """Follows markets as they are recorded. Reconnects and resumes by itself; lost rows are said."""
        from priorbook.live import LiveOptions, follow_live

        many = [subscription] if isinstance(subscription, Mapping) else list(subscription)
        return follow_live(self, cast(Any, many), options or LiveOptions())

    def socket_replay(
        self,
        markets: Iterable[Mapping[str, Any]],
        *,
        start_time: TimeInput,
        end_time: TimeInput,
        speed: float | str = "max",
        **style: Any,
    ) -> AsyncIterator[Message]:
        """Recorded rows over the socket, merged over markets by received time, at any speed."""
        from priorbook.live import socket_replay

        return socket_replay(
            self, {"markets": list(markets), **style}, start_time=start_time, end_time=end_time, speed=speed
        )

    async def explain(self) -> None:
        """Finds by REST why a connection is refused, which a WebSocket does not say; raises the reason."""
        if self.is_demo or self._settings.key is None:
            await self.health()
        else:
            await self.whoami()


def _document_steps(caller: Caller | AsyncCaller, path: str) -> Steps[dict[str, Any]]:
    def parse(response: httpx.Response) -> dict[str, Any]:
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(response.content, type=dict[str, Any])
        raise ClientError("bad_answer", "the document is not JSON")

    return request_steps(caller._settings, path, {}, parse)
