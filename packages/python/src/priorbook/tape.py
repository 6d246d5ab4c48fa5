"""Files of the format ``tape``: read, verified hash by hash, and turned into tables (docs/formats/export.md)."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priorbook._chunk import Chunk, Header, Heads, Levels, Samples, Trades
from priorbook.errors import ClientError, IncompleteFileError

if TYPE_CHECKING:
    import pyarrow

    from priorbook._frames import Decimals, Shape

__all__ = ["Chunk", "Header", "Heads", "Levels", "Proof", "Samples", "Tape", "TapeChunk", "Trades", "read_tape"]

_KINDS = frozenset(b"HMGCPE")


@dataclass(frozen=True)
class TapeChunk:
    """A chunk with the market that it belongs to."""

    chunk: Chunk
    market: Mapping[str, Any]
    is_sealed: bool
    """True for a link of the chain of its stream, false for rows that are not sealed yet."""


@dataclass(frozen=True)
class Proof:
    """What a verification found."""

    chunks: int
    sealed: int
    rows: int
    heads: Mapping[str, str]
    """The hash of the newest sealed chunk of every stream, by venue, key and metric: what receipts call `head`."""


@dataclass
class Tape:
    """A file of the format ``tape``; its container is verified when it is read."""

    header: Mapping[str, Any]
    receipt: Mapping[str, Any]
    markets: list[Mapping[str, Any]] = field(default_factory=list)
    gaps: list[Mapping[str, Any]] = field(default_factory=list)
    chunks: list[TapeChunk] = field(default_factory=list)

    def verify(self) -> Proof:
        """
        Checks every chunk and the chains between them, and that the rows are those of the receipt. Raises a
        ``CorruptChunkError`` or an ``IncompleteFileError`` where something differs.
        """
        heads: dict[str, str] = {}
        previous: dict[str, tuple[int, str]] = {}
        for one in self.chunks:
            chunk, header = one.chunk, one.chunk.header
            _ = chunk.heads
            _ = {"book": lambda c: c.levels, "trade": lambda c: c.trades, "sample": lambda c: c.samples}[header.kind](
                chunk
            )
            stream = stream_of(header)
            before = previous.get(stream)
            if before is not None and header.first < before[0]:
                raise IncompleteFileError(f"{stream}: row {header.first} comes twice")
            if not one.is_sealed:
                continue
            if before is not None and before[0] == header.first and header.previous_hash != before[1]:
                raise IncompleteFileError(f"{stream}: the chunk of row {header.first} does not follow the one before")
            previous[stream] = (header.first + header.count, chunk.hash)
            heads[stream] = chunk.hash
        rows = self._check_receipt()
        sealed = sum(one.is_sealed for one in self.chunks)
        return Proof(len(self.chunks), sealed, rows, heads)

    def to_arrow(self, *, shape: Shape = "wide", decimals: Decimals = "decimal") -> pyarrow.Table:
        """The rows of the range: changed levels, trades or samples."""
        from priorbook._tape_tables import tape_table

        return tape_table(self, shape=shape, decimals=decimals)

    def bounds(self) -> tuple[int, int]:
        """The range in microseconds: chunks overlap it, and rows outside of it do not count."""
        from priorbook._tape_tables import parse_micros

        span = self.receipt["range"]
        return parse_micros(span["start_time"]), parse_micros(span["end_time"])

    def _check_receipt(self) -> int:
        from priorbook._tape_tables import rows_within

        start, end = self.bounds()
        counted: dict[str, list[int]] = {}
        for one in self.chunks:
            header = one.chunk.header
            rows = rows_within(one.chunk, start, end)
            if len(rows) == 0:
                continue
            own = counted.setdefault(receipt_key(header), [0, 2**53, 0])
            own[0] += len(rows)
            own[1] = min(own[1], header.first + int(rows[0]))
            own[2] = max(own[2], header.first + int(rows[-1]))
        expected = {one["key"]: [one["rows"], one["first"], one["last"]] for one in self.receipt["instruments"]}
        if counted != expected:
            wrong = next(key for key in {**expected, **counted} if counted.get(key) != expected.get(key))
            detail = f"{wrong}: {counted.get(wrong)} rows from and to for {expected.get(wrong)} of the receipt"
            raise IncompleteFileError(detail)
        return sum(rows for rows, _, _ in counted.values())


def receipt_key(header: Header) -> str:
    """The part of row ids between venue and sequence."""
    if header.kind == "trade":
        return f"{header.key}/trade"
    return f"{header.key}/{header.metric}" if header.kind == "sample" else header.key


def stream_of(header: Header) -> str:
    """The name of the stream that a chunk belongs to."""
    return f"{header.venue}:{receipt_key(header)}"


def read_tape(source: str | Path | bytes) -> Tape:
    """Reads a tape and verifies its container: frames, hash and check. ``Tape.verify`` also decodes every row."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    header: Mapping[str, Any] | None = None
    tape: Tape | None = None
    market: Mapping[str, Any] = {}
    for kind, payload in _frames(data):
        if kind == "H":
            header = json.loads(payload)
            tape = Tape(header or {}, {})
            continue
        if tape is None:
            raise IncompleteFileError("the first frame is not a header")
        if kind == "M":
            market = json.loads(payload)
            tape.markets.append(market)
        elif kind == "G":
            tape.gaps.append(json.loads(payload))
        elif kind == "E":
            tape.receipt = json.loads(payload)
        else:
            tape.chunks.append(TapeChunk(Chunk(payload), market, kind == "C"))
    if tape is None:
        raise IncompleteFileError("a tape without frames")
    return tape


def _frames(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data[:4] != b"PBX1":
        raise IncompleteFileError("this is not a tape")
    if data[4:5] != b"\x01":
        raise ClientError("unsupported_format", "another version of tapes")
    at = 5
    while True:
        if at + 5 > len(data) or data[at] not in _KINDS:
            raise IncompleteFileError("a frame is cut off or unknown")
        kind = data[at]
        size = int.from_bytes(data[at + 1 : at + 5], "little")
        payload = data[at + 5 : at + 5 + size]
        if len(payload) != size:
            raise IncompleteFileError("the file ends within a frame")
        if kind == ord("E"):
            _check_end(data, at, payload)
        yield chr(kind), payload
        if kind == ord("E"):
            return
        at += 5 + size


def _check_end(data: bytes, at: int, payload: bytes) -> None:
    end = at + 5 + len(payload)
    if len(data) != end + 4 or zlib.crc32(payload) != int.from_bytes(data[end:], "little"):
        raise IncompleteFileError("the check at the end is another")
    if json.loads(payload)["sha256"] != hashlib.sha256(data[:at]).hexdigest():
        raise IncompleteFileError("the hash of the file is another")
