"""Backtests: the engine of ``priorbook backtest`` in its own process, with a strategy in Python or TypeScript."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any, Literal

from priorbook._bridge import MODULE, Bridge
from priorbook._query import TimeInput, print_value
from priorbook.client import Client
from priorbook.errors import BacktestError, ClientError, StrategyError
from priorbook.report import Report
from priorbook.strategy import StrategyLike

Value = int | float | str | bool | Decimal
ParamValues = Mapping[str, Value | Sequence[Value]]
"""The parameters of a strategy; a list of values runs every combination."""

Queue = Literal["bracket", "pessimistic", "proportional", "optimistic"]


STRATEGY_STATUS = 1
"""What the engine ends with after the report of a strategy that failed."""


class Backtest:
    """The results of a call: one report, or one for every set of parameters or window."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.reports = list(reports)

    @property
    def report(self) -> Report:
        """The report with the largest result, the first one of equals."""
        return max(self.reports, key=lambda report: report.headline.pnl)

    def __repr__(self) -> str:
        return f"Backtest({self.reports!r})"


def backtest(
    strategy: StrategyLike | str | os.PathLike[str],
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    client: Client | None = None,
    markets: Sequence[str] = (),
    series: str | None = None,
    contract: str | None = None,
    references: Sequence[str] = (),
    data: Mapping[str, str | os.PathLike[str]] | None = None,
    start_time: TimeInput | None = None,
    end_time: TimeInput | None = None,
    params: ParamValues | None = None,
    random: int | None = None,
    walk_forward: str | None = None,
    split: TimeInput | None = None,
    queue: Queue | None = None,
    cash: int | str | Decimal | None = None,
    latency_ms: float | None = None,
    gap_policy: Literal["cancel", "freeze"] | None = None,
    seed: int | None = None,
    assume: Mapping[str, str] | None = None,
    workers: int = 1,
    timeout: int = 600,
    out: str | os.PathLike[str] | None = None,
    program: str | Sequence[str] | None = None,
    progress: bool | Callable[[int], None] = False,
    check: bool = True,
) -> Backtest:
    """Runs a strategy over recorded books.

    ``strategy`` is a subclass of ``Strategy``, a function of parameters that makes one, a strategy, or the path of a
    module in TypeScript. Data are downloaded ``files`` of the format ``tape`` or ``ndjson``, or ``markets``
    (``venue:id``), a ``series`` or a ``contract`` of the service of ``client``. ``program`` is the command that starts
    ``priorbook``; without it ``PRIORBOOK_CLI``, the ``PATH`` and ``npx`` are tried. With ``progress=True`` the engine
    shows its progress on standard error; a function gets the time that a strategy in Python has reached. A strategy
    that fails raises a ``StrategyError``, unless ``check`` is False.
    """
    options: dict[str, Any] = {
        "markets": ",".join(markets) or None,
        "series": series,
        "contract": contract,
        "references": ",".join(references) or None,
        "from": _time(start_time),
        "to": _time(end_time),
        "params": _params(params or {}),
        "random": random,
        "walk-forward": walk_forward,
        "split": _time(split),
        "queue": queue,
        "cash": cash,
        "latency": latency_ms,
        "gap-policy": gap_policy,
        "seed": seed,
        "assume": ",".join(f"{name}={value}" for name, value in (assume or {}).items()) or None,
        "workers": None if workers == 1 else workers,
        "timeout": timeout,
        "out": None if out is None else os.fspath(out),
    }
    own = [f"--{name}={value}" for name, value in options.items() if value is not None]
    own += [f"--data={name}={os.fspath(path)}" for name, path in (data or {}).items()]
    if client is not None and client.is_demo:
        own.append("--demo")
    command = [*find_program(program), "backtest"]
    environment = _environment(client)
    paths = [os.fspath(path) for path in files]
    shows = progress is True
    if isinstance(strategy, (str, os.PathLike)):
        arguments = [os.fspath(strategy), *paths, *own, "--json"]
        return _finish(_run([*command, *arguments], environment, shows), None, check)
    if workers != 1:
        raise ClientError("invalid_option", "a strategy in Python runs in one process: workers is 1")
    on_time = _sometimes(progress) if callable(progress) else None
    with Bridge(strategy, on_time) as bridge:
        arguments = [str(MODULE), *paths, *own, "--json"]
        output = _run([*command, *arguments], {**environment, **bridge.environment}, shows, bridge)
        return _finish(output, bridge.failure, check)


def find_program(program: str | Sequence[str] | None = None) -> list[str]:
    """The command that starts ``priorbook``."""
    if program is not None:
        return [program] if isinstance(program, str) else list(program)
    configured = os.environ.get("PRIORBOOK_CLI")
    if configured:
        return shlex.split(configured)
    found = shutil.which("priorbook")
    if found is not None:
        return [found]
    npx = shutil.which("npx")
    if npx is not None:
        return [npx, "--no-install", "priorbook"]
    raise ClientError("engine_missing")


class _Output:
    def __init__(self) -> None:
        self.out = b""
        self.error = b""
        self.status = 0


def _run(command: Sequence[str], environment: Mapping[str, str], shows: bool, bridge: Bridge | None = None) -> _Output:
    output = _Output()
    # The engine draws its progress on terminals only.
    said, errors = os.openpty() if shows and hasattr(os, "openpty") else os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **environment},
            # npx and the program that it starts are ended together.
            start_new_session=True,
        )
    except OSError as error:
        os.close(said)
        raise ClientError("engine_missing", f"{command[0]} cannot be started: {error}") from error
    finally:
        os.close(errors)

    def collect() -> None:
        assert process.stdout is not None
        copying = threading.Thread(target=_copy, args=(said, output, shows))
        copying.start()
        output.out = process.stdout.read()
        copying.join()
        process.stdout.close()
        output.status = process.wait()
        if bridge is not None:
            bridge.end()

    reader = threading.Thread(target=collect)
    reader.start()
    with _ended(process, reader):
        if bridge is not None:
            bridge.serve()
        reader.join()
    return output


def _copy(said: int, output: _Output, shows: bool) -> None:
    try:
        while piece := os.read(said, 65_536):
            output.error += piece
            if shows:
                sys.stderr.write(piece.decode("utf-8", "replace"))
                sys.stderr.flush()
    except OSError:
        # So a terminal ends whose other side is closed.
        pass
    finally:
        os.close(said)


@contextmanager
def _ended(process: subprocess.Popen[bytes], reader: threading.Thread) -> Iterator[None]:
    try:
        yield
    except BaseException:
        # Such as Ctrl-C: no engine goes on alone.
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        raise
    finally:
        reader.join()


def _finish(output: _Output, failure: BaseException | None, check: bool) -> Backtest:
    result = Backtest(_reports_of(output))
    failed = next((report for report in result.reports if report.status == "failed"), None)
    # An engine ends with a status of its own after the report of a strategy that failed; older ones end with 0.
    is_told = output.status == STRATEGY_STATUS and failed is not None
    if output.status != 0 and not is_told:
        raise _error_of(output) from failure
    if failed is not None and check:
        raise StrategyError(failed.failure.message if failed.failure else "", result) from failure
    return result


def _reports_of(output: _Output) -> list[Report]:
    """The reports that the engine printed; an engine that failed by itself may have broken off within one."""
    reports: list[Report] = []
    # Texts of a report may have other signs that end a line for Python.
    for line in output.out.decode("utf-8", "replace").split("\n"):
        if not line.startswith("{"):
            continue
        try:
            reports.append(Report(line))
        except ValueError:
            if output.status == 0:
                raise
    return reports


def _error_of(output: _Output) -> BacktestError:
    text = output.error.decode("utf-8", "replace").strip()
    for line in reversed(re.split(r"[\r\n]+|\x1b\[\w*", text)):
        try:
            said = json.loads(line)
            reason = said.get("code") or said["error"]
            return BacktestError(said["message"], status=output.status, reason=reason, hint=said.get("hint"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    last = text.splitlines()[-1] if text else f"the engine ended with status {output.status}"
    return BacktestError(last, status=output.status)


# The key is in the environment, which process lists do not show.
def _environment(client: Client | None) -> dict[str, str]:
    if client is None:
        return {}
    key = client._settings.bearer()
    return {"PRIORBOOK_URL": client.url, **({} if key is None else {"PRIORBOOK_KEY": key})}


def _params(params: ParamValues) -> str | None:
    parts: list[str] = []
    for name, given in params.items():
        values = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        texts = [_param(name, value) for value in values]
        if not texts:
            raise ClientError("invalid_option", f"the parameter {name} has no value")
        parts.append(f"{name}={'|'.join(texts)}")
    return ",".join(parts) or None


def _param(name: str, value: Any) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    if any(sign in text for sign in ",|=") or any(sign in name for sign in ",|="):
        raise ClientError("invalid_option", f"the parameter {name} has a sign that separates parameters: {text}")
    return text


def _time(at: TimeInput | None) -> str | None:
    return None if at is None else print_value("time", at)


def _sometimes(tell: Callable[[int], None]) -> Callable[[int], None]:
    last = 0.0

    def report(at: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 0.1:
            last = now
            tell(at)

    return report
