"""The Python side of a strategy that the engine calls over two named pipes, in lines of JSON."""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import msgspec

from priorbook.errors import ClientError
from priorbook.strategy import HOOKS, BookView, Context, Params, Strategy, StrategyLike, hooks_of, to_book

MODULE = Path(__file__).with_name("_bridge.mjs")
"""The module that the engine loads as its strategy."""

END = b'\n{"end":1}\n'


class Bridge:
    """Serves the hooks of a strategy until the engine has ended."""

    def __init__(self, strategy: StrategyLike, on_time: Callable[[int], None] | None) -> None:
        self._make, self._is_factory = _factory_of(strategy)
        self._on_time = on_time
        self._runs: dict[int, tuple[Strategy, Context]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="priorbook-strategy-")
        self._paths = [str(Path(self._folder.name) / name) for name in ("events", "answers")]
        self._decode = msgspec.json.Decoder().decode
        self._encode = msgspec.json.Encoder().encode
        self._is_over = False
        self.failure: BaseException | None = None
        """What a hook raised."""

    def __enter__(self) -> Bridge:
        if not hasattr(os, "mkfifo"):
            raise ClientError(
                "invalid_option", "strategies in Python need named pipes, which this system does not have"
            )
        for path in self._paths:
            os.mkfifo(path, 0o600)
        # Opened for both directions, so that neither side waits for the other one to open.
        self._events, self._answers = (os.open(path, os.O_RDWR) for path in self._paths)
        self._lines = os.fdopen(os.dup(self._events), "rb", buffering=1 << 16)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lines.close()
        os.close(self._events)
        os.close(self._answers)
        self._folder.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        """What the engine needs to know."""
        return {"PRIORBOOK_STRATEGY_PIPES": msgspec.json.encode(self._paths).decode()}

    def end(self) -> None:
        """Ends ``serve``; called when the engine is gone."""
        # A pipe that the engine has filled takes nothing before it is read.
        pipe = os.open(self._paths[0], os.O_WRONLY | os.O_NONBLOCK)
        try:
            while not self._is_over:
                try:
                    os.write(pipe, END)
                    return
                except BlockingIOError:
                    time.sleep(0.01)
        finally:
            os.close(pipe)

    def serve(self) -> None:
        """Answers the engine until it has ended."""
        try:
            self._serve()
        finally:
            self._is_over = True

    def _serve(self) -> None:
        for line in self._lines:
            if line == b"\n":
                continue
            try:
                message = self._decode(line)
            except msgspec.DecodeError:
                # The engine ended in the middle of a line.
                continue
            if "end" in message:
                return
            if "hook" in message:
                self._run(message)
            elif "create" in message:
                self._create(message["create"], message["params"])
            else:
                self._send({"is_factory": self._is_factory})

    def _create(self, run: int, params: Params) -> None:
        try:
            strategy = self._make(params)
        except Exception as error:
            self._fail(error)
            return
        self._runs[run] = (strategy, Context(params, self._call, self._tell))
        self._send({"name": strategy.name, "hooks": hooks_of(strategy)})

    def _run(self, message: dict[str, Any]) -> None:
        strategy, context = self._runs[message["run"]]
        name, shown = HOOKS[message["hook"]]
        context.now = message["now"]
        if self._on_time is not None:
            self._on_time(context.now)
        try:
            hook = getattr(strategy, name)
            if shown is None:
                hook(context)
            else:
                hook(self._show(message["value"], shown), context)
        except Exception as error:
            self._fail(error)
            return
        self._send({})

    def _show(self, value: Any, shown: type[Any]) -> Any:
        is_book = shown is HOOKS["onBook"][1]
        view: BookView | Any = to_book(value, self._call) if is_book else msgspec.convert(value, shown)
        return view

    def _fail(self, error: Exception) -> None:
        self.failure = self.failure or error
        self._send({"failure": f"{type(error).__name__}: {error}"})

    def _call(self, call: str, *args: Any) -> Any:
        self._send({"call": call, "args": args})
        line = self._lines.readline()
        answer = self._decode(line) if line != b"\n" else {"failure": "the engine has ended"}
        if "failure" in answer:
            raise ClientError("backtest_failed", answer["failure"])
        return answer.get("value")

    def _tell(self, call: str, *args: Any) -> None:
        self._send({"call": call, "args": args, "is_told": True})

    def _send(self, message: dict[str, Any]) -> None:
        line = self._encode(message) + b"\n"
        sent = 0
        while sent < len(line):
            sent += os.write(self._answers, line[sent:])


def _factory_of(strategy: StrategyLike) -> tuple[Callable[[Params], Strategy], bool]:
    if isinstance(strategy, Strategy):
        one = strategy
        return lambda _: one, False
    if isinstance(strategy, type) and not _takes_params(strategy):
        kind: Callable[[], Strategy] = strategy
        return lambda _: kind(), True
    return cast("Callable[[Params], Strategy]", strategy), True


def _takes_params(kind: type[Strategy]) -> bool:
    return len(inspect.signature(kind).parameters) > 0
