"""Rows of JSON pages as columns: for sampled books and other rows that no file has, and for walks that are resumed."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from priorbook._columns import EXACT, PRICE_DIGITS, SIZE_DIGITS, TIMES, Decimals, Shape, explode, scaled
from priorbook._frames import KEPT, LADDERS
from priorbook._venues import VENUES
from priorbook._walk import Plan
from priorbook.errors import ClientError
from priorbook.models import Book, BookChange, Coverage, DatasetCoverage, InstrumentCoverage

_PLAIN: Mapping[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: TIMES,
    Decimal: EXACT,
}


def rows_to_table(rows: Iterable[Any], plan: Plan, *, shape: Shape, decimals: Decimals) -> pa.Table:
    """All rows as columns, with the names and types of files where there are such files."""
    row_type = plan.row_type
    if row_type in (Book, BookChange):
        venue = VENUES[plan.scope["venue"]] if plan.scope else None
        kinds = _book_kinds(venue.price_decimals, venue.size_decimals) if venue else {}
        table = _to_table([_flatten(row) for row in rows], _flat_schema(row_type, kinds))
        table = table.select([name for name in table.column_names if not _is_empty(table, name)])
        if shape == "long":
            if "bids_price" not in table.column_names:
                raise ClientError(
                    "invalid_option", "only rows with levels have a long shape; include_orderbook adds them"
                )
            table = explode(table, LADDERS, KEPT)
    else:
        if shape == "long":
            raise ClientError("invalid_option", "only books and changes have a long shape")
        plain = [msgspec.to_builtins(row, builtin_types=(datetime, Decimal)) for row in rows]
        table = _to_table(plain, schema_of(row_type))
    return scaled(table) if decimals == "scaled" else table


def list_to_table(rows: list[Any], row_type: Any, decimals: Decimals) -> pa.Table:
    """The rows of a list that is one answer, as columns."""
    plan = Plan(_kind_of_rows(row_type, rows), {}, None, None, None)
    return rows_to_table(rows, plan, shape="wide", decimals=decimals)


# Rows of coverage are of two kinds; the columns of an answer are those of one.
def _kind_of_rows(row_type: Any, rows: list[Any]) -> Any:
    if row_type is not Coverage:
        return row_type
    return InstrumentCoverage if any(row.market_id is not None for row in rows) else DatasetCoverage


def schema_of(model: Any) -> pa.Schema:
    """The columns of a model."""
    return pa.schema(_fields_of(model))


def _fields_of(model: Any) -> list[pa.Field]:
    hints = get_type_hints(model)
    return [pa.field(field.encode_name, _kind_of(hints[field.name])) for field in msgspec.structs.fields(model)]


def _kind_of(hint: Any) -> pa.DataType:
    options = [one for one in _options(hint) if one is not type(None)]
    if len(options) != 1:
        return pa.string()
    (option,) = options
    if option in _PLAIN:
        return _PLAIN[option]
    if get_origin(option) is list:
        return pa.list_(_kind_of(get_args(option)[0]))
    if isinstance(option, type) and issubclass(option, msgspec.Struct):
        return pa.struct(_fields_of(option))
    return pa.string()


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _to_table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    columns = [pa.array([_fit(row.get(field.name), field.type) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


# What has no type of its own in Arrow is JSON text.
def _fit(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_string(kind) and not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if pa.types.is_struct(kind):
        return {field.name: _fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_fit(one, kind.value_type) for one in value]
    return value


def _book_kinds(price_decimals: int, size_decimals: int) -> dict[str, pa.DataType]:
    price, size = pa.decimal128(PRICE_DIGITS, price_decimals), pa.decimal128(SIZE_DIGITS, size_decimals)
    kinds = dict.fromkeys(("best_bid", "best_ask", "spread"), price)
    kinds["mid"] = pa.decimal128(PRICE_DIGITS, price_decimals + 1)
    for ladder in ("bids", "asks", "yes", "no"):
        kinds |= {f"{ladder}_price": pa.list_(price), f"{ladder}_size": pa.list_(size)}
    kinds |= {"price": pa.list_(price), "size": pa.list_(size), "side": pa.list_(pa.string())}
    kinds |= {"bid_levels": pa.int32(), "ask_levels": pa.int32(), "flags": pa.string()}
    return kinds


_LADDERS = ("bids", "asks", "yes", "no")
_NATIVES = ("sid", "connection", "seq")
_SAMPLED = ("bucket_start", "bucket_end", "age_ms", "observations", "changes")


def _flat_schema(model: Any, kinds: Mapping[str, pa.DataType]) -> pa.Schema:
    fields: list[pa.Field] = []
    for field in _fields_of(model):
        if field.name in _LADDERS:
            fields += [pa.field(f"{field.name}_{part}", kinds[f"{field.name}_{part}"]) for part in ("price", "size")]
        elif field.name == "native":
            fields += [pa.field(f"native_{name}", pa.int64()) for name in _NATIVES]
        elif field.name == "changes" and model is BookChange:
            fields += [pa.field(name, kinds[name]) for name in ("side", "price", "size")]
        else:
            fields.append(pa.field(field.name, kinds.get(field.name, field.type)))
    return pa.schema(fields)


def _flatten(row: Any) -> dict[str, Any]:
    flat: dict[str, Any] = msgspec.to_builtins(row, builtin_types=(datetime, Decimal))
    flat["flags"] = "|".join(flat["flags"])
    native = flat.pop("native") or {}
    flat |= {f"native_{name}": native.get(name) for name in _NATIVES}
    for side in _LADDERS:
        ladder = flat.pop(side, None)
        if ladder is not None:
            flat |= {f"{side}_price": ladder["price"], f"{side}_size": ladder["size"]}
    if isinstance(row, BookChange):
        flat |= flat.pop("changes")
    return flat


# Columns that the request did not ask for: ladders, and what only sampled rows have.
def _is_empty(table: pa.Table, name: str) -> bool:
    is_optional = name in _SAMPLED or name.rpartition("_")[0] in _LADDERS
    return is_optional and table.column(name).null_count == table.num_rows
