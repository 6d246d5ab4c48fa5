"""Reads a whole market in one of several ways, or runs a strategy over it, and prints seconds, those of the CPU, peak memory and rows as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from priorbook import BookView, Client, Context, Strategy, backtest

VENUE, MARKET = "venueb", os.environ["BENCH_MARKET"]


def polars(client: Client) -> int:
    """An Arrow stream into polars."""
    return client.market(VENUE, MARKET).books().to_polars().height


def pandas_arrow(client: Client) -> int:
    """An Arrow stream into pandas."""
    return len(client.market(VENUE, MARKET).books().to_pandas())


def json_pages(client: Client) -> int:
    """Pages of JSON into polars, as the columns of the Arrow stream."""
    import polars as pl

    pages = client.market(VENUE, MARKET).snapshots(include_orderbook=True, limit=1000).pages()
    columns: dict[str, list[object]] = {"id": [], "received_time": [], "best_bid": [], "best_ask": []}
    ladders: dict[str, list[object]] = {"bids_price": [], "bids_size": [], "asks_price": [], "asks_size": []}
    for page in pages:
        for row in page.data:
            for name, values in columns.items():
                values.append(getattr(row, name))
            ladders["bids_price"].append(row.bids.price)
            ladders["bids_size"].append(row.bids.size)
            ladders["asks_price"].append(row.asks.price)
            ladders["asks_size"].append(row.asks.size)
    lists = {name: pl.List(pl.Decimal(18, 4)) for name in ladders}
    return pl.DataFrame({**columns, **ladders}, schema_overrides=lists).height


def json_floats(client: Client) -> int:
    """Pages of JSON as many would read them: no models, no receipt, and decimals as floats, which are not exact."""
    import httpx
    import polars as pl

    url = f"{client.url}/v3/venueb/{MARKET}/snapshots"
    query = {"include_orderbook": "true", "limit": "1000"}
    columns: dict[str, list[object]] = {"id": [], "received_time": [], "best_bid": [], "best_ask": []}
    ladders: dict[str, list[object]] = {"bids_price": [], "bids_size": [], "asks_price": [], "asks_size": []}
    with httpx.Client(headers={"authorization": f"Bearer {os.environ['PRIORBOOK_KEY']}"}) as http:
        cursor: str | None = ""
        while cursor is not None:
            page = json.loads(http.get(url, params={**query, "cursor": cursor} if cursor else query).content)
            for row in page["data"]:
                for name, values in columns.items():
                    values.append(row[name])
                for name, values in ladders.items():
                    side, part = name.split("_")
                    values.append(row[side][part])
            cursor = page["pagination"]["next_cursor"]
    lists = {name: pl.List(pl.Float64) for name in ladders}
    return pl.DataFrame({**columns, **ladders}, schema_overrides=lists).height


def pandas_csv(client: Client) -> int:
    """A CSV file into pandas; its ladders stay text."""
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        path = client.download(Path(folder), venue=VENUE, market_id=MARKET, format="csv")
        return len(pandas.read_csv(path, low_memory=False))


COUNT = """
export const strategy = { name: 'count', onQuote: (book) => void (book.bestBid === null || book.spread) }
"""


class Count(Strategy):
    """Looks at every quote and does nothing."""

    name = "count"

    def on_quote(self, book: BookView, context: Context) -> None:
        assert book.best_bid is None or book.spread is not None


def run_python(client: Client) -> int:
    """A strategy in Python over the tape of the market; the rows are those of the market."""
    return run(client, Count())


def run_javascript(client: Client) -> int:
    """The same in JavaScript."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "count.mjs"
        module.write_text(COUNT)
        return run(client, module)


def run(client: Client, strategy: Count | Path) -> int:
    """Runs a strategy; the download is not timed apart, because it takes a small part of the time."""
    with tempfile.TemporaryDirectory() as folder:
        path = client.download(Path(folder), venue=VENUE, market_id=MARKET, format="tape")
        result = backtest(strategy, files=[path], assume={"venueb-maker": "none"}, timeout=3600)
        return int(result.report.data["coverage"]["observations"])


WAYS = {
    "polars": polars,
    "pandas": pandas_arrow,
    "json": json_pages,
    "json_floats": json_floats,
    "pandas_csv": pandas_csv,
    "backtest_python": run_python,
    "backtest_javascript": run_javascript,
}

with Client(os.environ["PRIORBOOK_URL"], os.environ["PRIORBOOK_KEY"]) as opened:
    opened.health()
    begun, used = time.monotonic(), time.process_time()
    rows = WAYS[sys.argv[1]](opened)
    seconds = round(time.monotonic() - begun, 2)
    cpu = round(time.process_time() - used, 2)
megabytes = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(json.dumps({"seconds": seconds, "cpu": cpu, "mb": megabytes, "rows": rows}))
