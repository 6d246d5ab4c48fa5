"""How often and how fast a failed request is retried."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class RetryPolicy:
    """Five retries within about eight seconds."""

    retries: int = 5
    """Max retries after the first attempt; 0 never retries."""
    base_delay: float = 0.25
    """Seconds of the first wait; it doubles each time, up to ``max_delay``."""
    max_delay: float = 10.0
    max_retry_after: float = 60.0
    """A ``Retry-After`` longer than this fails the request instead of waiting."""

    def delay(self, attempt: int, retry_after: float = 0.0) -> float:
        """The wait before a retry: the upper half of the span, so that clients that failed together part."""
        span = min(self.max_delay, self.base_delay * (1 << min(attempt - 1, 30)))
        jittered = span * (0.5 + random.random() / 2)
        return retry_after + jittered / 4 if retry_after > 0 else jittered


@dataclass(frozen=True)
class RetryEvent:
    """A failed attempt that is retried."""

    attempt: int
    delay: float
    error: Exception
    path: str


OnRetry = Callable[[RetryEvent], None]


def parse_retry_after(text: str | None) -> float | None:
    """Reads ``Retry-After``: seconds or a date; None where it is absent or malformed."""
    if text is None:
        return None
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
