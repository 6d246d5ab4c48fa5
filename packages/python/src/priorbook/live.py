"""The stream: markets as they are recorded, and recorded rows over the socket."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import websockets
from websockets.asyncio.client import ClientConnection, connect

from priorbook._query import TimeInput, print_value
from priorbook._retry import RetryPolicy
from priorbook.errors import ClientError, NetworkError, StreamError
from priorbook.models import Book, BookChange, Gap, Market, ReferencePrice, Trade

if TYPE_CHECKING:
    from priorbook.client import AsyncClient

PROTOCOL = "priorbook.v3"
SILENT_HEARTBEATS = 2.5
SILENT_EXTRA = 1.0
CLOSE_WORDS = {
    1001: "shutting_down",
    1009: "message_too_large",
    4401: "unauthenticated",
    4403: "plan_required",
    4408: "auth_timeout",
    4410: "revoked",
    4429: "slow_reader",
    4430: "flooding",
}
REFUSALS = {
    4401: "the stream takes no connection without a valid key",
    4403: "the plan of the key does not include the stream or the subscription",
    4410: "the key was revoked or has expired",
    1009: "a request was larger than the stream takes",
}
PASSING_ERRORS = frozenset({"internal_error", "store_unavailable", "rate_limited", "request_timeout"})
DONE_REASONS = frozenset({"market_closed", "retention"})
RESUME_CHARS = 56_000
"""Max characters of `resume` in a request, which may have 64 KiB in all."""
CLOSED_RESUME = 600.0
"""Seconds in which a closed market may still get rows."""
MOST_PLACES = 20_000


class Subscription(TypedDict, total=False):
    """Markets of one venue (one, a series, an asset, a window; all without), or reference prices of an asset."""

    venue: str
    market_id: str
    series: str
    asset: str
    window: str
    datasets: Sequence[str]
    mode: str
    depth: int
    conflate_ms: int
    reference: str
    feed: str


@dataclass(frozen=True)
class LiveOptions:
    """How a live stream is kept up."""

    reconnects: int | None = None
    """Max consecutive failures before it gives up; no limit by default."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    connect_timeout: float = 15.0
    max_queue: int = 100_000
    """Max messages that wait to be read."""


class Message(msgspec.Struct, kw_only=True):
    """
    What a stream yields, told apart by ``type``: messages of the server, and ``disconnected`` and ``hole`` of the
    client. Members that a type does not have are None.
    """

    type: str
    id: str | None = None
    key: str | None = None
    sequence: int | None = None
    previous_sequence: int | None = None
    row: Any = None
    """A book, changes of a book, a trade, a reference price or a market record."""
    gap: Gap | None = None
    venue: str | None = None
    market_id: str | None = None
    after_sequence: int | None = None
    reason: str | None = None
    code: str | int | None = None
    message: str | None = None
    hint: str | None = None
    kind: str | None = None
    retry_ms: int | None = None
    replay: str | None = None
    state: str | None = None
    time: datetime | None = None
    rows: int | None = None
    markets: int | None = None
    instruments: int | None = None
    heartbeat_ms: int | None = None
    plan: str | None = None


class _Wire(Message, kw_only=True):
    row: msgspec.Raw = msgspec.Raw(b"null")


_decoder = msgspec.json.Decoder(_Wire)
_ROWS: Mapping[str, Any] = {"trade": Trade, "reference": ReferencePrice, "market": Market, "snapshot": Book}


def parse_message(text: str | bytes) -> Message:
    """Reads a message of the server."""
    wire = _decoder.decode(text)
    raw = bytes(wire.row)
    row: Any = None
    if raw != b"null":
        kind = _ROWS.get(wire.type) or (BookChange if b'"changes":{' in raw else Book)
        row = msgspec.json.decode(raw, type=kind)
    values = {name: getattr(wire, name) for name in Message.__struct_fields__ if name != "row"}
    return Message(**values, row=row)


@dataclass(frozen=True)
class End:
    """Why a connection ended."""

    code: int
    reason: str
    fault: Message | None = None


class Socket:
    """One connection to the stream, without reconnects."""

    def __init__(self, connection: ClientConnection, welcome: Message) -> None:
        self._connection = connection
        self.welcome = welcome
        self._limit = (welcome.heartbeat_ms or 15_000) / 1000 * SILENT_HEARTBEATS + SILENT_EXTRA
        self._fault: Message | None = None
        self.end: End | None = None

    async def send(self, request: Mapping[str, Any]) -> None:
        """Sends a request."""
        with suppress(websockets.ConnectionClosed):
            await self._connection.send(json.dumps(request))

    async def close(self) -> None:
        """Closes the connection."""
        self.end = self.end or End(1000, "closed")
        with suppress(Exception):
            await asyncio.wait_for(self._connection.close(), 1)

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Messages until the connection ends; ``end`` then says why."""
        while self.end is None:
            try:
                message = parse_message(await asyncio.wait_for(self._connection.recv(), self._limit))
            except asyncio.TimeoutError:
                self.end = End(1006, "silent")
            except websockets.ConnectionClosed as closed:
                self.end = end_of(closed, self._fault)
            except msgspec.DecodeError:
                continue
            else:
                if message.type == "error" and message.id is None:
                    self._fault = message
                yield message


def end_of(closed: websockets.ConnectionClosed, fault: Message | None) -> End:
    """Why a connection was closed."""
    frame = closed.rcvd
    if frame is None:
        return End(1006, "broken", fault)
    word = CLOSE_WORDS.get(frame.code, "closed" if frame.code == 1000 else "broken")
    return End(frame.code, frame.reason or word, fault)


def refusal_of(end: End) -> StreamError | None:
    """The error of a connection that would be closed again; None where another try may help."""
    advice, fault = REFUSALS.get(end.code), end.fault
    if advice is None or (fault is not None and fault.code in PASSING_ERRORS):
        return None
    detail = fault.message if fault is not None and fault.message else advice
    return StreamError(
        CLOSE_WORDS[end.code],
        detail,
        close_code=end.code,
        hint=fault.hint if fault else None,
        error_code=str(fault.code) if fault else None,
    )


async def open_socket(client: AsyncClient, options: LiveOptions) -> Socket:
    """Connects and waits for the welcome; raises where the server refuses or cannot be reached."""
    address = client.stream_url
    try:
        return await asyncio.wait_for(_connect(client, options), options.connect_timeout)
    except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as cause:
        raise NetworkError("network_failed", f"{address} failed: {cause or 'no welcome came'}") from cause


async def _connect(client: AsyncClient, options: LiveOptions) -> Socket:
    key = client._settings.bearer()
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    connection = await connect(
        client.stream_url,
        additional_headers=headers,
        subprotocols=[websockets.Subprotocol(PROTOCOL)],
        max_size=None,
        max_queue=options.max_queue,
        ping_interval=None,
        proxy=None,
    )
    fault: Message | None = None
    try:
        while True:
            message = parse_message(await connection.recv())
            if message.type == "welcome":
                return Socket(connection, message)
            # What comes before the welcome tells why there will be none.
            if message.type == "error":
                fault = message
    except websockets.ConnectionClosed as closed:
        end = end_of(closed, fault)
        detail = f"{client.stream_url} failed: {end.reason}"
        raise refusal_of(end) or NetworkError("network_failed", detail) from closed
    except BaseException:
        await connection.close()
        raise


async def follow_live(
    client: AsyncClient, subscriptions: Sequence[Mapping[str, Any]], options: LiveOptions
) -> AsyncIterator[Message]:
    """
    Follows markets. Reconnects and resumes after the last rows by itself; rows that were lost are announced by
    ``resync`` (the server knows) or ``hole`` (found by the sequence). Raises where the server refuses for good.
    """
    places = Places()
    failures = 0
    has_connected = False
    while True:
        end = End(1006, "unreachable")
        socket = await _try_connect(client, options, has_connected)
        if socket is not None:
            has_connected = True
            opened = time.monotonic()
            reason: End | None = None
            try:
                async for message in _follow(socket, subscriptions, places):
                    if isinstance(message, End):
                        reason = message
                        break
                    yield message
            finally:
                await socket.close()
            end = reason or socket.end or end
            # Connections that close at once count as failures, so the delay keeps growing.
            if time.monotonic() - opened > options.retry.max_delay:
                failures = 0
        refusal = refusal_of(end)
        if refusal is not None:
            raise refusal
        failures += 1
        limit = options.reconnects if has_connected else min(options.reconnects or 5, client._settings.retry.retries)
        if limit is not None and failures > limit:
            raise NetworkError("network_failed", f"the stream could not be taken up again: {end.reason}")
        delay = options.retry.delay(failures)
        yield Message(type="disconnected", code=end.code, reason=end.reason, retry_ms=round(delay * 1000))
        await asyncio.sleep(delay)


async def _try_connect(client: AsyncClient, options: LiveOptions, has_connected: bool) -> Socket | None:
    try:
        return await open_socket(client, options)
    except StreamError as error:
        # The server may not have noticed yet that the previous connection is gone.
        if has_connected and error.error_code == "too_many_connections":
            return None
        raise
    except NetworkError:
        if not has_connected:
            await client.explain()
        return None


async def _follow(
    socket: Socket, subscriptions: Sequence[Mapping[str, Any]], places: Places
) -> AsyncIterator[Message | End]:
    yield socket.welcome
    ids = set()
    for index, subscription in enumerate(subscriptions):
        name = f"live-{index + 1}"
        ids.add(name)
        await socket.send({"id": name, **_to_request(subscription, places)})
    async for message in socket:
        if message.type in ("snapshot", "update", "trade", "reference"):
            seen = places.see(message)
            if seen == "old":
                continue
            if isinstance(seen, Message):
                yield seen
                if message.type == "update" and isinstance(message.row, BookChange):
                    # A change to a book that the client does not have: only a new snapshot helps.
                    yield message
                    places.forget(str(seen.venue), str(seen.key))
                    yield End(1000, "hole")
                    return
        elif message.type == "resync":
            places.forget(str(message.venue), str(message.key))
        elif message.type == "gap" and message.gap is not None:
            gap = message.gap
            if gap.key is not None and gap.reason in DONE_REASONS:
                places.end_market(gap.venue, gap.key)
        elif message.type == "error" and message.id in ids:
            if message.code not in PASSING_ERRORS:
                raise StreamError(str(message.code), str(message.message), hint=message.hint)
            yield message
            yield End(1000, str(message.code))
            return
        yield message


def _to_request(subscription: Mapping[str, Any], places: Places) -> dict[str, Any]:
    asset = subscription.get("reference")
    if asset is not None:
        style = {name: value for name, value in subscription.items() if name != "reference"}
        resume = places.references_of(asset)
        return {"op": "subscribe_reference", "asset": asset, **style, **({"resume": resume} if resume else {})}
    resume = places.resume_of(subscription["venue"], subscription.get("market_id"))
    return {"op": "subscribe", **subscription, **({"resume": resume} if resume else {})}


@dataclass
class _Place:
    venue: str
    market_id: str
    key: str
    kind: str
    sequence: int
    closed: float | None = None


class Places:
    """Remembers the last row of every instrument: what to resume from, and what is missing."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], _Place] = {}

    def see(self, message: Message) -> str | Message:
        """Checks a row: ``old`` was received before; a row that is not consecutive has a hole before it."""
        kind = message.type if message.type in ("trade", "reference") else "book"
        row, key, sequence = message.row, message.key or "", message.sequence or 0
        market_id = str(getattr(row, "market_id", None) or getattr(row, "asset", ""))
        name = (row.venue, key, kind)
        before = self._places.get(name)
        if before is not None and sequence <= before.sequence:
            return "old"
        self._places.pop(name, None)
        self._places[name] = _Place(row.venue, market_id, key, kind, sequence)
        if len(self._places) > MOST_PLACES:
            self._places.pop(next(iter(self._places)))
        if before is not None and before.closed is not None and message.type == "snapshot":
            return "next"
        last = None if before is None else before.sequence
        if follows(message, last):
            return "next"
        return Message(
            type="hole",
            venue=row.venue,
            market_id=market_id,
            key=key,
            kind=kind,
            after_sequence=last or 0,
            sequence=sequence,
        )

    def forget(self, venue: str, key: str) -> None:
        """The server announced missing rows: the next row may have any sequence."""
        self._places.pop((venue, key, "book"), None)

    def end_market(self, venue: str, market_or_key: str) -> None:
        """A market has closed: its instruments are resumed for a while, after those that trade."""
        for place in self._places.values():
            if place.venue == venue and market_or_key in (place.market_id, place.key) and place.closed is None:
                place.closed = time.monotonic()

    def references_of(self, asset: str) -> dict[str, int]:
        """The last reference prices of an asset, by key."""
        own = (place for place in self._places.values() if place.kind == "reference")
        return {place.key: place.sequence for place in own if place.market_id == asset.upper()}

    def resume_of(self, venue: str, market_id: str | None) -> dict[str, int]:
        """The positions to resume from, as many as a request holds: what trades first, and of it the newest."""
        since = time.monotonic() - CLOSED_RESUME
        own = [
            place
            for place in reversed(self._places.values())
            if place.kind != "reference" and place.venue == venue and market_id in (None, place.market_id)
        ]
        trading = [place for place in own if place.closed is None]
        closed = [place for place in own if place.closed is not None and place.closed > since]
        resume: dict[str, int] = {}
        chars = 0
        for place in [*trading, *closed]:
            name = f"{place.key}/trade" if place.kind == "trade" else place.key
            chars += len(name) + len(str(place.sequence)) + 4
            if chars > RESUME_CHARS:
                break
            resume[name] = place.sequence
        return resume


def follows(message: Message, last: int | None) -> bool:
    """True when a message follows the last row that arrived."""
    previous, sequence = message.previous_sequence, message.sequence or 0
    if message.type == "update":
        # A change needs the book that it changes; a whole book needs none.
        is_change = isinstance(message.row, BookChange)
        return not is_change if last is None else previous is not None and previous <= last
    if last is None or sequence == last + 1:
        return True
    if message.type == "snapshot":
        return (previous or 0) == last
    return message.type == "trade" and previous is not None and previous <= last


async def socket_replay(
    client: AsyncClient, params: Mapping[str, Any], *, start_time: TimeInput, end_time: TimeInput, speed: float | str
) -> AsyncIterator[Message]:
    """Recorded rows over the socket; at the end the number of rows is compared with the server's."""
    socket = await open_socket(client, LiveOptions())
    times = {"start_time": _to_wire(start_time), "end_time": _to_wire(end_time)}
    await socket.send({"op": "replay", "id": "replay", **params, **times, "speed": speed})
    received = 0
    try:
        async for message in socket:
            if message.type == "error" and message.id == "replay":
                raise StreamError(str(message.code), str(message.message), hint=message.hint)
            if message.replay != "replay":
                continue
            if getattr(message.row, "id", None) is not None:
                received += 1
            yield message
            if message.type == "replay_state" and message.state in ("finished", "stopped"):
                if message.state == "finished" and message.rows is not None and message.rows != received:
                    raise ClientError("incomplete_replay", f"{received} rows arrived, {message.rows} were sent")
                return
    finally:
        await socket.close()
    end = socket.end or End(1006, "broken")
    raise refusal_of(end) or NetworkError("network_failed", f"the replay broke off: {end.reason}")


def _to_wire(value: TimeInput) -> str | int:
    text = print_value("time", value)
    return int(text) if text.isdigit() else text
