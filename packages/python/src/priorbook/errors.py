"""What can go wrong, as exceptions; programs look at ``code``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

CLIENT_ERRORS: Mapping[str, str] = {
    "network_failed": "The server could not be reached, or the connection broke, and retries did not help.",
    "timed_out": "The server took longer than the time allowed, and retries did not help.",
    "bad_answer": "The answer is not what the interface promises.",
    "incomplete_walk": "The rows that arrived are not the rows that the receipt lists.",
    "incomplete_file": "A file ends early, or its bytes are not those that were announced.",
    "stream_refused": "The server closed the stream and would close it again.",
    "incomplete_replay": "The rows of a replay are not those that the server says it sent.",
    "invalid_option": "An option of the client has a value that cannot be used.",
    "engine_missing": "The program priorbook, which runs backtests, was not found.",
    "backtest_failed": "The engine of backtests refused the run, or failed.",
    "strategy_failed": "A hook of the strategy raised an error.",
    "corrupt_chunk": "A chunk of a tape contradicts itself or its checksum.",
    "unsupported_format": "A file or a chunk has a version that this client does not know.",
}
"""The code of every failure that the client detects, and its meaning."""


class PriorbookError(Exception):
    """Any failure of this package."""

    code: str

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        # By default the constructor would be called with the message alone, which it refuses: a pool of processes
        # then never learns of the error and waits forever.
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[PriorbookError], args: tuple[Any, ...]) -> PriorbookError:
    """An error as another process raised it; what belongs to it besides its message is set afterwards."""
    return kind.__new__(kind, *args)


class ClientError(PriorbookError):
    """A failure that the client detected."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail or CLIENT_ERRORS[code])
        self.code = code


class NetworkError(ClientError):
    """The server could not be reached, or not in time."""


class IncompleteWalkError(ClientError):
    """The rows that arrived are not those of the receipt."""

    def __init__(self, difference: str, expected: Any, received: Any) -> None:
        super().__init__("incomplete_walk", difference)
        self.expected = expected
        self.received = received


class IncompleteFileError(ClientError):
    """A file is not complete or not what was announced."""

    def __init__(self, detail: str) -> None:
        super().__init__("incomplete_file", detail)


class CorruptChunkError(ClientError):
    """A chunk of a tape is damaged."""

    def __init__(self, detail: str) -> None:
        super().__init__("corrupt_chunk", detail)


class StreamError(ClientError):
    """The server refused a request of the stream; ``reason`` says why, such as ``unknown_market``."""

    def __init__(
        self,
        reason: str,
        detail: str,
        *,
        close_code: int | None = None,
        hint: str | None = None,
        error_code: str | None = None,
    ) -> None:
        super().__init__("stream_refused", detail)
        self.reason = reason
        self.close_code = close_code
        self.hint = hint
        self.error_code = error_code


class BacktestError(ClientError):
    """The engine refused a run or failed; ``status`` is the one it ended with, ``reason`` its own code."""

    def __init__(self, detail: str, *, status: int, reason: str | None = None, hint: str | None = None) -> None:
        super().__init__("backtest_failed", detail if hint is None else f"{detail} ({hint})")
        self.status = status
        self.reason = reason
        self.hint = hint


class StrategyError(ClientError):
    """A hook of the strategy failed; ``result`` has the reports up to there, ``__cause__`` what the hook raised."""

    def __init__(self, detail: str, result: Any) -> None:
        super().__init__("strategy_failed", detail)
        self.result = result


class ApiError(PriorbookError):
    """What the server said is wrong with a request: the members of its problem document (RFC 9457)."""

    def __init__(
        self,
        *,
        code: str,
        status: int,
        title: str,
        detail: str,
        param: str | None = None,
        allowed: Sequence[str] | None = None,
        hint: str | None = None,
        plan: str | None = None,
        limit: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(detail if hint is None else f"{detail} ({hint})")
        self.code = code
        self.status = status
        self.title = title
        self.detail = detail
        self.param = param
        """The parameter that is wrong, ``allowed`` what it may be, ``hint`` what to do."""
        self.allowed = allowed
        self.hint = hint
        self.plan = plan
        """The plan that includes it; ``limit`` is the limit that is used up."""
        self.limit = limit
        self.retry_after = retry_after
        """Seconds."""
        self.request_id = request_id
        """Names the request in the log of the service."""


class BadRequestError(ApiError):
    """A parameter is wrong (status 400 and 422)."""


class AuthenticationError(ApiError):
    """The key is missing or wrong (status 401)."""


class PlanError(ApiError):
    """The plan of the key does not include it (status 402 and 403)."""


class NotFoundError(ApiError):
    """There is no such market, event, contract or route (status 404 and 410)."""


class RateLimitError(ApiError):
    """A limit of the plan is used up (status 429); ``retry_after`` says for how long."""


class ServerError(ApiError):
    """The service failed (status 5xx)."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: PlanError,
    403: PlanError,
    404: NotFoundError,
    410: NotFoundError,
    422: BadRequestError,
    429: RateLimitError,
}


def api_error_class(status: int) -> type[ApiError]:
    """The class of a status."""
    return ServerError if status >= 500 else _BY_STATUS.get(status, ApiError)
