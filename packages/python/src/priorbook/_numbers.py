"""Numbers of the tape format, whole columns at a time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from priorbook.errors import CorruptChunkError

Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

MAX_NUMBER = 2**53 - 1


class Reader:
    """Reads a few numbers and texts one after another; columns have functions of their own."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def raw(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise CorruptChunkError("too short")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        return self.raw(1)[0]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if value > MAX_NUMBER or shift > 56:
            raise CorruptChunkError("a number is too long")
        return value

    def signed(self) -> int:
        first = self.byte()
        value = (first & 63) + (self.varint() * 64 if first & 128 else 0)
        return -value if first & 64 else value

    def text(self) -> str:
        try:
            return self.raw(self.varint()).decode()
        except UnicodeDecodeError as cause:
            raise CorruptChunkError("a text is not UTF-8") from cause

    def runs(self, count: int) -> Ints:
        """Pairs of length and value until the lengths add up."""
        lengths: list[int] = []
        values: list[int] = []
        left = count
        while left > 0:
            length = self.varint()
            values.append(self.varint())
            if not 0 < length <= left:
                raise CorruptChunkError("bad run")
            lengths.append(length)
            left -= length
        return np.repeat(np.array(values, dtype=np.int64), np.array(lengths, dtype=np.int64))

    def rest(self) -> bytes:
        """Everything that is left."""
        return self.raw(len(self.data) - self.at)

    def end(self) -> None:
        if self.at != len(self.data):
            raise CorruptChunkError("bytes left over")


def to_bytes(data: bytes) -> Bytes:
    """A view of bytes as numbers."""
    return np.frombuffer(data, dtype=np.uint8)


def varints(data: bytes, count: int) -> Ints:
    """A column of so many varints."""
    return _grouped(data, count, 7)


def signed_numbers(data: bytes, count: int) -> Ints:
    """A column of so many signed numbers."""
    if count == 0:
        return varints(data, 0)
    magnitudes = _grouped(data, count, 6)
    raw = to_bytes(data)
    starts = _starts(raw)
    return np.where(raw[starts] & 64, -magnitudes, magnitudes)


# A number ends with its first byte below 128. The first byte has so many bits, the others seven.
def _grouped(data: bytes, count: int, first_bits: int) -> Ints:
    raw = to_bytes(data)
    if int(np.count_nonzero(raw < 128)) != count or (len(raw) > 0 and raw[-1] >= 128):
        raise CorruptChunkError("a column of numbers has another length")
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    starts = _starts(raw)
    lengths = np.diff(np.append(starts, len(raw)))
    if int(lengths.max()) > 8:
        raise CorruptChunkError("a number is too long")
    place = np.arange(len(raw)) - np.repeat(starts, lengths)
    shift = np.where(place == 0, 0, first_bits + 7 * (place - 1))
    mask = np.where(place == 0, (1 << first_bits) - 1, 127)
    values: Ints = np.add.reduceat((raw.astype(np.int64) & mask) << shift, starts)
    if int(values.max()) > MAX_NUMBER:
        raise CorruptChunkError("a number is too long")
    return values


def _starts(raw: Bytes) -> npt.NDArray[np.intp]:
    is_start = np.empty(len(raw), dtype=bool)
    is_start[:1] = True
    is_start[1:] = raw[:-1] < 128
    return np.flatnonzero(is_start)


_TOKENS = np.arange(114)
_EXPONENTS = 4 + (_TOKENS - 16) // 2
_BITS = np.where(_TOKENS < 16, 0, _EXPONENTS - 1).astype(np.int64)
_BASES = np.where(_TOKENS < 16, _TOKENS, (2 + _TOKENS % 2) << np.maximum(_EXPONENTS - 1, 0)).astype(np.int64)


def hybrids(tokens: Bytes, bits: bytes) -> Ints:
    """Hybrid numbers: a token each, and the bits below it in a column of their own."""
    if len(tokens) == 0:
        if bits:
            raise CorruptChunkError("bits left over")
        return np.zeros(0, dtype=np.int64)
    if int(tokens.max()) > 113:
        raise CorruptChunkError("no such token")
    widths = _BITS[tokens]
    ends = np.cumsum(widths)
    if (int(ends[-1]) + 7) // 8 != len(bits):
        raise CorruptChunkError("a column of bits has another length")
    if not bits:
        return _BASES[tokens]
    places = ends - widths
    # At most 51 bits from any bit of a byte on: eight bytes hold them.
    padded = np.concatenate([to_bytes(bits), np.zeros(8, dtype=np.uint8)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 8)[places >> 3]
    words = np.ascontiguousarray(windows).view("<u8").reshape(-1)
    one = np.uint64(1)
    rest = (words >> (places & 7).astype(np.uint64)) & ((one << widths.astype(np.uint64)) - one)
    values: Ints = _BASES[tokens] + rest.astype(np.int64)
    return values


def unzigzag(values: Ints) -> Ints:
    """0, -1, 1, -2 … from 0, 1, 2, 3 …"""
    return (values >> 1) ^ -(values & 1)


def print_varint(value: int) -> bytes:
    """A varint as bytes."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def as_list(values: Any) -> list[int]:
    """Numbers for a plain loop, which is faster over Python's own."""
    result: list[int] = values.tolist()
    return result
