"""Tapes decoded in Python: chunk by chunk against the reader of the docs, and row by row against the pages."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import VENUES, Server
from priorbook import Client, ClientError, CorruptChunkError, IncompleteFileError, Tape, read_tape
from priorbook._chunk import Chunk
from priorbook.models import ListedMarket
from test_frames import STYLE, differences, path_of

ROOT = Path(os.environ["PRIORBOOK_ROOT"])


def reference() -> dict[str, Any]:
    """The reader that the docs of the format print, which shares nothing with the package."""
    text = (ROOT / "docs/formats/tape.md").read_text()
    block = re.search(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block[1], names)
    return names


READ_CHUNK = reference()["read_chunk"]


def example() -> bytes:
    """The chunk that the docs explain byte by byte."""
    text = (ROOT / "docs/formats/tape.md").read_text()
    lines = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?)+)$", text, re.M)
    return bytes.fromhex("".join(lines))


def fetch(client: Client, folder: Path, **scope: Any) -> bytes:
    """A tape, verified against its manifest."""
    return client.download(folder, format="tape", verify=True, **scope).read_bytes()


def raw_chunks(data: bytes) -> list[bytes]:
    """The payloads of chunks and parts."""
    at, found = 5, []
    while chr(data[at]) != "E":
        size = int.from_bytes(data[at + 1 : at + 5], "little")
        if chr(data[at]) in "CP":
            found.append(data[at + 5 : at + 5 + size])
        at += 5 + size
    return found


def assert_equals_reference(payload: bytes) -> int:
    """Every value of a chunk, decoded in both ways."""
    head, base, rows = READ_CHUNK(payload)
    chunk = Chunk(payload)
    assert chunk.hash == head["hash"]
    for name in ("kind", "venue", "key", "first", "count", "changes", "previous_hash", "last_received", "last_journal"):
        assert getattr(chunk.header, name) == head[name]
    heads = chunk.heads
    assert heads.received.tolist() == [row["received"] for row in rows]
    assert heads.journal.tolist() == [row["journal"] for row in rows]
    assert heads.flags.tolist() == [row["flags"] for row in rows]
    assert heads.has_source.tolist() == [row["source"] is not None for row in rows]
    assert heads.source[heads.has_source].tolist() == [row["source"] for row in rows if row["source"] is not None]
    assert heads.number[heads.has_number].tolist() == [row["number"] for row in rows if row["number"] is not None]
    assert [None if one < 0 else one for one in heads.channel.tolist()] == [row["channel"] for row in rows]
    if head["kind"] == "book":
        levels = chunk.levels
        expected = [level for row in rows for level in row["levels"]]
        sides = ["ask" if key & 1 else "bid" for key in levels.keys.tolist()]
        own = list(zip(sides, (levels.keys >> 1).tolist(), levels.sizes.tolist(), strict=True))
        assert own == expected
        assert levels.base == base
        assert levels.counts.tolist() == [len(row["levels"]) for row in rows]
    elif head["kind"] == "trade":
        trades = chunk.trades
        assert trades.price.tolist() == [row["price"] for row in rows]
        assert trades.size.tolist() == [row["size"] for row in rows]
        assert trades.ids == [row["id"] for row in rows]
        assert [(None, "buy", "sell")[one] for one in trades.taker.tolist()] == [row["taker"] for row in rows]
    else:
        assert chunk.samples.value.tolist() == [row["value"] for row in rows]
        assert chunk.samples.fine.tolist() == [row["fine"] for row in rows]
    return len(rows)


def test_reads_the_example_of_the_docs() -> None:
    data = example()
    assert assert_equals_reference(data) == 3
    assert Chunk(data).hash == "93a9ceaf0e11f863317dcba279fa8809715d4bcc354634d6baa5f743c8a6bf83"


def test_refuses_every_damaged_byte() -> None:
    data = example()
    for at in range(len(data)):
        with pytest.raises((CorruptChunkError, ClientError)):
            Chunk(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CorruptChunkError):
            Chunk(data[:at])


@pytest.mark.parametrize(
    ("venue", "scope"),
    [
        *[(venue, {"dataset": "books"}) for venue in VENUES],
        ("venueb", {"dataset": "trades"}),
        ("venuec", {"dataset": "trades"}),
        ("venuea", {"dataset": "samples", "metric": "chance"}),
        ("venuea", {"dataset": "samples", "metric": "price"}),
    ],
)
def test_equals_the_reference_on_all_venues(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str, scope: dict[str, str]
) -> None:
    data = fetch(client, tmp_path, venue=venue, market_id=busiest[venue].market_id, **scope)
    assert sum(map(assert_equals_reference, raw_chunks(data))) > 0
    proof = read_tape(data).verify()
    assert proof.rows == json.loads(json.dumps(read_tape(data).receipt))["rows"]


@pytest.mark.parametrize("venue", ["venueb", "venuec"])
def test_trades_of_a_tape_equal_the_pages(
    client: Client, past: Server, busiest: dict[str, ListedMarket], tmp_path: Path, venue: str
) -> None:
    market = busiest[venue]
    data = fetch(client, tmp_path, venue=venue, market_id=market.market_id, dataset="trades")
    pages = past.rows(f"{path_of(market)}/trades", **STYLE)
    table = read_tape(data).to_arrow().drop_columns(["native"])
    known = set(table.column_names)
    assert differences(table, [{**row, "native": {}} for row in pages]) == []
    assert {"trade_id", "price", "size", "taker_side"} <= known


def test_equals_the_reference_and_the_pages_on_all_recordings(recorded: Server, tmp_path: Path) -> None:
    with Client(recorded.url, recorded.key) as client:
        rows = chunks = 0
        for market in client.markets():
            scope = {"venue": market.venue, "market_id": market.market_id}
            for dataset in ("books", "trades"):
                data = fetch(client, tmp_path, **scope, dataset=dataset)
                for payload in raw_chunks(data)[:: 1 if dataset == "trades" else 7]:
                    rows += assert_equals_reference(payload)
                    chunks += 1
            heads = read_tape(fetch(client, tmp_path, **scope)).verify().heads
            manifest = client.manifest(**scope, formats=["tape"]).data  # type: ignore[arg-type]
            assert manifest.receipt is not None
            for one in manifest.receipt.instruments:
                assert heads.get(f"{market.venue}:{one.key}") == one.head
        print(f"{rows} rows of {chunks} chunks equal the reference")
        assert rows > 20_000


def test_all_recorded_rows_equal_the_pages(recorded: Server) -> None:
    with Client(recorded.url, recorded.key) as client:
        compared = 0
        for market in client.markets():
            pages = recorded.rows(f"{path_of(market)}/changes", **STYLE)
            table = client.market(market).changes().to_arrow()
            assert table.num_rows == len(pages)
            # Column by column: as lists, hundreds of thousands of rows take seconds.
            times = np.asarray(table.column("received_time").cast("int64"))
            assert times.tolist() == [row["received_time"] for row in pages]
            assert table.column("id").to_pylist() == [row["id"] for row in pages]
            assert table.column("side").to_pylist() == [row["changes"]["side"] for row in pages]
            for name in ("price", "size"):
                own = table.column(name).combine_chunks()
                texts = [text for row in pages for text in row["changes"][name]]
                exact = own.flatten().cast("string").to_pylist()
                assert [text.rstrip("0").rstrip(".") or "0" for text in exact] == texts
            compared += len(pages)
        assert compared > 300_000


def test_verifies_a_recorded_market_in_seconds(recorded: Server, tmp_path: Path) -> None:
    with Client(recorded.url, recorded.key) as client:
        busiest = max(client.markets(), key=lambda one: one.coverage.observations if one.coverage else 0)
        data = fetch(client, tmp_path, venue=busiest.venue, market_id=busiest.market_id)
    begun = time.process_time()
    proof = read_tape(data).verify()
    seconds = time.process_time() - begun
    print(f"{proof.rows} rows in {seconds:.2f} s: {proof.rows / seconds:,.0f} rows a second")
    assert proof.rows / seconds > 50_000


@pytest.mark.parametrize("dataset", ["books", "trades"])
def test_a_tape_without_rows_has_the_columns_of_one_with_rows(
    client: Client, busiest: dict[str, ListedMarket], tmp_path: Path, dataset: str
) -> None:
    scope = {"venue": "venueb", "market_id": busiest["venueb"].market_id, "dataset": dataset}
    full = read_tape(fetch(client, tmp_path, **scope)).to_arrow()
    never = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}
    empty = read_tape(fetch(client, tmp_path, **scope, **never))
    assert empty.to_arrow().schema == full.schema
    assert empty.to_arrow().num_rows == 0 < full.num_rows
    if dataset == "books":
        assert (
            empty.to_arrow(shape="long").schema
            == read_tape(fetch(client, tmp_path, **scope)).to_arrow(shape="long").schema
        )


def test_refuses_files_that_are_not_whole(client: Client, busiest: dict[str, ListedMarket], tmp_path: Path) -> None:
    market = busiest["venueb"]
    data = fetch(client, tmp_path, venue="venueb", market_id=market.market_id)
    assert isinstance(read_tape(data), Tape)
    for broken in (data[:-1], data + b"x", data[: len(data) // 2], b"PBX1", b"", data[:20] + b"?" + data[21:]):
        with pytest.raises((IncompleteFileError, ClientError)):
            read_tape(broken)
