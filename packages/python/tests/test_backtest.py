"""Backtests: strategies in Python and JavaScript give the same reports, which are those of the command line."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest

from conftest import Server, observations
from priorbook import BacktestError, BookView, Client, ClientError, Context, Report, Strategy, StrategyError, backtest
from priorbook.models import ListedMarket
from priorbook.strategy import FillView, GapView, OrderView, Params, TimerView

ROOT = Path(os.environ["PRIORBOOK_ROOT"])
PROGRAM = [os.environ["PRIORBOOK_NODE"], str(ROOT / "packages/sdk/bin/priorbook.mjs")]
ASSUME = {"venueb-maker": "none", "venuea-fees": "none", "venuec-fees": "none"}
MINUTE = 60_000_000

TWIN = """
export const strategy = (params) => {
  const own = new Map()
  const seen = new Set()
  let fills = 0
  return {
    name: 'twin',
    onStart(context) {
      context.timerIn(60000000, 'minute')
    },
    onQuote(book, context) {
      const { bestBid, bestAsk, market: { id } } = book
      if (bestBid === null || bestAsk === null) return
      const { shares } = context.position(id)
      const held = own.get(id)
      if (!seen.has(id)) {
        seen.add(id)
        // The ask may rise before the order arrives: it pays up to 0.99, so every run has a fill.
        context.buy({ market: id, price: 9900, size: params.size, timeInForce: 'IOC', tag: 'in' })
      } else if (held === undefined) {
        if (context.random() > 0.5) return
        const order = { market: id, price: bestBid, size: params.size, postOnly: true, tag: 'bid' }
        own.set(id, { order: context.buy(order), price: bestBid })
      } else if (held.price !== bestBid) {
        held.order = context.replace(held.order, { price: bestBid, size: params.size })
        held.price = bestBid
      }
      const imbalance = book.imbalance(3)
      if (shares[0] > 0 && imbalance !== null && imbalance < params.edge) {
        context.sell({ market: id, price: bestBid, size: shares[0], timeInForce: 'IOC', reduceOnly: true, tag: 'out' })
      }
    },
    onOrder(order, context) {
      if (own.get(order.market)?.order !== order.id) return
      if (order.state === 'rejected' || order.state === 'cancelled') own.delete(order.market)
    },
    onFill(fill, context) {
      fills++
      if (own.get(fill.market)?.order === fill.order) own.delete(fill.market)
      context.log(`${fill.side} ${fill.size} at ${fill.price}, cash ${context.cash(fill.venue) > 0}`)
    },
    onTimer(timer, context) {
      for (const market of context.markets()) {
        const book = context.book(market.id)
        if (market.inGap || book === undefined || book.mid === null) continue
        context.forecast(market.id, book.mid / 10000)
        const left = context.secondsToClose(market.id)
        if (left !== undefined && left < 60) context.cancelAll(market.id)
      }
      context.timerIn(60000000, timer.tag)
    },
    onEnd(context) {
      context.log(`${fills} fills, ${context.orders().length} orders`)
    },
  }
}
"""


class Twin(Strategy):
    """The same in Python."""

    name = "twin"

    def __init__(self, params: Params) -> None:
        self.size = params["size"]
        self.edge = float(params["edge"])
        self.own: dict[str, tuple[int, int | float]] = {}
        self.seen = set[str]()
        self.fills = 0

    def on_start(self, context: Context) -> None:
        context.timer_in(MINUTE, "minute")

    def on_quote(self, book: BookView, context: Context) -> None:
        id, best_bid = book.market_id, book.best_bid
        if best_bid is None or book.best_ask is None:
            return
        held = context.position(id).shares[0]
        mine = self.own.get(id)
        if id not in self.seen:
            self.seen.add(id)
            context.buy(id, price=9900, size=self.size, time_in_force="IOC", tag="in")
        elif mine is None:
            if context.random() > 0.5:
                return
            self.own[id] = (context.buy(id, price=best_bid, size=self.size, post_only=True, tag="bid"), best_bid)
        elif mine[1] != best_bid:
            self.own[id] = (context.replace(mine[0], price=best_bid, size=self.size), best_bid)
        imbalance = book.imbalance(3)
        if held > 0 and imbalance is not None and imbalance < self.edge:
            context.sell(id, price=best_bid, size=held, time_in_force="IOC", reduce_only=True, tag="out")

    def on_order(self, order: OrderView, context: Context) -> None:
        if self.own.get(order.market, (0, 0))[0] == order.id and order.state in ("rejected", "cancelled"):
            del self.own[order.market]

    def on_fill(self, fill: FillView, context: Context) -> None:
        self.fills += 1
        if self.own.get(fill.market, (0, 0))[0] == fill.order:
            del self.own[fill.market]
        cash = "true" if context.cash(fill.venue) > 0 else "false"
        context.log(f"{fill.side} {fill.size} at {fill.price}, cash {cash}")

    def on_timer(self, timer: TimerView, context: Context) -> None:
        for market in context.markets():
            book = context.book(market.id)
            if market.in_gap or book is None or book.mid is None:
                continue
            context.forecast(market.id, book.mid / 10_000)
            left = context.seconds_to_close(market.id)
            if left is not None and left < 60:
                context.cancel_all(market.id)
        context.timer_in(MINUTE, timer.tag)

    def on_end(self, context: Context) -> None:
        context.log(f"{self.fills} fills, {len(context.orders())} orders")


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine of this tree."""
    monkeypatch.setenv("PRIORBOOK_CLI", " ".join(PROGRAM))


@pytest.fixture(scope="session")
def tapes(client: Client, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Books of a busy market of two venues that have bids and asks, with their trades."""
    folder = tmp_path_factory.mktemp("tapes")
    made: dict[str, list[Path]] = {}
    venues: list[Literal["venueb", "venuec"]] = ["venueb", "venuec"]
    for venue in venues:
        markets = [market for market in client.markets(venue=venue) if market.coverage]
        busy = sorted(markets, key=observations, reverse=True)[:10]
        market, rows = max(((market, two_sided(client, market)) for market in busy), key=lambda one: len(one[1]))
        span = {"start_time": rows[0].received_time, "end_time": rows[-1].received_time}
        scope: dict[str, Any] = {"venue": venue, "market_id": market.market_id, "format": "tape", **span}
        made[venue] = [Path(client.download(folder, dataset=dataset, **scope)) for dataset in ("books", "trades")]
    return made


def two_sided(client: Client, market: ListedMarket) -> list[Any]:
    """The longest stretch of books with bids and asks among the first thousand of a market."""
    rows = client.market(market).snapshots(include_orderbook=False, limit=1000).page().data
    longest: list[Any] = []
    stretch: list[Any] = []
    for row in rows:
        has_both = row.best_bid is not None and row.best_ask is not None
        stretch = [*stretch, row] if has_both else []
        longest = max(longest, stretch, key=len)
    return longest


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strategy in JavaScript."""
    path = tmp_path_factory.mktemp("twin") / "twin.mjs"
    path.write_text(TWIN)
    return path


def engine(*args: Any) -> subprocess.CompletedProcess[str]:
    """The command line itself."""
    return subprocess.run([*PROGRAM, "backtest", *map(str, args)], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("venue", ["venueb", "venuec"])
def test_a_strategy_in_python_has_the_report_of_its_twin(venue: str, tapes: dict[str, Any], twin: Path) -> None:
    params = {"size": 5, "edge": 0.1}
    theirs = backtest(twin, files=tapes[venue], params=params, assume=ASSUME, progress=True)
    ours = backtest(Twin, files=tapes[venue], params=params, assume=ASSUME)
    assert [report.hash for report in ours.reports] == [report.hash for report in theirs.reports]
    assert ours.report.data == theirs.report.data
    assert ours.report.fill_counts.count > 0 and ours.report.order_counts.sent > 10
    assert ours.report.bracket is not None and len(ours.report.logs) > 1


def test_reports_are_those_of_the_command_line(tapes: dict[str, Any], twin: Path, tmp_path: Path) -> None:
    args = [twin, *tapes["venueb"], "--params=size=5|7,edge=0.1|0.3", "--assume=venueb-maker=none"]
    said = engine(*args, "--json", f"--out={tmp_path}", f"--parquet={tmp_path}")
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    result = backtest(
        twin, files=tapes["venueb"], params={"size": [5, 7], "edge": [0.1, 0.3]}, assume={"venueb-maker": "none"}
    )
    assert [report.data for report in result.reports] == lines and len(lines) == 4
    best = Report.read(tmp_path / "report.json")
    assert result.report.data["headline"] == best.data["headline"]
    assert best.hash == hashlib.sha256((tmp_path / "report.json").read_bytes()).hexdigest()
    for name in ("fills", "orders", "markets", "equity", "settlements"):
        table = getattr(best, name).to_arrow()
        written = pq.read_table(tmp_path / f"{name}.parquet")
        assert table.column_names == written.column_names
        assert table.to_pylist() == written.to_pylist()
        rows = getattr(best, name)
        assert rows.to_polars().height == len(rows.to_pandas()) == len(rows)
    assert len(best.fills) > 0
    fill = best.fills[0]
    assert (fill.id, str(fill.size)) == (best.data["fills_kept"][0]["id"], best.data["fills_kept"][0]["size"])
    assert best.headline.pnl == Decimal(best.data["headline"]["pnl"])
    assert best.equity[-1].equity == best.headline.end


def test_data_come_from_a_service(past: Server, client: Client, busiest: dict[str, ListedMarket], twin: Path) -> None:
    market = f"venueb:{busiest['venueb'].market_id}"
    params = {"size": 5, "edge": 0.1}
    result = backtest(Twin, client=client, markets=[market], params=params, queue="optimistic", assume=ASSUME)
    assert [one.market for one in result.report.markets] == [market]
    assert result.report.run.queue == "optimistic" and result.report.bracket is None


HEALED = """
export const strategy = () => {
  let bid = 0
  let isFirst = false
  return {
    name: 'healed',
    onGap(gap, context) {
      context.log(`${gap.edge} ${gap.reason} ${gap.start} ${context.market(gap.market).inGap}`)
      isFirst = gap.edge === 'close'
      bid = 0
    },
    onQuote(book, context) {
      const { bestBid, bestAsk, market: { id } } = book
      if (bestBid === null || bestAsk === null) return
      if (isFirst) {
        isFirst = false
        context.log(`whole ${book.sequence} ${bestBid} ${bestAsk} ${book.bids().length} ${book.asks().length}`)
        context.buy({ market: id, price: bestAsk, size: 2, timeInForce: 'IOC', tag: 'after' })
      }
      if (bid === 0) bid = context.buy({ market: id, price: bestBid - 100, size: 5, postOnly: true, tag: 'rest' })
    },
  }
}
"""


class Healed(Strategy):
    """Says what a gap is like, takes from the first book after it, and has a bid resting all the time."""

    name = "healed"

    def __init__(self) -> None:
        self.bid = 0
        self.is_first = False

    def on_gap(self, gap: GapView, context: Context) -> None:
        market = context.market(gap.market)
        assert market is not None
        context.log(f"{gap.edge} {gap.reason} {gap.start} {'true' if market.in_gap else 'false'}")
        self.is_first = gap.edge == "close"
        self.bid = 0

    def on_quote(self, book: BookView, context: Context) -> None:
        id, best_bid, best_ask = book.market_id, book.best_bid, book.best_ask
        if best_bid is None or best_ask is None:
            return
        if self.is_first:
            self.is_first = False
            context.log(f"whole {book.sequence} {best_bid} {best_ask} {len(book.bids())} {len(book.asks())}")
            context.buy(id, price=best_ask, size=2, time_in_force="IOC", tag="after")
        if self.bid == 0:
            self.bid = context.buy(id, price=best_bid - 100, size=5, post_only=True, tag="rest")


@pytest.mark.parametrize("policy", ["cancel", "freeze"])
def test_a_gap_that_was_healed_is_the_same_in_both_languages(
    policy: Literal["cancel", "freeze"], recorded: Server, tmp_path: Path
) -> None:
    ticker = "KXGOLD15M-26AUG102130-30"
    with Client(recorded.url, recorded.key) as client:
        [gap] = [one for one in client.gaps(venue="venueb", market=ticker) if one.reason == "disconnected"]
        assert gap.end_time is not None
        before, after = timedelta(seconds=2), timedelta(seconds=3)
        span: dict[str, Any] = {"start_time": gap.start_time - before, "end_time": gap.end_time + after}
        scope: dict[str, Any] = {"venue": "venueb", "market_id": ticker, "format": "tape", **span}
        files = [client.download(tmp_path, dataset=dataset, **scope) for dataset in ("books", "trades")]
        rows = client.market("venueb", ticker).snapshots(include_orderbook=False, **span).to_list()
    script = tmp_path / "healed.mjs"
    script.write_text(HEALED)
    assume = {"venueb-maker": "none", "venueb-tick": "0.01"}
    # The first quote comes 5 ms before the gap: the bid must rest by then.
    theirs = backtest(script, files=files, assume=assume, gap_policy=policy, latency_ms=1)
    ours = backtest(Healed, files=files, assume=assume, gap_policy=policy, latency_ms=1)
    report = ours.report
    assert [one.hash for one in ours.reports] == [one.hash for one in theirs.reports]
    assert report.data == theirs.report.data

    # What the service itself says of the gap, and of the book after it.
    [whole] = [row for row in rows if row.sequence == gap.after_sequence + 1]
    assert whole.best_bid is not None and whole.best_ask is not None
    best = f"{int(whole.best_bid * 10_000)} {int(whole.best_ask * 10_000)}"
    begun, ended = (round(time.timestamp() * 1_000_000) for time in (gap.start_time, gap.end_time))
    assert [line.split(" ", 1)[1] for line in report.logs] == [
        f"open disconnected {begun} true",
        f"close disconnected {begun} false",
        f"whole {whole.sequence} {best} {whole.bid_levels} {whole.ask_levels}",
    ]
    gaps = report.data["gaps"]
    assert (gaps["count"], gaps["spans"][0]["end"]) == (1, ended)
    assert gaps["orders_cancelled"] == (1 if policy == "cancel" else 0)
    assert report.fill_counts.taker == 1


class Once(Strategy):
    """Orders once and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_book(self, book: BookView, context: Context) -> None:
        if not self.seen:
            context.buy(book.market_id, amount="10")
            levels, market = book.bids(2), context.market(book.market_id)
            assert market is not None and market == book.market and levels[0].price == book.best_bid
            assert context.exposure(book.market_id).market == market.id and context.ticks(market.id)
            assert context.fee(market.id, "buy", "0.5", 10) is not None
        self.seen.append(book.sequence)


def test_an_object_runs_once_and_keeps_its_state(tapes: dict[str, Any]) -> None:
    once, times = Once(), list[int]()
    result = backtest(once, files=tapes["venueb"], assume=ASSUME, progress=times.append)
    assert len(once.seen) == result.report.data["coverage"]["observations"] > 100
    assert result.report.fill_counts.taker > 0 and times and times == sorted(times)


class Failing(Strategy):
    """Fails in a hook."""

    def on_quote(self, book: BookView, context: Context) -> None:
        raise KeyError("nothing there")


def test_failures_are_typed(tapes: dict[str, Any], twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tapes["venueb"]
    with pytest.raises(StrategyError, match="nothing there") as failed:
        backtest(Failing, files=files, assume=ASSUME)
    assert isinstance(failed.value.__cause__, KeyError)
    failure = failed.value.result.report.failure
    again = pickle.loads(pickle.dumps(failed.value))
    assert again.result.report.failure == failure and again.result.report.hash == failed.value.result.report.hash
    assert failure.hook == "onQuote" and backtest(Failing(), files=files, assume=ASSUME, check=False).report.failure
    with pytest.raises(BacktestError) as refused:
        backtest(twin, files=[tmp_path / "none.pbx"], progress=True)
    assert (refused.value.status, refused.value.code, refused.value.reason) == (4, "backtest_failed", "not_found")
    with pytest.raises(BacktestError) as wrong:
        backtest(Twin, files=files, cash="much", params={"size": 1, "edge": 0})
    assert wrong.value.status == 2 and wrong.value.hint
    with pytest.raises(ClientError) as separated:
        backtest(twin, files=files, params={"size": "1,2"})
    assert separated.value.code == "invalid_option"
    with pytest.raises(ClientError) as missing:
        backtest(twin, files=files, program=str(tmp_path / "no-program"))
    assert missing.value.code == "engine_missing"
    monkeypatch.delenv("PRIORBOOK_CLI")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientError) as nowhere:
        backtest(twin, files=files)
    assert nowhere.value.code == "engine_missing"


FAILED = '{"status":"failed","failure":{"hook":"onQuote","at":1,"message":"nothing\u2028there"}}'
COMPLETE = '{"status":"complete","failure":null}'


def engine_that(folder: Path, status: int, *lines: str) -> list[str]:
    """A program that prints lines, says why on standard error, and ends with a status."""
    path = folder / "engine.py"
    said = '{"error":"failed","message":"the disk is full"}'
    text = f"import sys\nsys.stdout.buffer.write({chr(10).join(lines).encode()!r})\n"
    path.write_text(f"{text}sys.stderr.write({said!r})\nsys.exit({status})\n")
    return [sys.executable, str(path)]


@pytest.mark.parametrize("status", [0, 1])
def test_a_failed_strategy_is_told_with_and_without_a_status(status: int, tmp_path: Path) -> None:
    program = engine_that(tmp_path, status, COMPLETE, FAILED, "")
    with pytest.raises(StrategyError, match="nothing\u2028there") as failed:
        backtest("strategy.mjs", program=program)
    assert [report.status for report in failed.value.result.reports] == ["complete", "failed"]
    result = backtest("strategy.mjs", program=program, check=False)
    assert [report.status for report in result.reports] == ["complete", "failed"]


@pytest.mark.parametrize(
    ("status", "lines"),
    [(1, []), (1, [COMPLETE]), (1, [FAILED[:-9]]), (1, [COMPLETE, FAILED[:-9]]), (6, [FAILED]), (2, [])],
)
def test_an_engine_that_failed_is_told(status: int, lines: list[str], tmp_path: Path) -> None:
    with pytest.raises(BacktestError, match="the disk is full") as failed:
        backtest("strategy.mjs", program=engine_that(tmp_path, status, *lines), check=False)
    assert (failed.value.status, failed.value.reason) == (status, "failed")


def test_an_interrupted_run_leaves_no_engine(tapes: dict[str, Any]) -> None:
    class Interrupt(BaseException):
        pass

    def stop(_: int) -> None:
        raise Interrupt

    with pytest.raises(Interrupt):
        backtest(Once(), files=tapes["venueb"], assume=ASSUME, progress=stop)
    # A child that still runs, or was never waited for, would be found.
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
