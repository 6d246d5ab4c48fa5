"""Tables of the rows of a tape: changed levels, trades and samples, with the names of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from priorbook._chunk import FLAGS, Chunk
from priorbook._columns import (
    PRICE_DIGITS,
    SIZE_DIGITS,
    TIMES,
    Decimals,
    Shape,
    decimal_array,
    flags_array,
    picked,
    scaled,
)
from priorbook._query import to_micros
from priorbook._venues import VENUES

if TYPE_CHECKING:
    from priorbook.tape import Tape

SUBSCRIPTIONS = 65_536
"""A channel is the connection's number × this, plus the venue's number of the subscription; 0 is none."""

KEPT_LONG = ("id", "venue", "market_id", "outcome", "token_id", "source_time", "received_time", "sequence", "flags")
SAMPLE_SCALE = 18


def tape_table(tape: Tape, *, shape: Shape, decimals: Decimals) -> pa.Table:
    """All rows of the range, in the order of the pages."""
    start, end = tape.bounds()
    order = {one["market_id"]: index for index, one in enumerate(tape.markets)}
    tables: list[pa.Table] = []
    keys: list[npt.NDArray[np.int64]] = []
    for one in tape.chunks:
        rows = rows_within(one.chunk, start, end)
        if len(rows) == 0:
            continue
        context, lane = context_of(one.chunk, one.market)
        tables.append(_chunk_table(one.chunk, rows, context))
        place = np.empty((len(rows), 4), dtype=np.int64)
        place[:, 0] = order.get(context["market_id"], 0)
        place[:, 1] = one.chunk.heads.received[rows]
        place[:, 2] = one.chunk.header.first + rows
        place[:, 3] = lane
        keys.append(place)
    if tables:
        places = np.concatenate(keys)
        order_of_pages = np.lexsort((places[:, 3], places[:, 2], places[:, 1], places[:, 0]))
        table = pa.concat_tables(tables).combine_chunks().take(pa.array(order_of_pages))
    else:
        table = _schema_of(tape).empty_table()
    if shape == "long" and "side" in table.column_names:
        table = _levels_long(table)
    return scaled(table) if decimals == "scaled" else table


# Of a tape without rows; one with rows has these columns too.
def _schema_of(tape: Tape) -> pa.Schema:
    text, whole = pa.string(), pa.int64()
    venue = VENUES[tape.header["venue"]]
    price, size = pa.decimal128(PRICE_DIGITS, venue.price_decimals), pa.decimal128(SIZE_DIGITS, venue.size_decimals)
    names = ["id", "venue", "market_id", "condition_id", "event_id", "series_ticker", "outcome", "token_id"]
    times = [("source_time", TIMES), ("received_time", TIMES), ("sequence", whole)]
    identity = [(name, text) for name in names]
    if tape.header["dataset"] == "books":
        natives = [(name, whole) for name in ("native_sid", "native_connection", "native_seq")]
        levels = [("side", pa.list_(text)), ("price", pa.list_(price)), ("size", pa.list_(size))]
        return pa.schema([*identity, *times, ("flags", text), *natives, *levels])
    if tape.header["dataset"] == "trades":
        own = [("trade_id", text), ("price", price), ("size", size), ("taker_side", text)]
        return pa.schema([*identity, *own, *times, ("flags", text), ("native", text)])
    own = [(tape.header["metric"], pa.decimal128(SIZE_DIGITS, 8)), ("flags", text)]
    return pa.schema([*(pair for pair in identity if pair[0] != "series_ticker"), *times, *own])


def parse_micros(text: str) -> int:
    """Microseconds of a time of the wire."""
    return to_micros(datetime.fromisoformat(text.replace("Z", "+00:00")))


def rows_within(chunk: Chunk, start: int, end: int) -> npt.NDArray[np.intp]:
    """The rows of a range: a chunk that overlaps it is whole."""
    heads = chunk.heads
    # Rows of a venue's history are ordered by the venue's clock, which the column `received` then holds.
    return np.flatnonzero((heads.received >= start) & (heads.received < end))


def context_of(chunk: Chunk, market: Mapping[str, Any]) -> tuple[dict[str, str | None], int]:
    """What every row of a chunk says of its market, and the place of its outcome among them."""
    header = chunk.header
    shared: dict[str, str | None] = {
        "venue": header.venue,
        "market_id": header.market,
        "condition_id": market.get("condition_id") or (market.get("condition") or {}).get("id"),
        "event_id": market.get("event_id") or market.get("event_ticker") or market.get("topic_id"),
        "series_ticker": market.get("series_ticker"),
    }
    outcomes = market.get("outcomes") or []
    for outcome in outcomes:
        if outcome["token_id"] == header.key or (header.key == header.market and outcome["index"] == 0):
            return {**shared, "outcome": outcome["label"], "token_id": outcome["token_id"]}, outcome["index"]
    return {**shared, "outcome": None, "token_id": None if header.key == header.market else header.key}, 0


def _chunk_table(chunk: Chunk, rows: npt.NDArray[np.intp], context: Mapping[str, str | None]) -> pa.Table:
    header = chunk.header
    if header.kind == "book":
        return pa.table(
            {**_identity(chunk, rows, context), **_flags(chunk, rows), **_natives(chunk, rows), **_levels(chunk, rows)}
        )
    if header.kind == "trade":
        return pa.table(_trades(chunk, rows, context))
    return pa.table(_samples(chunk, rows, context))


def _identity(chunk: Chunk, rows: npt.NDArray[np.intp], context: Mapping[str, str | None]) -> dict[str, Any]:
    heads = chunk.heads
    columns: dict[str, Any] = {"id": _ids(chunk, rows, "")}
    columns |= {name: _same(value, len(rows)) for name, value in context.items()}
    return columns | _times(chunk, rows) if heads is not None else columns


def _times(chunk: Chunk, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    heads, first = chunk.heads, chunk.header.first
    return {
        "source_time": pa.array(heads.source[rows], mask=~heads.has_source[rows], type=pa.int64()).cast(TIMES),
        "received_time": pa.array(heads.received[rows]).cast(TIMES),
        "sequence": pa.array(first + rows.astype(np.int64)),
    }


def _ids(chunk: Chunk, rows: npt.NDArray[np.intp], suffix: str) -> pa.Array:
    header = chunk.header
    numbers = pa.array(header.first + rows.astype(np.int64)).cast(pa.string())
    return pc.binary_join_element_wise(f"{header.venue}:{header.key}{suffix}", numbers, ":")


def _same(value: str | None, count: int) -> pa.Array:
    return pa.nulls(count, pa.string()) if value is None else pa.repeat(pa.scalar(value, pa.string()), count)


def _flags(chunk: Chunk, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    return {"flags": flags_array(chunk.heads.flags[rows], FLAGS)}


def _natives(chunk: Chunk, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    heads = chunk.heads
    channel = heads.channel[rows]
    subscription, connection = channel % SUBSCRIPTIONS, channel // SUBSCRIPTIONS
    is_absent = channel < 0
    return {
        "native_sid": pa.array(subscription, mask=is_absent | (subscription == 0)),
        "native_connection": pa.array(connection, mask=is_absent | (connection == 0)),
        "native_seq": pa.array(heads.number[rows], mask=~heads.has_number[rows]),
    }


def _levels(chunk: Chunk, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
    header, levels = chunk.header, chunk.levels
    ends = np.cumsum(levels.counts)
    first, last = int(rows[0]), int(rows[-1])
    begin, end = int(ends[first] - levels.counts[first]), int(ends[last])
    keys, sizes = levels.keys[begin:end], levels.sizes[begin:end]
    scale = VENUES[header.venue].price_decimals
    ticks = (keys >> 1) * 10 ** (scale - header.price_decimals)
    offsets = pa.array(np.concatenate([[0], np.cumsum(levels.counts[first : last + 1])]).astype(np.int32))

    def as_list(values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(offsets, values)

    return {
        "side": as_list(picked(["bid", "ask"], keys & 1, pa.string())),
        "price": as_list(decimal_array(ticks, PRICE_DIGITS, scale)),
        "size": as_list(decimal_array(sizes, SIZE_DIGITS, header.size_decimals)),
    }


def _levels_long(table: pa.Table) -> pa.Table:
    table = table.combine_chunks()
    rows = pc.list_parent_indices(table.column("side").chunk(0)) if table.num_rows else pa.array([], pa.int64())
    columns: dict[str, Any] = {name: table.column(name).take(rows) for name in KEPT_LONG}
    for name in ("side", "price", "size"):
        columns[name] = pc.list_flatten(table.column(name))
    return pa.table(columns)


def _trades(chunk: Chunk, rows: npt.NDArray[np.intp], context: Mapping[str, str | None]) -> dict[str, Any]:
    header, trades = chunk.header, chunk.trades
    scale = VENUES[header.venue].price_decimals
    price = trades.price[rows] * 10 ** (scale - header.price_decimals)
    columns: dict[str, Any] = {"id": _ids(chunk, rows, "/trade")}
    columns |= {name: _same(value, len(rows)) for name, value in context.items()}
    columns["trade_id"] = pa.array([trades.ids[row] for row in rows], pa.string())
    columns["price"] = decimal_array(price, PRICE_DIGITS, scale)
    columns["size"] = decimal_array(trades.size[rows], SIZE_DIGITS, header.size_decimals)
    columns["taker_side"] = picked([None, "buy", "sell"], trades.taker[rows], pa.string())
    columns |= _times(chunk, rows) | _flags(chunk, rows)
    columns["native"] = pa.array([trades.natives[row] for row in rows], pa.string())
    return columns


def _samples(chunk: Chunk, rows: npt.NDArray[np.intp], context: Mapping[str, str | None]) -> dict[str, Any]:
    header, samples = chunk.header, chunk.samples
    columns: dict[str, Any] = {"id": _ids(chunk, rows, f"/{header.metric}")}
    columns |= {name: _same(value, len(rows)) for name, value in context.items() if name != "series_ticker"}
    columns |= _times(chunk, rows)
    whole = samples.value[rows].tolist()
    fine = samples.fine[rows].tolist()
    if any(fine):
        from decimal import Decimal

        exact = [Decimal(value * 10**10 + rest).scaleb(-SAMPLE_SCALE) for value, rest in zip(whole, fine, strict=True)]
        columns[header.metric] = pa.array(exact, pa.decimal128(38, SAMPLE_SCALE))
    else:
        columns[header.metric] = decimal_array(samples.value[rows], SIZE_DIGITS, header.size_decimals)
    return columns | _flags(chunk, rows)
