"""Columns of Arrow tables: exact decimals, scaled integers, flags and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Decimals = Literal["decimal", "scaled"]
"""Exact decimals, or whole numbers of 10^-scale (``int64``), whose scale is in the metadata of the column."""

Shape = Literal["wide", "long"]
"""One row per observation with lists of levels, or one row per level."""

TIMES = pa.timestamp("us", tz="UTC")
EXACT = pa.decimal128(38, 18)
"""For decimals of any unit: 20 digits before the point, 18 after it, as many as any feed sends."""
PRICE_DIGITS = 9
SIZE_DIGITS = 18


def decimal_array(units: npt.NDArray[np.int64], digits: int, scale: int, mask: Any = None) -> pa.Array:
    """Whole numbers of 10^-scale as decimals; ``mask`` is true where a value is absent."""
    words = np.empty((len(units), 2), dtype="<i8")
    words[:, 0] = units
    words[:, 1] = units >> 63
    validity = None
    if mask is not None and bool(np.any(mask)):
        validity = pa.py_buffer(np.packbits(~np.asarray(mask), bitorder="little").tobytes())
    return pa.Array.from_buffers(pa.decimal128(digits, scale), len(units), [validity, pa.py_buffer(words.tobytes())])


def scaled(table: pa.Table) -> pa.Table:
    """The table with whole numbers instead of decimals."""
    for index, field in enumerate(table.schema):
        scale = scale_of(field.type)
        if scale is None:
            continue
        column = pa.chunked_array(
            [_scaled_array(chunk) for chunk in table.column(index).chunks], type=_scaled_type(field.type)
        )
        metadata = {**(field.metadata or {}), b"scale": str(scale).encode()}
        table = table.set_column(index, pa.field(field.name, column.type, field.nullable, metadata), column)
    return table


def scale_of(kind: pa.DataType) -> int | None:
    """The decimals of a column of decimals or of lists of them; None for any other."""
    inner = kind.value_type if pa.types.is_list(kind) else kind
    fits = pa.types.is_decimal128(inner) and inner.precision <= SIZE_DIGITS
    return int(inner.scale) if fits else None


def _scaled_type(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.int64()) if pa.types.is_list(kind) else pa.int64()


# The lower half of a decimal of at most 18 digits is the whole number.
def _scaled_array(array: pa.Array) -> pa.Array:
    if pa.types.is_list(array.type):
        values = _scaled_array(array.values)
        validity = array.buffers()[0]
        return pa.Array.from_buffers(
            pa.list_(pa.int64()), len(array), [validity, array.buffers()[1]], offset=array.offset, children=[values]
        )
    validity, data = array.buffers()
    words = np.frombuffer(data, dtype="<i8").reshape(-1, 2)[: array.offset + len(array), 0]
    low = pa.py_buffer(np.ascontiguousarray(words).tobytes())
    return pa.Array.from_buffers(pa.int64(), len(array), [validity, low], offset=array.offset)


def picked(values: Sequence[Any], indexes: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """For every index its value."""
    return pa.array(values, type=kind).take(pa.array(indexes))


def flags_array(flags: npt.NDArray[np.int64], names: Sequence[str]) -> pa.Array:
    """Flags joined by ``|``, as files have them."""
    unique, indexes = np.unique(flags, return_inverse=True)
    texts = ["|".join(name for bit, name in enumerate(names) if int(value) >> bit & 1) for value in unique]
    return picked(texts, indexes, pa.string())


def explode(table: pa.Table, sides: Sequence[tuple[str, str, str]], kept: Sequence[str]) -> pa.Table:
    """One row per level: the kept columns, ``side``, ``level`` from 0 (the best), ``price`` and ``size``."""
    table = table.combine_chunks()
    parts: list[dict[str, Any]] = []
    for side, price_name, size_name in sides:
        prices, sizes = _flat(table, price_name), _flat(table, size_name)
        rows, levels = prices[1], prices[2]
        parts.append({"row": rows, "level": levels, "price": prices[0], "size": sizes[0], "side": side})
    rows = np.concatenate([part["row"] for part in parts])
    order = pa.array(np.argsort(rows, kind="stable"))
    sides_column = pa.concat_arrays([pa.array([part["side"]] * len(part["row"]), pa.string()) for part in parts])
    levels = pa.array(np.concatenate([part["level"] for part in parts]).astype(np.int32))
    columns: dict[str, Any] = {name: table.column(name).take(pa.array(rows)).take(order) for name in kept}
    columns["side"] = sides_column.take(order)
    columns["level"] = levels.take(order)
    for name in ("price", "size"):
        columns[name] = pa.concat_arrays([part[name] for part in parts]).take(order)
    return pa.table(columns)


def _flat(table: pa.Table, name: str) -> tuple[pa.Array, Any, Any]:
    chunks = table.column(name).chunks
    array = chunks[0] if chunks else pa.array([], type=table.schema.field(name).type)
    values = array.flatten()
    rows = np.asarray(pa.compute.list_parent_indices(array))
    lengths = np.bincount(rows, minlength=len(array)) if len(rows) else np.zeros(len(array), dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    return values, rows, np.arange(len(rows)) - starts[rows] if len(rows) else rows
