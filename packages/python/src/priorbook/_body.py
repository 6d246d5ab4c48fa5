"""The body of a file as it arrives: into memory or into a file, with its progress."""

from __future__ import annotations

from typing import IO, Any, Protocol

import httpx


class Body(Protocol):
    """Takes the pieces of an answer."""

    def begin(self, response: httpx.Response) -> None:
        """A new attempt: what came before does not count."""

    def write(self, piece: bytes) -> None:
        """The next piece."""


class Bar:
    """A progress bar in bytes, where tqdm is installed and the caller wants one."""

    def __init__(self, label: str, total: int | None, is_shown: bool) -> None:
        self._bar: Any = None
        if not is_shown:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=total, desc=label, unit="B", unit_scale=True)

    def reset(self) -> None:
        if self._bar is not None:
            self._bar.reset()

    def add(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class MemoryBody:
    """Keeps the body in memory."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self.data = bytearray()

    def begin(self, response: httpx.Response) -> None:
        self.data = bytearray()
        self._bar.reset()

    def write(self, piece: bytes) -> None:
        self.data += piece
        self._bar.add(len(piece))


class FileBody:
    """Writes the body into a file; an attempt that broke off is written over."""

    def __init__(self, file: IO[bytes], bar: Bar) -> None:
        self._file = file
        self._bar = bar
        self.headers: httpx.Headers = httpx.Headers()

    def begin(self, response: httpx.Response) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._bar.reset()
        self.headers = response.headers

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._bar.add(len(piece))
