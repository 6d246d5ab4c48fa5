"""Counts rows as they arrive and compares them with the receipt of a walk or of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass
class Count:
    """The rows of one instrument: how many, the lowest, the highest and the last sequence."""

    rows: int
    first: int
    last: int
    previous: int


class ReceivedRows:
    """Counts rows by instrument and notes the first one out of order."""

    def __init__(self) -> None:
        self.rows = 0
        self.counts: dict[str, Count] = {}
        self.disorder: str | None = None
        self._unnamed = 0
        self._step = 0

    def add(self, row_id: str | None) -> None:
        """Adds a row by its id; rows of lists have none."""
        self.rows += 1
        if row_id is None or ":" not in row_id:
            self._unnamed += 1
            return
        rest, _, digits = row_id.rpartition(":")
        self._see(rest.partition(":")[2], int(digits), row_id)

    def _see(self, key: str, sequence: int, row_id: str) -> None:
        count = self.counts.get(key)
        if count is None:
            self.counts[key] = Count(1, sequence, sequence, sequence)
            return
        if self._step == 0:
            self._step = -1 if sequence < count.previous else 1
        if (sequence - count.previous) * self._step <= 0 and self.disorder is None:
            self.disorder = f"{row_id} comes after {count.previous}"
        count.rows += 1
        count.first = min(count.first, sequence)
        count.last = max(count.last, sequence)
        count.previous = sequence

    def state(self) -> dict[str, Any]:
        """What another process needs to go on."""
        counts = [[key, one.rows, one.first, one.last, one.previous] for key, one in self.counts.items()]
        return {"instruments": counts, "disorder": self.disorder, "unnamed": self._unnamed}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ReceivedRows:
        """Goes on from a state."""
        received = cls()
        for key, rows, first, last, previous in state["instruments"]:
            received.counts[key] = Count(rows, first, last, previous)
            received.rows += rows
            if first < last:
                received._step = 1 if previous == last else -1
        received.disorder = state.get("disorder")
        received._unnamed = state.get("unnamed", 0)
        received.rows += received._unnamed
        return received


def difference_of(rows: int, instruments: Iterable[Any] | None, received: ReceivedRows) -> str | None:
    """
    How rows differ from a receipt: in number, by instrument, or in order. None where they do not: then every row
    arrived once, because sequences that keep their order and their number between the same edges leave no room.
    """
    keyed = _keyed(instruments, received)
    missing = rows - received.rows
    if missing > 0:
        return f"{missing} of {rows} rows did not arrive{keyed}"
    if missing < 0:
        return f"{-missing} rows more arrived than the {rows} of the receipt{keyed}"
    if keyed:
        return f"{rows} rows arrived, but not those of the receipt{keyed}"
    return None if received.disorder is None else f"rows arrived out of order: {received.disorder}"


def _keyed(instruments: Iterable[Any] | None, received: ReceivedRows) -> str:
    if instruments is None:
        return ""
    found = dict(received.counts)
    parts: list[str] = []
    for one in instruments:
        own = found.pop(one.key, None)
        if own is not None and (own.rows, own.first, own.last) == (one.rows, one.first, one.last):
            continue
        came = "none" if own is None else f"{own.rows} from {own.first} to {own.last}"
        parts.append(f"of {one.key} {one.rows} rows from {one.first} to {one.last} were sent and {came} arrived")
    parts += [f"{key} is not in the receipt" for key in found]
    return f"; {'; '.join(parts[:3])}" if parts else ""
