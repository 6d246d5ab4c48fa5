"""The report of a backtest: typed values, and tables as DataFrames."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from priorbook._columns import TIMES
from priorbook.strategy import FillView, OrderView, SettlementView

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = TypeVar("Row")

MONEY_DECIMALS = 8


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a report; members that this version does not know are in ``Report.data``."""


class Headline(Part, frozen=True, kw_only=True):
    """What the run earned, in the venues' collateral, added one to one."""

    pnl: Decimal
    pnl_settled: Decimal
    """Of markets that paid out; ``pnl_open`` of open ones at the price they could be sold for."""
    pnl_open: Decimal
    start: Decimal
    end: Decimal
    fees: Decimal
    settlement_fees_and_rounding: Decimal
    rebates_apart: Decimal
    peak_capital: Decimal
    return_on_peak_capital: float | None
    mean_capital: Decimal
    max_drawdown: Decimal
    volume: Decimal


class Bracket(Part, frozen=True, kw_only=True):
    """The result by queue model where all three were run: three guesses about the queue, not bounds."""

    pessimistic: Decimal
    proportional: Decimal
    optimistic: Decimal
    smallest: Decimal
    largest: Decimal
    maker_fills: list[int]
    is_one_number: bool


class Failure(Part, frozen=True, kw_only=True):
    """Where a strategy failed."""

    hook: str
    at: int
    message: str


class Run(Part, frozen=True, kw_only=True):
    """What was run."""

    strategy: str
    params: dict[str, Any]
    seed: int
    queue: str
    gap_policy: str
    cash: dict[str, Decimal]
    from_: str = msgspec.field(name="from")
    to: str


class OrderCounts(Part, frozen=True, kw_only=True):
    """What became of the orders."""

    sent: int
    arrived: int
    rejected: int
    reasons: dict[str, int]
    cancelled: int
    expired: int
    with_fills: int
    filled_whole: int
    fill_rate_orders: float | None
    fill_rate_size: float | None


class FillCounts(Part, frozen=True, kw_only=True):
    """How many fills there were."""

    count: int
    taker: int
    maker: int
    mean_book_age_ms: float | None
    max_book_age_ms: float


class MarketResult(Part, frozen=True, kw_only=True):
    """One market of the run."""

    market: str
    event: str
    title: str | None
    status: str | None
    fills: int
    pnl: Decimal
    fees: Decimal
    payouts: list[Decimal] | None
    locked_s: float | None
    coverage: float


class EquityPoint(Part, frozen=True, kw_only=True):
    """The worth of the account at a time, and the capital that was bound."""

    time: int
    equity: Decimal
    capital: Decimal


Column = tuple[str, str, Callable[[Any], Any]]


class ReportTable(Sequence[Row], Generic[Row]):
    """Rows of a report, typed or as a DataFrame. Money is exact, times are UTC with microseconds, prices are floats."""

    def __init__(self, rows: list[Any], columns: Sequence[Column], convert: Callable[[Any], Row]) -> None:
        self._rows = rows
        self._columns = columns
        self._convert = convert

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._convert(row) for row in self._rows[index]]
        return self._convert(self._rows[index])

    def __iter__(self) -> Iterator[Row]:
        return (self._convert(row) for row in self._rows)

    def to_arrow(self) -> pyarrow.Table:
        """The rows with the columns of the Parquet files that ``priorbook backtest --parquet`` writes."""
        import pyarrow as pa

        kinds = {
            "text": pa.string(),
            "whole": pa.int64(),
            "number": pa.float64(),
            "time": TIMES,
            "money": pa.decimal128(18, MONEY_DECIMALS),
        }
        arrays = [pa.array([read(row) for row in self._rows], kinds[kind]) for _, kind, read in self._columns]
        return pa.table(arrays, names=[name for name, _, _ in self._columns])

    def to_polars(self) -> polars.DataFrame:
        """The rows for polars."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The rows for pandas, with Arrow types."""
        import pandas as pd

        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        return frame


class Report:
    """The result of one run."""

    def __init__(self, text: str) -> None:
        self.data: Mapping[str, Any] = json.loads(text)
        """The whole report, as ``report.json`` has it."""
        self._text = text

    @classmethod
    def read(cls, path: str | Path) -> Report:
        """Reads a ``report.json`` that ``priorbook backtest --out`` has written."""
        return cls(Path(path).read_text())

    def __repr__(self) -> str:
        return f"Report({self.run.strategy!r}, pnl={self.headline.pnl}, fills={self.fill_counts.count})"

    @property
    def status(self) -> str:
        """``complete`` or ``failed``."""
        return str(self.data["status"])

    @property
    def notices(self) -> list[str]:
        """What a reader should know before the figures."""
        return list(self.data["notices"])

    @property
    def logs(self) -> list[str]:
        """What the strategy logged, each line with its time."""
        return list(self.data["logs"])

    @cached_property
    def failure(self) -> Failure | None:
        """Where the strategy failed, if it did."""
        given = self.data["failure"]
        return None if given is None else msgspec.convert(given, Failure)

    @cached_property
    def run(self) -> Run:
        """What was run."""
        return msgspec.convert(self.data["run"], Run)

    @cached_property
    def headline(self) -> Headline:
        """What the run earned."""
        return msgspec.convert(self.data["headline"], Headline)

    @cached_property
    def bracket(self) -> Bracket | None:
        """The results by queue model, where all three were run."""
        given = self.data["bracket"]
        return None if given is None else msgspec.convert(given, Bracket)

    @cached_property
    def order_counts(self) -> OrderCounts:
        """What became of the orders."""
        return msgspec.convert(self.data["orders"], OrderCounts)

    @cached_property
    def fill_counts(self) -> FillCounts:
        """How many fills there were."""
        return msgspec.convert(self.data["fills"], FillCounts)

    @property
    def fills(self) -> ReportTable[FillView]:
        """The fills, of which the engine keeps a bounded number."""
        return ReportTable(self.data["fills_kept"], _FILLS, lambda row: msgspec.convert(row, FillView))

    @property
    def orders(self) -> ReportTable[OrderView]:
        """The orders, of which the engine keeps a bounded number."""
        return ReportTable(self.data["orders_kept"], _ORDERS, lambda row: msgspec.convert(row, OrderView))

    @property
    def markets(self) -> ReportTable[MarketResult]:
        """The markets of the run."""
        return ReportTable(self.data["markets"], _MARKETS, lambda row: msgspec.convert(row, MarketResult))

    @property
    def equity(self) -> ReportTable[EquityPoint]:
        """The worth of the account over time."""
        return ReportTable(self.data["equity"], _EQUITY, _equity_point)

    @property
    def settlements(self) -> ReportTable[SettlementView]:
        """What markets paid out."""
        return ReportTable(self.data["settlements"], _SETTLEMENTS, lambda row: msgspec.convert(row, SettlementView))

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the report as the engine prints it: equal runs have equal hashes."""
        return hashlib.sha256((indent_json(self._text) + "\n").encode()).hexdigest()


def _equity_point(row: Sequence[int]) -> EquityPoint:
    time, equity, capital = row
    return EquityPoint(time=time, equity=_money_units(equity), capital=_money_units(capital))


def _money_units(units: int) -> Decimal:
    return Decimal(units).scaleb(-MONEY_DECIMALS)


def _get(name: str) -> Callable[[Any], Any]:
    return lambda row: row.get(name)


def _price(row: Any) -> float | None:
    price = row.get("price")
    return None if price is None else price / 10_000


def _money(name: str) -> Callable[[Any], Any]:
    return lambda row: Decimal(row[name])


def _json(name: str) -> Callable[[Any], Any]:
    return lambda row: None if row[name] is None else json.dumps(row[name], separators=(",", ":"), ensure_ascii=False)


_FILLS: Sequence[Column] = (
    ("id", "whole", _get("id")),
    ("order", "whole", _get("order")),
    ("time", "time", _get("at")),
    ("market", "text", _get("market")),
    ("outcome", "whole", _get("outcome")),
    ("side", "text", _get("side")),
    ("liquidity", "text", _get("liquidity")),
    ("price", "number", _price),
    ("size", "money", _money("size")),
    ("fee", "money", _money("fee")),
    ("fee_shares", "money", _money("feeShares")),
    ("evidence", "text", _get("evidence")),
    ("rows", "text", _json("rows")),
    ("book_age_us", "whole", _get("bookAge")),
    ("tag", "text", _get("tag")),
)

_ORDERS: Sequence[Column] = (
    ("id", "whole", _get("id")),
    ("market", "text", _get("market")),
    ("outcome", "whole", _get("outcome")),
    ("side", "text", _get("side")),
    ("price", "number", _price),
    ("size", "text", _get("size")),
    ("filled", "text", _get("filled")),
    ("state", "text", _get("state")),
    ("reason", "text", _get("reason")),
    ("time_in_force", "text", _get("timeInForce")),
    ("sent", "time", _get("sentAt")),
    ("arrived", "time", _get("arrivedAt")),
    ("tag", "text", _get("tag")),
)

_MARKETS: Sequence[Column] = (
    ("market", "text", _get("market")),
    ("event", "text", _get("event")),
    ("title", "text", _get("title")),
    ("status", "text", _get("status")),
    ("fills", "whole", _get("fills")),
    ("pnl", "money", _money("pnl")),
    ("fees", "money", _money("fees")),
    ("payouts", "text", _json("payouts")),
    ("locked_s", "number", _get("locked_s")),
    ("coverage", "number", _get("coverage")),
)

_EQUITY: Sequence[Column] = (
    ("time", "time", lambda row: row[0]),
    ("equity", "money", lambda row: _money_units(row[1])),
    ("capital", "money", lambda row: _money_units(row[2])),
)

_SETTLEMENTS: Sequence[Column] = (
    ("time", "time", _get("time")),
    ("market", "text", _get("market")),
    ("payouts", "text", _json("payouts")),
    ("paid", "money", _money("paid")),
)


def indent_json(text: str) -> str:
    """JSON text indented by one space a level, as JavaScript does it: numbers and strings stay as they are written."""
    out: list[str] = []
    depth = 0
    at = 0
    length = len(text)
    while at < length:
        char = text[at]
        if char == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
            continue
        at += 1
        if char.isspace():
            continue
        if char in "[{":
            rest = at
            while text[rest].isspace():
                rest += 1
            if text[rest] in "]}":
                out.append(char + text[rest])
                at = rest + 1
                continue
            depth += 1
            out.append(f"{char}\n{' ' * depth}")
        elif char in "]}":
            depth -= 1
            out.append(f"\n{' ' * depth}{char}")
        elif char == ",":
            out.append(f",\n{' ' * depth}")
        elif char == ":":
            out.append(": ")
        else:
            end = at
            while end < length and text[end] not in ",]} \n\r\t":
                end += 1
            out.append(text[at - 1 : end])
            at = end
    return "".join(out)
