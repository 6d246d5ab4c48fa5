"""Rows as columns, straight from Arrow streams and tapes: no JSON on the way."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from priorbook._body import Bar, MemoryBody
from priorbook._columns import EXACT, Decimals, Shape, explode, scaled
from priorbook._http import Steps, request_steps
from priorbook._venues import VENUES
from priorbook.errors import ClientError, IncompleteFileError
from priorbook.models import Manifest

if TYPE_CHECKING:
    import pandas
    import polars

    from priorbook._caller import Base
    from priorbook._walk import Plan

__all__ = ["Decimals", "Shape", "Source", "file_steps", "table_steps", "to_pandas", "to_polars"]

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
FILE_TIMEOUT = 120.0
"""Seconds that a download may be silent: the first rows of a large family have to be found."""

MEDIA = {"arrow": "application/vnd.apache.arrow.stream", "tape": "application/vnd.priorbook.tape"}

# Parameters that a download has too, and those that can be applied to its rows.
_SHARED = frozenset({"start_time", "end_time", "known_at", "include_orderbook", "depth", "metric", "origin", "feed"})
_FILTERS = frozenset({"outcome", "token_id"})
_DEFAULTS = {"order": "asc", "clock": "received"}

LADDERS = (("bid", "bids_price", "bids_size"), ("ask", "asks_price", "asks_size"))
KEPT = ("id", "venue", "market_id", "outcome", "token_id", "source_time", "received_time", "sequence", "flags")


@dataclass(frozen=True)
class Source:
    """The file that holds the rows of a request."""

    path: str
    query: dict[str, Any]
    file_format: str
    filters: dict[str, str]
    row_type: Any
    """The rows that the file holds."""


class Columns(NamedTuple):
    """The rows of a file that were asked for."""

    table: pa.Table
    is_emptied: bool
    """True where the file has rows and a filter left none: only the server knows whether there is what was named."""


def table_steps(base: Base, plan: Plan, *, shape: Shape, decimals: Decimals, progress: bool) -> Steps[Columns] | None:
    """Fetches the rows of a walk as columns; None where only pages have them, such as sampled ones."""
    source = _source_of(plan)
    return None if source is None else _read_steps(base, source, shape=shape, decimals=decimals, progress=progress)


def _source_of(plan: Plan) -> Source | None:
    if plan.dataset in (None, "list") or plan.scope is None or plan.resume is not None:
        return None
    given = {name: value for name, value in plan.query.items() if value is not None and name != "limit"}
    if plan.dataset == "panels":
        return Source("/v3/panels", {**given, "format": "arrow"}, "arrow", {}, plan.row_type)
    query: dict[str, Any] = dict(plan.scope)
    filters: dict[str, str] = {}
    for name, value in given.items():
        if name in _SHARED:
            query[name] = value
        elif name in _FILTERS:
            filters[name] = str(value)
        elif _DEFAULTS.get(name) != value:
            return None
    if plan.dataset == "changes":
        # What is in force at another time than now only pages know.
        return (
            None
            if "known_at" in query
            else Source("/v3/bulk", {**query, "dataset": "books"}, "tape", filters, plan.row_type)
        )
    if plan.dataset == "books" and "include_orderbook" not in query:
        query["include_orderbook"] = VENUES[plan.scope["venue"]].ladders_by_default
    return Source("/v3/bulk", {**query, "dataset": plan.dataset}, "arrow", filters, plan.row_type)


def file_steps(
    base: Base, source: Source, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
) -> Steps[pa.Table]:
    """Fetches a file and reads it; the number of its rows is compared with the manifest's."""
    columns = yield from _read_steps(base, source, shape=shape, decimals=decimals, progress=progress)
    return columns.table


def _read_steps(base: Base, source: Source, *, shape: Shape, decimals: Decimals, progress: bool) -> Steps[Columns]:
    query, expected = dict(source.query), None
    total: int | None = None
    if source.path == "/v3/bulk":
        manifest: Manifest = (yield from _manifest(base, query, [source.file_format], True)).data
        query = pin_range(query, manifest)
        query["format"] = source.file_format
        expected = manifest.rows
        total = manifest.files[0].bytes if manifest.files else None
    bar = Bar(str(query.get("market_id") or query.get("asset") or query.get("series") or "rows"), total, progress)
    body = MemoryBody(bar)
    try:
        accept = MEDIA[source.file_format]
        path = base.place(source.path)
        table: pa.Table = yield from request_steps(
            base._settings,
            path,
            query,
            lambda _: _read(body.data, source.file_format, shape),
            accept=accept,
            timeout=FILE_TIMEOUT,
            body=body,
        )
    finally:
        bar.close()
    if expected is not None and table.num_rows != expected and source.file_format == "arrow":
        # An estimate also counts damaged rows, which are gaps in the file: the exact receipt decides.
        exact: Manifest = (yield from _manifest(base, query, [source.file_format], False)).data
        if table.num_rows != exact.rows:
            raise IncompleteFileError(f"{table.num_rows} rows arrived for {exact.rows} of the receipt")
    return _finish(table, source, shape, decimals)


def pin_range(query: dict[str, Any], manifest: Manifest) -> dict[str, Any]:
    """The same rows for both requests, also while more are recorded."""
    start, end = manifest.range.start_time, manifest.range.end_time
    if start >= end:
        # Nothing was recorded: there is no range to name.
        return query
    rest = {name: value for name, value in query.items() if name != "day"}
    return {**rest, "start_time": start, "end_time": end}


def _manifest(base: Base, query: dict[str, Any], formats: list[str], is_estimate: bool) -> Steps[Any]:
    named = {name: value for name, value in query.items() if name != "format"}
    scope = {**named, "formats": formats, "estimate": is_estimate}
    return base.answer_steps(Manifest, "/v3/bulk/manifest", scope)


def _read(data: bytearray, file_format: str, shape: Shape) -> pa.Table:
    if file_format == "tape":
        from priorbook.tape import read_tape

        tape = read_tape(bytes(data))
        tape.verify()
        return tape.to_arrow(shape="wide")
    return read_stream(data)


def read_stream(data: bytes | bytearray) -> pa.Table:
    """The rows of a whole Arrow stream."""
    if bytes(data[-8:]) != END_OF_STREAM:
        raise ClientError("incomplete_file", "the stream ends without its end")
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


def _finish(table: pa.Table, source: Source, shape: Shape, decimals: Decimals) -> Columns:
    had_rows = table.num_rows > 0
    table = exact_texts(table, source.row_type)
    for name, value in source.filters.items():
        table = _choose(table, name, value)
    is_emptied = had_rows and table.num_rows == 0
    if shape == "long":
        if "bids_price" in table.column_names:
            table = explode(table, LADDERS, KEPT)
        elif "side" in table.column_names:
            from priorbook._tape_tables import _levels_long

            table = _levels_long(table)
        else:
            raise ClientError("invalid_option", "only rows with levels have a long shape; include_orderbook adds them")
    return Columns(scaled(table) if decimals == "scaled" else table, is_emptied)


def _choose(table: pa.Table, name: str, wanted: str) -> pa.Table:
    """The rows with a value; outcomes are compared as the server compares them, without regard to case."""
    column = table.column(name)
    if name != "outcome":
        return table.filter(pc.equal(column, wanted))
    labels = [label for label in column.unique().to_pylist() if label is not None and label.lower() == wanted.lower()]
    return table.filter(pc.is_in(column, pa.array(labels, column.type)))


def exact_texts(table: pa.Table, row_type: Any) -> pa.Table:
    """Decimals of many places, which files keep as text, as decimals of 18 places."""
    hints = get_type_hints(row_type)
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and Decimal in (*get_args(hints.get(field.name)), hints.get(field.name)):
            table = table.set_column(index, field.name, table.column(index).cast(EXACT))
    return table


TOP_COLUMNS = (
    *("id", "venue", "market_id", "condition_id", "event_id", "series_ticker", "outcome", "token_id"),
    *("source_time", "received_time", "sequence", "best_bid", "bid_size", "best_ask", "ask_size", "mid", "spread"),
    *("bid_levels", "ask_levels", "flags"),
)


def top_of_book(table: pa.Table) -> pa.Table:
    """Books of one level a side as plain columns."""
    for side in ("bid", "ask"):
        sizes = table.column(f"{side}s_size")
        first = pc.list_element(pc.if_else(pc.greater(pc.list_value_length(sizes), 0), sizes, None), 0)
        table = table.append_column(f"{side}_size", first)
    return table.select(list(TOP_COLUMNS))


def to_polars(table: pa.Table) -> polars.DataFrame:
    """A table as a DataFrame of polars, mostly without a copy: its batches stay apart."""
    import polars

    frame = polars.from_arrow(table, rechunk=False)
    assert isinstance(frame, polars.DataFrame)
    return frame


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """A table as a DataFrame of pandas with Arrow types, so that decimals stay exact and integers stay whole."""
    import pandas

    frame: pandas.DataFrame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    return frame
