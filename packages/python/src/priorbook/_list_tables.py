"""Lists as columns: pages of Arrow, joined; no JSON on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pyarrow as pa

from priorbook._columns import Decimals, Shape, scaled
from priorbook._frames import MEDIA, read_stream
from priorbook._http import Steps, request_steps
from priorbook._row_tables import schema_of
from priorbook.errors import ClientError, IncompleteFileError

if TYPE_CHECKING:
    from priorbook._caller import Base
    from priorbook._walk import Plan


def list_steps(base: Base, path: str, plan: Plan, *, shape: Shape, decimals: Decimals) -> Steps[pa.Table]:
    """All pages of a list as one table; the number of rows is compared with the receipt."""
    if shape == "long":
        raise ClientError("invalid_option", "only books and changes have a long shape")
    tables: list[pa.Table] = []
    cursor: str | None = None
    while True:
        response: httpx.Response = yield from request_steps(
            base._settings, base.place(path), {**plan.query, "cursor": cursor}, _whole, accept=MEDIA["arrow"]
        )
        table = read_stream(response.content)
        tables.append(_fit(table, schema_of(plan.row_type)))
        following = _cursor_of(response)
        if following is None:
            break
        if following == cursor:
            raise ClientError("bad_answer", "the cursor does not move on")
        cursor = following
    table = pa.concat_tables(tables)
    receipt = response.headers.get("priorbook-receipt")
    if receipt is not None and json.loads(receipt)["rows"] != table.num_rows:
        raise IncompleteFileError(f"{table.num_rows} rows arrived for {json.loads(receipt)['rows']} of the receipt")
    return scaled(table) if decimals == "scaled" else table


# A page that broke off is asked for again.
def _whole(response: httpx.Response) -> httpx.Response:
    read_stream(response.content)
    return response


def _cursor_of(response: httpx.Response) -> str | None:
    link = response.links.get("next")
    return None if link is None else parse_qs(urlsplit(link["url"]).query)["cursor"][0]


# Records of one venue lack the members of others; a newer server may send members that this version does not know.
def _fit(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: list[Any] = [
        table.column(field.name) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, names=schema.names).cast(schema)
