"""Archives of the files of other tools, downloaded and read."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Server
from priorbook import BadRequestError, Client
from priorbook.models import ListedMarket


def test_archives_hold_the_rows_of_the_service(
    client: Client, past: Server, busiest: dict[str, ListedMarket], tmp_path: Path
) -> None:
    market = busiest["venueb"]
    trades = past.rows(f"/v3/venueb/{market.market_id}/trades")
    scope: dict[str, Any] = {"venue": "venueb", "market_id": market.market_id}
    tables = client.download(tmp_path, format="tardis", verify=True, **scope)
    assert tables.name == f"venueb_{market.market_id}_tardis.zip"
    with zipfile.ZipFile(tables) as archive:
        [name] = [name for name in archive.namelist() if "trades" in name]
        rows = list(csv.DictReader(io.TextIOWrapper(archive.open(name), "utf-8")))
    assert [row["id"] for row in rows] == [trade["trade_id"] for trade in trades]
    assert len(rows) > 0
    events = client.download(tmp_path / "events.zip", format="hftbacktest", **scope)
    with zipfile.ZipFile(events) as archive:
        [name] = archive.namelist()
        data = np.load(io.BytesIO(archive.read(name)))["data"]
    assert data.dtype.names is not None and data.dtype.names[:3] == ("ev", "exch_ts", "local_ts")
    assert (np.diff(data["local_ts"]) >= 0).all() and np.count_nonzero(data["ev"] & 0xFF == 2) == len(rows)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(BadRequestError) as refused:
        client.download(tmp_path, format="nautilus", depth=5, **scope)
    assert refused.value.param == "depth"
