"""Requests and their retries, written once: a generator says what to do, and a client does it, waiting or awaiting."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import msgspec

from priorbook._body import Body
from priorbook._query import Query, print_query
from priorbook._retry import OnRetry, RetryEvent, RetryPolicy, parse_retry_after
from priorbook.errors import ApiError, ClientError, NetworkError, api_error_class

T = TypeVar("T")

JSON = "application/json"
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Send:
    """Send a request and read its whole answer, into ``body`` where one is given."""

    request: httpx.Request
    body: Body | None = None


@dataclass(frozen=True)
class Write:
    """What a request changes; it is made once, because it may have been done already."""

    method: str
    body: Mapping[str, Any] | None


@dataclass(frozen=True)
class Sleep:
    """Wait for some seconds."""

    seconds: float


Steps = Generator["Send | Sleep", Any, T]


@dataclass
class Settings:
    """How requests are made."""

    base: str
    key: str | Callable[[], str] | None
    retry: RetryPolicy
    timeout: float
    on_retry: OnRetry | None
    headers: dict[str, str] = field(default_factory=dict)

    def bearer(self) -> str | None:
        """The key of this moment."""
        return check_key(self.key()) if callable(self.key) else self.key


def check_key(key: str) -> str:
    """Refuses a key that no header can carry, without repeating it."""
    if re.fullmatch(r"[\x21-\x7e]+", key):
        return key
    raise ClientError("invalid_option", "the key is empty or holds a space or a line break; copy it again")


def request_steps(
    settings: Settings,
    path: str,
    query: Query,
    parse: Callable[[httpx.Response], T],
    *,
    accept: str = JSON,
    timeout: float | None = None,
    body: Body | None = None,
    write: Write | None = None,
) -> Steps[T]:
    """One request with its retries; what ``parse`` refuses as a bad answer is retried too."""
    limit = settings.timeout if timeout is None else timeout
    attempt = 0
    while True:
        attempt += 1
        error: Exception
        try:
            request = _build(settings, path, query, accept, limit, write)
            response: httpx.Response = yield Send(request, body)
            if response.is_success:
                return parse(response)
            error = to_api_error(response)
        except httpx.TimeoutException:
            error = NetworkError("timed_out", f"{path} took longer than {limit:g} s")
        except httpx.HTTPError as cause:
            error = NetworkError("network_failed", f"{path} failed: {cause or type(cause).__name__}")
            error.__cause__ = cause
        except ClientError as cause:
            error = cause
        wait = _wait_of(error)
        if (
            wait is None
            or write is not None
            or attempt > settings.retry.retries
            or wait > settings.retry.max_retry_after
        ):
            raise error
        delay = settings.retry.delay(attempt, wait)
        if settings.on_retry is not None:
            settings.on_retry(RetryEvent(attempt, delay, error, path))
        yield Sleep(delay)


def _build(
    settings: Settings, path: str, query: Query, accept: str, limit: float, write: Write | None
) -> httpx.Request:
    headers = {**settings.headers, "accept": accept}
    if accept != JSON:
        # Columns and chunks are stored tightly: packing them again costs more time than it saves.
        headers["accept-encoding"] = "identity"
    bearer = settings.bearer()
    if bearer is not None:
        headers["authorization"] = f"Bearer {bearer}"
    timeout = httpx.Timeout(limit if limit > 0 else None)
    extensions = {"timeout": timeout.as_dict()}
    url = f"{settings.base}{path}"
    if write is not None:
        content = None if write.body is None else msgspec.json.encode(write.body)
        if content is not None:
            headers["content-type"] = JSON
        return httpx.Request(write.method, url, content=content, headers=headers, extensions=extensions)
    return httpx.Request("GET", url, params=print_query(query), headers=headers, extensions=extensions)


# Seconds to wait for at least; None where a retry cannot help.
def _wait_of(error: Exception) -> float | None:
    if isinstance(error, ApiError):
        return (error.retry_after or 0.0) if error.status in RETRYABLE else None
    if isinstance(error, ClientError):
        return None if error.code == "invalid_option" else 0.0
    return None


class _Problem(msgspec.Struct):
    code: str | None = None
    title: str | None = None
    detail: str | None = None
    param: str | None = None
    allowed: list[str] | None = None
    hint: str | None = None
    plan: str | None = None
    limit: str | None = None
    retry_after: float | None = None
    request_id: str | None = None


def to_api_error(response: httpx.Response) -> ApiError:
    """The problem of an answer, also where a proxy gave it."""
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except (msgspec.DecodeError, httpx.ResponseNotRead):
        problem = _Problem()
    status = response.status_code
    asked = parse_retry_after(response.headers.get("retry-after"))
    title = problem.title or f"HTTP {status} {response.reason_phrase}".strip()
    return api_error_class(status)(
        code=problem.code or f"http_{status}",
        status=status,
        title=title,
        detail=problem.detail or title,
        param=problem.param,
        allowed=problem.allowed,
        hint=problem.hint,
        plan=problem.plan,
        limit=problem.limit,
        retry_after=problem.retry_after if asked is None else asked,
        request_id=problem.request_id or response.headers.get("x-request-id"),
    )
