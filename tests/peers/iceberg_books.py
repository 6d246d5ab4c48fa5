"""Reads the Iceberg tables of a lake with pyiceberg and Polars, and compares them with the Parquet files.

python iceberg_books.py LAKE IDS.json
prints {tables: {"venue dataset": {count, files, days, operations, before}}, books, duckdb}: per table the rows with the
first and last received time in microseconds, its files, those that a scan of each day opens, what its snapshots did, and
how many rows each of them has; the books of the ids, decimals as text; and the count by DuckDB, null without its extension.
"""

import glob
import json
import os
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

# Scans are planned by pyiceberg; the planner of Polars is another package.
os.environ['POLARS_ICEBERG_PLANNER'] = 'pyiceberg'

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.expressions import And, GreaterThanOrEqual, In, LessThan
from pyiceberg.table import StaticTable

lake, wanted = sys.argv[1], json.load(open(sys.argv[2]))
LADDERS = ['bids_price', 'bids_size', 'asks_price', 'asks_size']
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def text(value):
    if isinstance(value, list):
        return [text(one) for one in value]
    return format(value.normalize(), 'f') if isinstance(value, Decimal) else value


def bounds(table):
    """Rows, and the first and last received time."""
    times = table.column('received_time').cast(pa.int64())
    return [table.num_rows, pc.min(times).as_py(), pc.max(times).as_py()]


def direct(venue, dataset):
    """All rows of the files of the folder, without any metadata, by id."""
    files = sorted(glob.glob(os.path.join(lake, f'venue={venue}', f'dataset={dataset}', '*', '*.parquet')))
    tables = [pq.ParquetFile(file).read() for file in files]
    return files, pa.concat_tables(tables).sort_by('id')


def kind(one):
    """A type apart from how many bytes offsets have."""
    if pa.types.is_list(one) or pa.types.is_large_list(one):
        return f'list of {kind(one.value_type)}'
    return 'string' if pa.types.is_large_string(one) or pa.types.is_string_view(one) else str(one)


def parts(column):
    """The values of a column; of lists, how many there are in each row, and all of them."""
    if kind(column.type).startswith('list'):
        return [pc.list_value_length(column).cast(pa.int64()), pc.list_flatten(column)]
    return [column.cast(pa.string()) if kind(column.type) == 'string' else column]


def same(table, other):
    """Compares all values and types of two tables."""
    table = table.select(other.column_names).sort_by('id')
    for name in other.column_names:
        one, two = table.column(name), other.column(name)
        assert kind(one.type) == kind(two.type), (name, one.type, two.type)
        for ours, theirs in zip(parts(one), parts(two), strict=True):
            assert ours.equals(theirs), name


def planned(table, day):
    """The names of the files that a scan of one day opens."""
    start, end = day.isoformat(), (day + timedelta(days=1)).isoformat()
    where = And(GreaterThanOrEqual('received_time', start), LessThan('received_time', end))
    return sorted(os.path.relpath(task.file.file_path.removeprefix('file://'), lake) for task in table.scan(where).plan_files())


def read(venue, dataset):
    folder = os.path.join(lake, '_iceberg', venue, dataset)
    table = StaticTable.from_metadata(folder)
    files, expected = direct(venue, dataset)
    rows = table.scan().to_arrow()
    same(rows, expected)
    # Polars reads the metadata by pyiceberg, and the files by its own reader.
    same(pl.scan_iceberg(table).collect().to_arrow(), expected)
    assert table.scan().count() == rows.num_rows
    # Bounds of files: a scan without any of its markets opens none.
    assert list(table.scan(In('market_id', ['0', 'zzz'])).plan_files()) == []
    market = expected.column('market_id')[0].as_py()
    one = table.scan(f"market_id == '{market}'").to_arrow()
    assert one.num_rows == pc.sum(pc.equal(expected.column('market_id'), market)).as_py()
    days = sorted({(EPOCH + timedelta(microseconds=time)).date() for time in received(expected)})
    snapshots = table.metadata.snapshots
    return table, {
        'count': bounds(rows),
        'files': [os.path.relpath(file, lake) for file in files],
        'days': {str(day): planned(table, datetime(day.year, day.month, day.day, tzinfo=timezone.utc)) for day in days},
        'operations': [one.summary.operation.value for one in snapshots],
        'before': [table.scan(snapshot_id=one.snapshot_id).to_arrow().num_rows for one in snapshots],
    }


def received(table):
    return table.column('received_time').cast(pa.int64()).to_pylist()


def by_duckdb(venue, dataset):
    """The same by DuckDB's own reader of Iceberg, where somebody has installed the extension."""
    try:
        duckdb.sql('SET autoinstall_known_extensions = false')
        duckdb.sql('LOAD iceberg')
    except duckdb.Error:
        return None
    folder = os.path.join(lake, '_iceberg', venue, dataset)
    found = duckdb.sql(
        f"SELECT count(*), epoch_us(min(received_time)), epoch_us(max(received_time)) FROM iceberg_scan('{folder}')"
    )
    return list(found.fetchall()[0])


tables, books = {}, {}
for venue in sorted(os.listdir(os.path.join(lake, '_iceberg'))):
    for dataset in sorted(os.listdir(os.path.join(lake, '_iceberg', venue))):
        table, found = read(venue, dataset)
        tables[f'{venue} {dataset}'] = found
        if dataset != 'books':
            continue
        for row in table.scan(In('id', wanted), selected_fields=('id', *LADDERS)).to_arrow().to_pylist():
            assert row['id'] not in books, row['id']
            books[row['id']] = text([row[name] for name in LADDERS])

print(json.dumps({'tables': tables, 'books': books, 'duckdb': by_duckdb('venueb', 'books')}))
