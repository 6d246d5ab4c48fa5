"""Downloaded files as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from priorbook._columns import Decimals, Shape, explode, scaled
from priorbook._frames import END_OF_STREAM, KEPT, LADDERS
from priorbook.errors import IncompleteFileError

if TYPE_CHECKING:
    import pyarrow


def read_parquet(path: str | Path, *, shape: Shape = "wide", decimals: Decimals = "decimal") -> pyarrow.Table:
    """Reads a Parquet file; the number of its rows is compared with its receipt."""
    import json

    import pyarrow.parquet as pq

    file: Any = pq.ParquetFile(path)
    table = file.read()
    receipt = (file.metadata.metadata or {}).get(b"priorbook.receipt")
    if receipt is not None and json.loads(receipt)["rows"] != table.num_rows:
        raise IncompleteFileError(f"{path}: {table.num_rows} rows for {json.loads(receipt)['rows']} of the receipt")
    return _shaped(table, shape, decimals)


def read_arrow(path: str | Path, *, shape: Shape = "wide", decimals: Decimals = "decimal") -> pyarrow.Table:
    """Reads a file of the format ``arrow``, an IPC stream; one that was cut off is refused."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        size = source.size()
        source.seek(max(0, size - len(END_OF_STREAM)))
        if source.read() != END_OF_STREAM:
            raise IncompleteFileError(f"{path} ends without its end")
        source.seek(0)
        table = pa.ipc.open_stream(source).read_all()
    return _shaped(table, shape, decimals)


def _shaped(table: pyarrow.Table, shape: Shape, decimals: Decimals) -> pyarrow.Table:
    if shape == "long":
        table = explode(table, LADDERS, KEPT)
    return scaled(table) if decimals == "scaled" else table
