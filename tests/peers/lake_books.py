"""Reads a lake with DuckDB and Polars.

python lake_books.py LAKE IDS.json
prints {duckdb: {counts, books}, polars: {counts, books}}: per venue and dataset the rows and the first and last
received time in microseconds, and the books of the ids, decimals as text.
"""

import json
import os
import sys
from decimal import Decimal

import duckdb
import polars as pl

lake, wanted = sys.argv[1], json.load(open(sys.argv[2]))
LADDERS = ['bids_price', 'bids_size', 'asks_price', 'asks_size']


def text(value):
    if isinstance(value, list):
        return [text(one) for one in value]
    return format(value.normalize(), 'f') if isinstance(value, Decimal) else value


def folders():
    for venue in sorted(os.listdir(lake)):
        if not venue.startswith('venue='):
            continue
        for dataset in sorted(os.listdir(os.path.join(lake, venue))):
            yield venue[6:], dataset[8:], os.path.join(lake, venue, dataset, '*', '*.parquet')


def by_duckdb():
    counts, books = {}, {}
    for venue, dataset, files in folders():
        table = f"read_parquet('{files}', hive_partitioning = true)"
        counts[f'{venue} {dataset}'] = list(
            duckdb.sql(
                f'SELECT count(*), epoch_us(min(received_time)), epoch_us(max(received_time)) FROM {table}'
            ).fetchall()[0]
        )
        days = duckdb.sql(
            f"SELECT count(*) FROM {table} WHERE CAST(day AS VARCHAR) <> strftime(received_time AT TIME ZONE 'UTC', '%Y-%m-%d')"
        ).fetchall()
        assert days == [(0,)], days
        if dataset != 'books':
            continue
        ids = ', '.join(f"'{one}'" for one in wanted)
        for row in duckdb.sql(f"SELECT id, {', '.join(LADDERS)} FROM {table} WHERE id IN ({ids})").fetchall():
            assert row[0] not in books, row[0]
            books[row[0]] = text(list(row[1:]))
    return {'counts': counts, 'books': books}


def by_polars():
    counts, books = {}, {}
    for venue, dataset, files in folders():
        table = pl.scan_parquet(files, hive_partitioning=True)
        times = pl.col('received_time').dt.epoch('us')
        counts[f'{venue} {dataset}'] = list(
            table.select(pl.len(), times.min().alias('first'), times.max().alias('last')).collect().row(0)
        )
        if dataset != 'books':
            continue
        found = table.filter(pl.col('id').is_in(wanted)).select('id', *LADDERS).collect()
        for row in found.iter_rows():
            assert row[0] not in books, row[0]
            books[row[0]] = text(list(row[1:]))
    return {'counts': counts, 'books': books}


print(json.dumps({'duckdb': by_duckdb(), 'polars': by_polars()}))
