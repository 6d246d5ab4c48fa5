"""Files of ``/v3/bulk`` on disk."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priorbook._body import Bar, FileBody
from priorbook._frames import pin_range
from priorbook._http import Steps, request_steps
from priorbook.errors import IncompleteFileError
from priorbook.models import Manifest

if TYPE_CHECKING:
    from priorbook._caller import Base

ACCEPT = "application/octet-stream, */*;q=0.5"
TIMEOUT = 120.0
ARCHIVES = ("hftbacktest", "nautilus", "tardis")
"""Formats that are archives of the files of another tool."""
ARCHIVE_TIMEOUT = 3600.0
"""An archive is made as a whole before its first byte is sent."""


def download_steps(base: Base, to: str | Path, scope: dict[str, Any], *, progress: bool, verify: bool) -> Steps[Path]:
    """Writes a file beside its place and moves it there when it is whole."""
    query = {"format": "parquet", **scope}
    if query["format"] in ARCHIVES:
        return (yield from _archive_steps(base, Path(to), query, progress=progress, verify=verify))
    named = {name: value for name, value in query.items() if name != "format"}
    described = {**named, "formats": [query["format"]], "estimate": not verify}
    manifest: Manifest = (yield from base.answer_steps(Manifest, "/v3/bulk/manifest", described)).data
    announced = manifest.files[0]
    query = pin_range(query, manifest)
    target = Path(to)
    if target.is_dir():
        target = target / re.sub(r"[^\w.=-]+", "_", announced.file_name)

    def check(part: Path) -> None:
        if verify and _hash_of(part) != announced.sha256:
            raise IncompleteFileError(f"{target.name} is not the file that its manifest describes")

    return (yield from _fetch_steps(base, target, query, Bar(target.name, announced.bytes, progress), TIMEOUT, check))


# No manifest describes an archive; its own checks show whether it is whole.
def _archive_steps(base: Base, to: Path, query: dict[str, Any], *, progress: bool, verify: bool) -> Steps[Path]:
    target = to
    if to.is_dir():
        names = [
            str(query[name]) for name in ("venue", "market_id", "asset", "series", "window", "day") if name in query
        ]
        target = to / (re.sub(r"[^\w.=-]+", "_", "_".join([*names, query["format"]])) + ".zip")

    def check(part: Path) -> None:
        with zipfile.ZipFile(part) as archive:
            damaged = archive.testzip() if verify else None
        if damaged is not None:
            raise IncompleteFileError(f"{damaged} of {target.name} is damaged")

    return (yield from _fetch_steps(base, target, query, Bar(target.name, None, progress), ARCHIVE_TIMEOUT, check))


def _fetch_steps(
    base: Base, target: Path, query: dict[str, Any], bar: Bar, timeout: float, check: Callable[[Path], None]
) -> Steps[Path]:
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("wb") as file:
            body = FileBody(file, bar)
            yield from request_steps(
                base._settings,
                base.place("/v3/bulk"),
                query,
                lambda _: None,
                accept=ACCEPT,
                timeout=timeout,
                body=body,
            )
        check(part)
        os.replace(part, target)
    finally:
        bar.close()
        part.unlink(missing_ok=True)
    return target


def _hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
