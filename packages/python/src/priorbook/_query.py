"""Parameters of requests: from Python values to the text of the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TypeAlias
from urllib.parse import quote

from priorbook.errors import ClientError

TimeInput: TypeAlias = datetime | date | str | int
"""A time: aware, a day, ISO 8601, or whole seconds, milliseconds or microseconds since 1970 (by its digits)."""

DecimalInput: TypeAlias = Decimal | int | str
"""A decimal; never a float, which most decimals do not fit into."""

Value: TypeAlias = str | int | bool | float | Decimal | datetime | date | Sequence[str] | None
Query: TypeAlias = Mapping[str, Value]


def quoted(text: str) -> str:
    """One segment of a path."""
    return quote(text, safe="")


def print_query(query: Query) -> dict[str, str]:
    """The parameters that have a value, as text."""
    return {name: print_value(name, value) for name, value in query.items() if value is not None}


def print_value(name: str, value: Value) -> str:
    """A value as the wire has it; lists are joined by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return str(to_micros(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        raise ClientError("invalid_option", f"{name} is a float, which is not exact: give it as text or Decimal")
    if isinstance(value, (str, int)):
        return str(value)
    return ",".join(str(part) for part in value or ())


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_micros(time: datetime) -> int:
    """Whole microseconds since 1970; a time without a zone is refused, because nobody knows which it means."""
    if time.tzinfo is None:
        raise ClientError("invalid_option", f"{time.isoformat()} has no time zone: say timezone.utc")
    step = time - _EPOCH
    return (step.days * 86_400 + step.seconds) * 1_000_000 + step.microseconds


def from_micros(micros: int) -> datetime:
    """The time of whole microseconds since 1970."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest)


def print_micros(micros: int) -> str:
    """The time of whole microseconds since 1970 as answers have it."""
    return from_micros(micros).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
