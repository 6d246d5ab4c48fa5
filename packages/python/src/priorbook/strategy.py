"""Strategies in Python: hooks that the engine of ``priorbook backtest`` calls, and what they can see and do.

Prices are ten-thousandths (5200 means 0.52), sizes are contracts or shares, times are microseconds, as in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeVar

import msgspec

Number = int | float
Amount = int | float | str | Decimal
Outcome = int | str
Params = Mapping[str, int | float | str | bool]

Shown = TypeVar("Shown")

Call = Callable[..., Any]
"""Calls the context of the engine and returns its answer."""


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A copy of what the engine shows; values that are not known are None."""


class LevelView(View, frozen=True, kw_only=True):
    """One level of a book."""

    price: Number
    size: Number


class MarketView(View, frozen=True, kw_only=True):
    """A market as known when it was read."""

    id: str
    venue: str
    market_id: str
    outcomes: list[str]
    in_gap: bool
    """True while the market is not recorded."""
    title: str | None = None
    status: str | None = None
    open_time: int | None = None
    close_time: int | None = None
    asset: str | None = None
    window: str | None = None
    series: str | None = None
    event: str | None = None
    native: Any = None
    """The venue's own record."""


class TradeView(View, frozen=True, kw_only=True):
    """An execution print."""

    market: str
    outcome: int
    price: Number
    size: Number
    time: int
    id: str
    taker: Literal["buy", "sell"] | None = None


class GapView(View, frozen=True, kw_only=True):
    """A gap begins or ends."""

    market: str
    edge: Literal["open", "close"]
    reason: str
    start: int


class SampleView(View, frozen=True, kw_only=True):
    """A sample of a metric."""

    market: str
    metric: str
    value: str
    time: int
    outcome: str | None = None


class ReferenceView(View, frozen=True, kw_only=True):
    """A reference price of an asset."""

    asset: str
    feed: str
    price: Number
    exact: str
    """The price with every digit that the venue sent."""
    time: int
    id: str
    source_time: int | None = None


class ReferenceGapView(View, frozen=True, kw_only=True):
    """The recording of a reference price breaks off, or goes on."""

    asset: str
    feed: str
    edge: Literal["open", "close"]
    reason: str
    start: int


class SettlementView(View, frozen=True, kw_only=True):
    """A market paid out."""

    market: str
    payouts: list[str]
    paid: str
    time: int


class OrderView(View, frozen=True, kw_only=True):
    """An order of the strategy."""

    id: int
    market: str
    venue: str
    outcome: int
    side: Literal["buy", "sell"]
    size: str
    filled: str
    state: Literal["sent", "resting", "filled", "cancelled", "expired", "rejected"]
    time_in_force: str
    sent_at: int
    price: Number | None = None
    amount: str | None = None
    reason: str | None = None
    arrived_at: int | None = None
    tag: str | None = None


class FillView(View, frozen=True, kw_only=True):
    """A fill of an order of the strategy."""

    id: int
    order: int
    market: str
    venue: str
    outcome: int
    side: Literal["buy", "sell"]
    liquidity: Literal["taker", "maker"]
    price: Number
    size: str
    fee: str
    fee_shares: str
    at: int
    evidence: str
    rows: list[str]
    book_age: Number
    tag: str | None = None


class PositionView(View, frozen=True, kw_only=True):
    """The position in a market: shares by outcome, and what they cost."""

    market: str
    shares: list[Number]
    cost: Number


class ExposureView(View, frozen=True, kw_only=True):
    """The position in a market if all open orders are filled."""

    market: str
    shares: list[Number]
    buying: list[Number]
    selling: list[Number]


class TickView(View, frozen=True, kw_only=True):
    """Prices from ``from_`` up to ``to`` move in steps."""

    from_: Number = msgspec.field(name="from")
    to: Number
    step: Number


class TimerView(View, frozen=True, kw_only=True):
    """A timer of the strategy is due."""

    at: int
    tag: str


class DataView(View, frozen=True, kw_only=True):
    """A row of a series of one's own."""

    feed: str
    time: int
    values: dict[str, Any]


class _Top(View, frozen=True, kw_only=True):
    market: str
    outcome: int
    best_bid: Number | None
    best_ask: Number | None
    bid_size: Number
    ask_size: Number
    mid: Number | None
    spread: Number | None
    bid_levels: int
    ask_levels: int
    time: int
    sequence: int
    microprice: Number | None
    source_time: int | None = None


class BookView:
    """The book of one outcome, as it stands while the hook runs that got it."""

    __slots__ = ("_call", "_top")

    def __init__(self, top: _Top, call: Call) -> None:
        self._top = top
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._top, name)

    @property
    def market_id(self) -> str:
        """``venue:market id``, as orders name it."""
        return self._top.market

    @property
    def market(self) -> MarketView:
        """The market as known now."""
        return _market(self._call("market", self._top.market))

    def bids(self, depth: int | None = None) -> list[LevelView]:
        """The best levels first."""
        return _many(self._call("bids", self._top.market, self._top.outcome, depth), LevelView)

    def asks(self, depth: int | None = None) -> list[LevelView]:
        """The best levels first."""
        return _many(self._call("asks", self._top.market, self._top.outcome, depth), LevelView)

    def imbalance(self, depth: int | None = None) -> float | None:
        """(bids − asks) / (bids + asks) by the sizes of the best levels, one by default."""
        value: float | None = self._call("imbalance", self._top.market, self._top.outcome, depth)
        return value

    def vwap(self, side: Literal["buy", "sell"], size: Number) -> float | None:
        """The mean price of buying or selling a size at once; None where the book has less."""
        value: float | None = self._call("vwap", self._top.market, self._top.outcome, side, size)
        return value

    # The members of the newest row, for type checkers; they are read from it.
    outcome: int
    best_bid: Number | None
    best_ask: Number | None
    bid_size: Number
    ask_size: Number
    mid: Number | None
    spread: Number | None
    bid_levels: int
    ask_levels: int
    time: int
    sequence: int
    microprice: Number | None
    source_time: int | None


class Context:
    """What a strategy can see and do while a hook runs. Use only ``now`` as a clock and ``random`` for chance."""

    __slots__ = ("_call", "_tell", "now", "params")

    def __init__(self, params: Params, call: Call, tell: Callable[..., None]) -> None:
        self.params = params
        self.now = 0
        """The time of the run, in microseconds."""
        self._call = call
        self._tell = tell

    def order(
        self,
        market: str,
        side: Literal["buy", "sell"],
        *,
        price: Amount | None = None,
        size: Amount | None = None,
        amount: Amount | None = None,
        outcome: Outcome | None = None,
        time_in_force: Literal["GTC", "GTD", "IOC", "FAK", "FOK"] | None = None,
        expires: int | None = None,
        post_only: bool = False,
        reduce_only: bool = False,
        tag: str | None = None,
    ) -> int:
        """Sends an order and returns its id; rejections come to ``on_order``. Without a price it takes at once."""
        request = {
            "market": market,
            "side": side,
            "price": _amount(price),
            "size": _amount(size),
            "amount": _amount(amount),
            "outcome": outcome,
            "timeInForce": time_in_force,
            "expires": expires,
            "postOnly": post_only or None,
            "reduceOnly": reduce_only or None,
            "tag": tag,
        }
        return int(self._call("order", {name: value for name, value in request.items() if value is not None}))

    def buy(self, market: str, **request: Any) -> int:
        """An ``order`` that buys."""
        return self.order(market, "buy", **request)

    def sell(self, market: str, **request: Any) -> int:
        """An ``order`` that sells."""
        return self.order(market, "sell", **request)

    def cancel(self, order: int) -> None:
        """Cancels an order."""
        self._tell("cancel", order)

    def cancel_all(self, market: str | None = None) -> None:
        """Cancels all open orders, or those of a market."""
        self._tell("cancelAll", market)

    def replace(self, order: int, *, price: Amount | None = None, size: Amount | None = None) -> int:
        """Replaces an order by a new one, at the end of the queue, and returns the id of the new one."""
        change = {"price": _amount(price), "size": _amount(size)}
        return int(self._call("replace", order, {name: one for name, one in change.items() if one is not None}))

    def merge(self, market: str, size: Amount | None = None) -> bool:
        """Turns pairs of shares into cash, all of them without a size; False where it cannot."""
        return bool(self._call("merge", market, _amount(size)))

    def split(self, market: str, size: Amount) -> bool:
        """Turns cash into pairs of shares; False where it cannot."""
        return bool(self._call("split", market, _amount(size)))

    def timer_at(self, at: int, tag: str = "") -> None:
        """Calls ``on_timer`` at a time."""
        self._tell("timerAt", at, tag)

    def timer_in(self, micros: int, tag: str = "") -> None:
        """Calls ``on_timer`` after a number of microseconds."""
        self._tell("timerIn", micros, tag)

    def forecast(self, market: str, chance: float, outcome: Outcome | None = None) -> None:
        """States the probability of an outcome, for calibration and Brier score."""
        self._tell("forecast", market, chance, outcome)

    def book(self, market: str, outcome: Outcome | None = None) -> BookView | None:
        """The newest book of a market; None before the first one."""
        shown = self._call("book", market, outcome)
        return None if shown is None else to_book(shown, self._call)

    def market(self, id: str) -> MarketView | None:
        """A market of the run, as known now."""
        shown = self._call("market", id)
        return None if shown is None else _market(shown)

    def markets(self) -> list[MarketView]:
        """The markets of the run."""
        return _many(self._call("markets"), MarketView)

    def position(self, market: str) -> PositionView:
        """The shares that are held."""
        return msgspec.convert(self._call("position", market), PositionView)

    def exposure(self, market: str) -> ExposureView:
        """What the position becomes if all open orders are filled."""
        return msgspec.convert(self._call("exposure", market), ExposureView)

    def fee(
        self,
        market: str,
        side: Literal["buy", "sell"],
        price: Amount,
        size: Amount,
        *,
        outcome: Outcome | None = None,
        liquidity: Literal["taker", "maker"] = "taker",
    ) -> float | None:
        """The fee of one fill; None where it is not known."""
        fill = {"market": market, "side": side, "price": _amount(price), "size": _amount(size), "liquidity": liquidity}
        value: float | None = self._call("fee", fill if outcome is None else {**fill, "outcome": outcome})
        return value

    def ticks(self, market: str) -> list[TickView]:
        """The prices that the market accepts, as known now; empty where they are not known."""
        return _many(self._call("ticks", market), TickView)

    def seconds_to_close(self, market: str) -> float | None:
        """Until the close time as known now; negative after it."""
        value: float | None = self._call("secondsToClose", market)
        return value

    def reference(self, asset: str, feed: str | None = None) -> ReferenceView | None:
        """The last reference price of an asset; None before the first one and in a gap of the feed."""
        shown = self._call("reference", asset, feed)
        return None if shown is None else msgspec.convert(shown, ReferenceView)

    def cash(self, venue: str) -> float:
        """Free cash at a venue, without what is reserved for open orders."""
        return float(self._call("cash", venue))

    def orders(self, market: str | None = None) -> list[OrderView]:
        """Open orders, those on their way included."""
        return _many(self._call("orders", market), OrderView)

    def random(self) -> float:
        """A random number in [0, 1) from the seed of the run."""
        return float(self._call("random"))

    def log(self, text: str) -> None:
        """Adds a line to the report, up to 1,000."""
        self._tell("log", text)


class Strategy:
    """A strategy: override the hooks it needs. A class is created once per run, with the parameters of the run."""

    name: str = "strategy"

    def on_start(self, context: Context) -> None:
        """The run begins."""

    def on_book(self, book: BookView, context: Context) -> None:
        """A book was received."""

    def on_quote(self, book: BookView, context: Context) -> None:
        """Like ``on_book``, but only when a best price or its size has changed."""

    def on_trade(self, trade: TradeView, context: Context) -> None:
        """A trade was received."""

    def on_gap(self, gap: GapView, context: Context) -> None:
        """A gap begins or ends."""

    def on_fill(self, fill: FillView, context: Context) -> None:
        """An order was filled, wholly or in part."""

    def on_order(self, order: OrderView, context: Context) -> None:
        """The state of an order changed."""

    def on_market(self, market: MarketView, context: Context) -> None:
        """The record of a market changed."""

    def on_market_begin(self, market: MarketView, context: Context) -> None:
        """A market of the run begins."""

    def on_market_end(self, market: MarketView, context: Context) -> None:
        """A market of the run no longer trades."""

    def on_sample(self, sample: SampleView, context: Context) -> None:
        """A sample of a metric was received."""

    def on_reference(self, price: ReferenceView, context: Context) -> None:
        """A reference price was received."""

    def on_reference_gap(self, gap: ReferenceGapView, context: Context) -> None:
        """A gap of a reference price begins or ends."""

    def on_data(self, row: DataView, context: Context) -> None:
        """A row of a series of one's own was received."""

    def on_settle(self, settlement: SettlementView, context: Context) -> None:
        """A market paid out."""

    def on_timer(self, timer: TimerView, context: Context) -> None:
        """A timer is due."""

    def on_end(self, context: Context) -> None:
        """The run ends."""


HOOKS: Mapping[str, tuple[str, type[Any] | None]] = {
    "onStart": ("on_start", None),
    "onBook": ("on_book", _Top),
    "onQuote": ("on_quote", _Top),
    "onTrade": ("on_trade", TradeView),
    "onGap": ("on_gap", GapView),
    "onFill": ("on_fill", FillView),
    "onOrder": ("on_order", OrderView),
    "onMarket": ("on_market", MarketView),
    "onMarketBegin": ("on_market_begin", MarketView),
    "onMarketEnd": ("on_market_end", MarketView),
    "onSample": ("on_sample", SampleView),
    "onReference": ("on_reference", ReferenceView),
    "onReferenceGap": ("on_reference_gap", ReferenceGapView),
    "onData": ("on_data", DataView),
    "onSettle": ("on_settle", SettlementView),
    "onTimer": ("on_timer", TimerView),
    "onEnd": ("on_end", None),
}
"""The hooks of the engine, their methods, and what they show."""


def hooks_of(strategy: Strategy) -> list[str]:
    """The hooks that a strategy overrides: the engine calls no other."""
    own = type(strategy)
    return [hook for hook, (name, _) in HOOKS.items() if getattr(own, name) is not getattr(Strategy, name)]


def to_book(shown: Any, call: Call) -> BookView:
    """A book that the engine shows."""
    return BookView(msgspec.convert(shown, _Top), call)


def _market(shown: Any) -> MarketView:
    return msgspec.convert(shown, MarketView)


def _many(shown: Any, kind: type[Shown]) -> list[Shown]:
    return [msgspec.convert(one, kind) for one in shown]


def _amount(value: Amount | None) -> int | float | str | None:
    return str(value) if isinstance(value, Decimal) else value


StrategyLike = Strategy | type[Strategy] | Callable[[Params], Strategy]
"""A strategy, run once; or a class or function that makes one for every run."""

__all__: Sequence[str] = [
    "BookView",
    "Context",
    "DataView",
    "ExposureView",
    "FillView",
    "GapView",
    "LevelView",
    "MarketView",
    "OrderView",
    "PositionView",
    "ReferenceGapView",
    "ReferenceView",
    "SampleView",
    "SettlementView",
    "Strategy",
    "StrategyLike",
    "TickView",
    "TimerView",
    "TradeView",
]
