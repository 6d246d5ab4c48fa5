"""One chunk of a tape: columns of consecutive rows of one stream (docs/formats/tape.md)."""

from __future__ import annotations

import hashlib
import uuid
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import zstandard

from priorbook._numbers import (
    MAX_NUMBER,
    Ints,
    Reader,
    as_list,
    hybrids,
    print_varint,
    signed_numbers,
    to_bytes,
    unzigzag,
    varints,
)
from priorbook._venues import VENUES
from priorbook.errors import ClientError, CorruptChunkError

KINDS = ("book", "trade", "sample")
ORIGINS = ("live", "emulator", "import")
COLUMN_COUNTS = {"book": (16,), "trade": (12, 13), "sample": (10, 11)}
FLAGS = (
    "full_book",
    "late",
    "clock_step",
    "locked",
    "off_tick",
    "truncated_upstream",
    "restart",
    "after_gap",
    "rounded",
)
"""The names of the bits of a row's flags, from the lowest on."""
FULL_BOOK = 1
RESTART = 64
AFTER_GAP = 128
NO_SOURCE = 65_536
NO_NUMBER = 131_072
MAX_COLUMN = 2**28
MAX_ROWS = 2**20

_unpacker = zstandard.ZstdDecompressor()


@dataclass(frozen=True)
class Header:
    """What a chunk says of itself."""

    kind: str
    origin: str
    venue: str
    market: str
    key: str
    metric: str
    recorder: str
    normalizer: int
    first: int
    count: int
    changes_before: int
    changes: int
    price_decimals: int
    size_decimals: int
    first_received: int
    last_received: int
    first_source: int | None
    last_source: int | None
    first_journal: int
    last_journal: int
    previous_hash: str


@dataclass(frozen=True)
class Heads:
    """The columns that all kinds of rows have; absent values are masked, times are microseconds."""

    received: Ints
    source: Ints
    has_source: Any
    number: Ints
    has_number: Any
    channel: Ints
    """-1 where it is absent."""
    journal: Ints
    flags: Ints


@dataclass(frozen=True)
class Levels:
    """The changed levels of the rows of a book chunk."""

    base: dict[int, int]
    """The book before the first row: sizes by level key."""
    counts: Ints
    keys: Ints
    """2 × ticks for a bid, 2 × ticks + 1 for an ask."""
    sizes: Ints
    """The new size; 0: the level is gone."""


@dataclass(frozen=True)
class Trades:
    """The columns of a trade chunk."""

    price: Ints
    taker: Ints
    """0 unknown, 1 buy, 2 sell."""
    size: Ints
    ids: list[str]
    natives: list[str | None]


@dataclass(frozen=True)
class Samples:
    """Values in 10^-8, and what is left of them in 10^-18."""

    value: Ints
    fine: Ints


class Chunk:
    """A chunk whose checksum and header are good; its columns are decoded when they are read."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"PBT1" or len(data) < 10:
            raise CorruptChunkError("no magic")
        if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            raise CorruptChunkError("the checksum is another")
        if data[4] != 1:
            raise ClientError("unsupported_format", f"version {data[4]} of chunks")
        reader = Reader(data[5:-4])
        self._head = reader.raw(reader.varint())
        self.columns = [_read_column(reader) for _ in range(min(reader.varint(), 64))]
        reader.end()
        self.header = _read_header(self._head)
        if len(self.columns) not in COLUMN_COUNTS[self.header.kind]:
            raise CorruptChunkError("another number of columns")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of what the chunk holds, whatever its compression; the next chunk of the stream names it."""
        parts = (self._head, *self.columns)
        digest = hashlib.sha256(b"\x01" + b"".join(print_varint(len(part)) for part in parts))
        for part in parts:
            digest.update(part)
        return digest.hexdigest()

    @cached_property
    def heads(self) -> Heads:
        """Times, numbers and flags of all rows."""
        return _read_heads(self.header, self.columns)

    @cached_property
    def levels(self) -> Levels:
        """The changed levels of all rows."""
        return _read_levels(self.header, self.columns)

    @cached_property
    def trades(self) -> Trades:
        """The trades."""
        return _read_trades(self.header, self.columns)

    @cached_property
    def samples(self) -> Samples:
        """The samples."""
        columns = self.columns
        value = np.cumsum(signed_numbers(columns[9], self.header.count))
        has_fine = len(columns) > 10
        fine = signed_numbers(columns[10], self.header.count) if has_fine else np.zeros_like(value)
        return Samples(value, fine)


def _read_column(reader: Reader) -> bytes:
    length, stored = reader.varint(), reader.varint()
    if length > MAX_COLUMN or (stored and (stored >= length or length > stored * 32_768)):
        raise CorruptChunkError("a column has an impossible length")
    column = reader.raw(stored or length)
    if stored:
        try:
            column = _unpacker.decompress(column, max_output_size=length)
        except zstandard.ZstdError as cause:
            raise CorruptChunkError("a column cannot be unpacked") from cause
    if len(column) != length:
        raise CorruptChunkError("a column has another length")
    return column


def _read_header(data: bytes) -> Header:
    reader = Reader(data)
    kind, origin = reader.byte(), reader.byte()
    if kind >= len(KINDS) or origin >= len(ORIGINS):
        raise CorruptChunkError("unknown kind or origin")
    venue, market, key, metric, recorder = (reader.text() for _ in range(5))
    normalizer, first, count, before, changes = (reader.varint() for _ in range(5))
    price_decimals, size_decimals, first_received, span = (reader.varint() for _ in range(4))
    first_source, last_source, first_journal = (reader.varint() for _ in range(3))
    last_journal = first_journal + reader.signed()
    previous = reader.raw(32).hex()
    reader.end()
    is_good = (
        venue in VENUES
        and 0 < count <= MAX_ROWS
        and first > 0
        and first + count <= MAX_NUMBER
        and price_decimals <= 6
        and size_decimals <= 15
        and before + changes <= MAX_NUMBER
        and first_received + span <= MAX_NUMBER
        and (first_source == 0) == (last_source == 0)
        and last_journal >= 0
    )
    if not is_good:
        raise CorruptChunkError("a value of the header is out of bounds")
    return Header(
        kind=KINDS[kind],
        origin=ORIGINS[origin],
        venue=venue,
        market=market or key,
        key=key,
        metric=metric,
        recorder=recorder,
        normalizer=normalizer,
        first=first,
        count=count,
        changes_before=before,
        changes=changes,
        price_decimals=price_decimals,
        size_decimals=size_decimals,
        first_received=first_received,
        last_received=first_received + span,
        first_source=first_source - 1 if first_source else None,
        last_source=last_source - 1 if last_source else None,
        first_journal=first_journal,
        last_journal=last_journal,
        previous_hash=previous,
    )


def _read_heads(header: Header, columns: list[bytes]) -> Heads:
    count = header.count
    frame = Reader(columns[0])
    modes, unit, source_unit, first_number = (frame.varint() for _ in range(4))
    marks, channels = frame.runs(count), frame.runs(count)
    frame.end()
    if modes > 7 or not unit or not source_unit or int(marks.max()) >= 262_144:
        raise CorruptChunkError("another form of heads")
    times = to_bytes(columns[1])
    if len(times) != count:
        raise CorruptChunkError("another number of times")
    told = np.flatnonzero(times)
    steps, receiveds, numbers = (np.zeros(count, dtype=np.int64) for _ in range(3))
    steps[told] = hybrids(times[told] - np.uint8(1), columns[2])
    receiveds[told] = _tokens(columns[3], columns[4], len(told))
    numbers[told] = _tokens(columns[5] or bytes(len(told)), columns[6], len(told))
    journals = _tokens(columns[7] or bytes(count), columns[8], count)

    source = (header.first_source or 0) + np.cumsum(unzigzag(steps) if modes & 1 else steps) * source_unit
    received = _received_times(header, source, receiveds, unit)
    has_number = marks < NO_NUMBER
    moved = np.where(has_number, (unzigzag(numbers) if modes & 2 else numbers) + 1, 0)
    number = first_number - 2 + np.cumsum(moved)
    journal = header.first_journal - 1 + np.cumsum(unzigzag(journals) + (moved if modes & 4 else 1))
    has_source = (marks & NO_SOURCE) == 0
    heads = Heads(received, source, has_source, number, has_number, channels - 1, journal, marks & 65_535)
    _check_heads(header, heads, first_number)
    return heads


def _tokens(tokens: bytes, bits: bytes, count: int) -> Ints:
    if len(tokens) != count:
        raise CorruptChunkError("another number of tokens")
    return hybrids(to_bytes(tokens), bits)


# Where the step is 0, the time is that of the row before.
def _received_times(header: Header, source: Ints, steps: Ints, unit: int) -> Ints:
    first = header.first_received
    latency = first // unit - (header.first_source or 0) // unit
    is_told = steps > 0
    latencies = latency + np.cumsum(np.where(is_told, unzigzag(steps - 1), 0))
    told = (source // unit + latencies) * unit
    last_told = np.maximum.accumulate(np.where(is_told, np.arange(len(steps)), -1))
    received: Ints = np.where(last_told >= 0, told[np.maximum(last_told, 0)], first)
    return received


def _check_heads(header: Header, heads: Heads, first_number: int) -> None:
    received, journal = heads.received, heads.journal
    is_good = (
        received[0] == header.first_received
        and received[-1] == header.last_received
        and bool((np.diff(received) >= 0).all())
        and journal[0] == header.first_journal
        and journal[-1] == header.last_journal
        and int(min(heads.source.min(), journal.min())) >= 0
        and _edges(heads.source[heads.has_source]) == (header.first_source, header.last_source)
    )
    numbers = heads.number[heads.has_number]
    is_numbered = (int(numbers[0]) + 1 if len(numbers) else 0) == first_number
    if not is_good or not is_numbered:
        raise CorruptChunkError("rows contradict the header")


def _edges(values: Ints) -> tuple[int | None, int | None]:
    return (int(values[0]), int(values[-1])) if len(values) else (None, None)


def _read_levels(header: Header, columns: list[bytes]) -> Levels:
    one = 10**header.price_decimals
    frame = Reader(columns[9])
    pairs = varints(frame.rest(), int(np.count_nonzero(to_bytes(columns[9]) < 128)))
    if len(pairs) != 1 + 2 * int(pairs[0]):
        raise CorruptChunkError("a keyframe of another length")
    steps, base_sizes = pairs[1::2], pairs[2::2]
    base_keys = np.cumsum(steps)
    if len(steps) and (int(steps.min()) == 0 or int(base_sizes.min()) == 0):
        raise CorruptChunkError("a keyframe level without a size")
    base = dict(zip(as_list(base_keys), as_list(base_sizes), strict=True))
    counts = varints(columns[10] or b"\x01" * header.count, header.count)
    keys = _level_keys(header, columns, one)
    if int(counts.sum()) != header.changes:
        raise CorruptChunkError("counts do not add up to the changes")
    bounds = np.concatenate([keys, base_keys])
    if len(bounds) and not (int(bounds.min()) >= 2 and int(bounds.max()) < 2 * one):
        raise CorruptChunkError("a price is out of bounds")
    sizes = _new_sizes(columns[14], columns[15], as_list(keys), base)
    if len(sizes) and not (int(sizes.min()) >= 0 and int(sizes.max()) <= MAX_NUMBER):
        raise CorruptChunkError("a size is out of bounds")
    return Levels(base, counts, keys, sizes)


def _level_keys(header: Header, columns: list[bytes], one: int) -> Ints:
    count = header.changes
    lengths = (count, count * (one >= 128), count * (one >= 32_768), count)
    if tuple(len(column) for column in columns[11:15]) != lengths:
        raise CorruptChunkError("another number of level keys")
    keys = to_bytes(columns[11]).astype(np.int64)
    for shift, column in ((8, columns[12]), (16, columns[13])):
        if column:
            keys = keys + (to_bytes(column).astype(np.int64) << shift)
    return keys


# Every change may depend on the one before, so this is the one loop over changes.
def _new_sizes(tokens: bytes, values: bytes, keys: list[int], base: dict[int, int]) -> Ints:
    amounts, explicit = _amounts(values, tokens.count(255))
    changes: list[int] = [0] * 256
    for index, amount in enumerate(amounts):
        changes[3 + 2 * index] = amount
        changes[4 + 2 * index] = -amount
    known = 3 + 2 * len(amounts)
    if any(known <= token < 255 for token in set(tokens)):
        raise CorruptChunkError("a size token names no amount")
    sizes = dict(base)
    last: dict[int, int] = {}
    size_of, last_of = sizes.get, last.get
    taken = 0
    out: list[int] = []
    append = out.append
    for token, key in zip(tokens, keys, strict=True):
        before = size_of(key, 0)
        if token > 2:
            change = changes[token] if token < 255 else next(explicit)
        elif token == 0:
            change = -before
        elif token == 1:
            change = -last_of(key, 0)
        else:
            change = taken
        if change < 0:
            taken = -change
        last[key] = change
        sizes[key] = after = before + change
        append(after)
    return np.array(out, dtype=np.int64)


def _amounts(values: bytes, explicit: int) -> tuple[list[int], Any]:
    reader = Reader(values)
    count = reader.varint()
    if count > 126:
        raise CorruptChunkError("too many amounts")
    amounts: list[int] = []
    for _ in range(count):
        amounts.append(reader.varint() + (amounts[-1] if amounts else 0))
    return amounts, iter(as_list(signed_numbers(reader.rest(), explicit)))


def _read_trades(header: Header, columns: list[bytes]) -> Trades:
    prices = varints(columns[9], header.count)
    sizes = varints(columns[10], header.count)
    if int((prices // 3).max()) > 10**header.price_decimals:
        raise CorruptChunkError("a price is out of bounds")
    reader = Reader(columns[11])
    form = reader.byte()
    if form > 1:
        raise CorruptChunkError("another form of trade ids")
    count = range(header.count)
    ids = [str(uuid.UUID(bytes=reader.raw(16))) for _ in count] if form else [reader.text() for _ in count]
    reader.end()
    return Trades(prices // 3, prices % 3, sizes, ids, _read_natives(header, columns))


def _read_natives(header: Header, columns: list[bytes]) -> list[str | None]:
    if len(columns) < 13:
        return [None] * header.count
    reader = Reader(columns[12])
    texts: list[str | None] = [None]
    texts += [reader.text() for _ in range(reader.varint())]
    numbers = varints(reader.rest(), header.count)
    if int(numbers.max()) >= len(texts):
        raise CorruptChunkError("a native text is missing")
    return [texts[number] for number in as_list(numbers)]
