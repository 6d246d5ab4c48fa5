"""The objects of the interface. Generated from the OpenAPI document: `npm run models:python`."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Members that an answer leaves out are None; members that this version does not know are skipped."""


class Alert(Model, frozen=True, kw_only=True):
    alert_id: str
    created_time: datetime
    state: str
    """Paused while the key or its plan does not allow what the rule watches."""
    rule: AlertRule
    fired: int
    """Events so far, tests included."""
    pending: int
    """Events that wait for delivery."""
    delivered: int
    dropped: int
    """Events that were given up, and were not delivered."""
    last_error: str | None = None
    """Why the newest attempt failed; null where it did not."""


class AlertCreated(Model, frozen=True, kw_only=True):
    alert_id: str
    created_time: datetime
    state: str
    """Paused while the key or its plan does not allow what the rule watches."""
    rule: AlertRule
    fired: int
    """Events so far, tests included."""
    pending: int
    """Events that wait for delivery."""
    delivered: int
    dropped: int
    """Events that were given up, and were not delivered."""
    last_error: str | None = None
    """Why the newest attempt failed; null where it did not."""
    secret: str
    """Signs deliveries. It is shown this once and cannot be read again."""


class AlertDelivery(Model, frozen=True, kw_only=True):
    id: str
    number: int
    state: str
    attempts: int
    next_time: datetime | None = None
    """When the next attempt is due."""
    ended_time: datetime | None = None
    """When it was delivered or dropped."""
    status: int | None = None
    """The status of the newest answer; null without one."""
    error: str | None = None
    event: AlertEvent

AlertDeliveryState = Literal[
    "pending",
    "delivered",
    "dropped",
]


class AlertEdge(Model, frozen=True, kw_only=True):
    contract_id: str
    yes_row: str
    """The book in which Yes is bought, by the id of its row."""
    no_row: str
    """The book in which No is bought, by the id of its row."""


class AlertEvent(Model, frozen=True, kw_only=True):
    """Something that a rule was waiting for."""

    id: str
    """The same in every attempt, and of no other event."""
    kind: str
    alert_id: str
    number: int
    """Counts the events of the rule from 1, without a hole."""
    name: str | None = None
    time: datetime
    """When what caused it was received."""
    venue: str | None = None
    market_id: str | None = None
    key: str | None = None
    """The instrument."""
    row_id: str | None = None
    """The book that caused it."""
    value: Decimal | None = None
    """The value that passed the threshold."""
    above: Decimal | None = None
    below: Decimal | None = None
    edge: AlertEdge | None = None
    gap: AlertGap | None = None
    resolution: AlertResolution | None = None

AlertEventKind = Literal[
    "price",
    "spread",
    "depth",
    "edge",
    "gap",
    "resolved",
    "test",
]


class AlertGap(Model, frozen=True, kw_only=True):
    moment: str
    gap: Gap

AlertGapEvent = Literal[
    "begun",
    "ended",
]

AlertGapMoment = Literal[
    "begun",
    "ended",
    "both",
]

AlertKind = Literal[
    "price",
    "spread",
    "depth",
    "edge",
    "gap",
    "resolved",
]

AlertPrice = Literal[
    "bid",
    "ask",
    "mid",
]


class AlertResolution(Model, frozen=True, kw_only=True):
    status: str
    winning_outcome: str | None = None


class AlertRule(Model, frozen=True, kw_only=True):
    """What to watch, and where to send what happens."""

    kind: str
    name: str | None = None
    """A name for people; repeated in every event."""
    venue: str | None = None
    market_id: str | None = None
    """One market, by the venue's own identifier."""
    asset: str | None = None
    """Or every market of this asset."""
    window: str | None = None
    """With `asset`: rounds of this length."""
    series: str | None = None
    """Or every market of this series."""
    outcome: str | None = None
    """Only this outcome, by its label, where every outcome has a book of its own."""
    contract_id: str | None = None
    """Of kind edge: the contract."""
    of: str | None = None
    """Of kind price: the best bid, the best ask, or their middle (the default)."""
    side: str | None = None
    """Of kind depth: which side."""
    within: Decimal | None = None
    """Of kind depth: only levels at most this far from the best price; all without it."""
    above: Decimal | None = None
    """The rule fires when the value rises above this."""
    below: Decimal | None = None
    """The rule fires when the value falls below this."""
    rearm: Decimal | None = None
    """How far the value must come back from the threshold before the rule can fire again; 0 by default."""
    on: str | None = None
    """Of kind gap: which moments; both by default."""
    webhook: str
    """Where events are sent: an https address."""

AlertState = Literal[
    "active",
    "paused",
]

AnomalyCode = Literal[
    "illegal_transition",
    "reused_id",
]


class Audit(Model, frozen=True, kw_only=True):
    id: str
    kind: str
    metric: str | None = None
    state: str
    detail: str | None = None
    differences: list[str]
    journal_record: int
    received_time: datetime
    normalizer_version: int
    stored: Any
    """Any JSON value."""
    derived: Any
    """Any JSON value."""
    raw: RawMessage | None = None

AuditState = Literal[
    "equal",
    "different",
    "raw_expired",
    "raw_missing",
    "raw_damaged",
]


class Book(Model, frozen=True, kw_only=True):
    """One observation of a book."""

    id: str
    venue: str
    market_id: str
    condition_id: str | None = None
    event_id: str | None = None
    series_ticker: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    source_time: datetime | None = None
    """The venue's clock; null where it gave no time."""
    received_time: datetime
    """The recorder's clock; never decreases within an instrument."""
    sequence: int
    """The number of the observation within its instrument, from 1."""
    bucket_start: datetime | None = None
    bucket_end: datetime | None = None
    age_ms: float | None = None
    """Age of the book at the end of its bucket."""
    observations: int | None = None
    """Observations in the bucket."""
    changes: int | None = None
    """Level changes in the bucket."""
    best_bid: Decimal | None = None
    best_ask: Decimal | None = None
    mid: Decimal | None = None
    spread: Decimal | None = None
    bid_levels: int
    """Levels of the whole book, whatever part of it is shown."""
    ask_levels: int
    flags: list[str]
    native: BookNative
    bids: Ladder | None = None
    asks: Ladder | None = None
    yes: Ladder | None = None
    """Venue B: the ladder of yes bids as the venue has it."""
    no: Ladder | None = None
    """Venue B: the ladder of no bids; asks are 1 - its prices."""


class BookChange(Model, frozen=True, kw_only=True):
    """What one observation changed."""

    id: str
    venue: str
    market_id: str
    condition_id: str | None = None
    event_id: str | None = None
    series_ticker: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    source_time: datetime | None = None
    """The venue's clock; null where it gave no time."""
    received_time: datetime
    """The recorder's clock; never decreases within an instrument."""
    sequence: int
    """The number of the observation within its instrument, from 1."""
    flags: list[str]
    native: BookNative
    changes: ChangedLevels


class BookNative(Model, frozen=True, kw_only=True):
    sid: int | None = None
    """The venue's number of the subscription."""
    connection: int | None = None
    """Our number of the connection; absent for imported rows."""
    seq: int | None = None
    """The venue's number of the message."""

BookSide = Literal[
    "bid",
    "ask",
]


class CalendarDay(Model, frozen=True, kw_only=True):
    venue: str
    day: str
    condition: str
    markets: int
    instruments: int
    observations: int
    observed_ms: Decimal
    """Summed over all ladder streams of the venue."""
    gap_ms: Decimal
    reasons: list[CalendarDayReason]


class CalendarDayReason(Model, frozen=True, kw_only=True):
    reason: str
    gaps: int
    gap_ms: Decimal


class Capture(Model, frozen=True, kw_only=True):
    markets: int
    books: int
    books_open: int
    sockets: int
    messages: int
    messages_per_second: float
    observations: int
    trades: int
    samples: int
    gaps: int
    quarantined: int
    quota: CaptureQuota | None = None


class CaptureQuota(Model, frozen=True, kw_only=True):
    limit: int
    window_ms: int
    used: int
    refused: int

CaptureTier = Literal[
    "full",
    "polled",
    "catalogue",
    "none",
]


class Category(Model, frozen=True, kw_only=True):
    venue: str
    category: str
    market_count: int | None = None
    """Null for a plan that does not reach back to all."""
    open_market_count: int
    event_count: int | None = None
    open_event_count: int
    """Events with an open market."""


class ChangedLevels(Model, frozen=True, kw_only=True):
    """Changed levels; the whole book where the row is flagged `restart`."""

    side: list[str]
    price: list[Decimal]
    size: list[Decimal]
    """The new size; 0 where the level is gone."""

Clock = Literal[
    "received",
    "source",
]


class Consolidated(Model, frozen=True, kw_only=True):
    contract_id: str
    at: datetime
    members: list[ConsolidatedMember]
    bids: ConsolidatedSide
    asks: ConsolidatedSide
    pair: ConsolidatedPair | None = None
    """The cheapest Yes and No of two members; null where there are no two."""
    order: ConsolidatedOrder | None = None
    """The best way to trade `size`; null without a size."""
    disclaimer: str


class ConsolidatedMember(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    outcome: str | None = None
    is_included: bool
    best_bid: Decimal | None = None
    """As the venue shows it."""
    best_ask: Decimal | None = None
    net_bid: Decimal | None = None
    """After the fee of a taker."""
    net_ask: Decimal | None = None
    net_no_ask: Decimal | None = None
    """What No costs after the fee; who buys it takes the best bid of Yes."""
    fee: ContractFee | None = None
    row_id: str | None = None
    """The recorded row that the values come from."""
    received_time: datetime | None = None
    age_ms: Decimal | None = None
    """How old the book is at the time."""
    reason: ContractReason | None = None
    """Why there is no book."""


class ConsolidatedOrder(Model, frozen=True, kw_only=True):
    side: str
    size: Decimal
    filled_size: Decimal
    is_complete: bool
    net_amount: Decimal
    """Paid or received over all venues, one collateral for one."""
    fee: Decimal
    average_price: Decimal | None = None
    """`net_amount` / `filled_size`, rounded against the trader."""
    parts: list[ConsolidatedPart]
    """How the order is split by venue."""


class ConsolidatedPair(Model, frozen=True, kw_only=True):
    yes: int
    """The place in `members` of the one on which Yes is bought."""
    no: int
    """The place of the one on which No is bought."""
    edge: Decimal
    """What is left of 1 after both prices and fees, per share; may be negative."""


class ConsolidatedPart(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    size: Decimal
    """What is ordered at the venue, in its size unit."""
    delivered: Decimal
    """What is held or sold after a fee in shares."""
    limit_price: Decimal
    """The worst price that is used."""
    levels: int
    amount: Decimal
    """The sum of price × size."""
    fee: Decimal
    """The value of the fee, with the rounding of the venue."""
    net_amount: Decimal
    """What is paid or received in cash."""


class ConsolidatedSide(Model, frozen=True, kw_only=True):
    """Levels of all venues in one order, one list per value."""

    net_price: list[Decimal]
    """What a share costs (asks) or brings (bids) after the fee, best first."""
    size: list[Decimal]
    """What is delivered of the level after the fee."""
    venue: list[str]
    member: list[int]
    """The place of its member in `members`."""
    price: list[Decimal]
    """As the venue shows it."""
    native_size: list[Decimal]


class Contract(Model, frozen=True, kw_only=True):
    """What is being bet on, with the markets that bet on it."""

    id: str
    """Such as btc-15m-up-down-20261117T174500Z: what is bet on, and when it closes."""
    kind: str
    title: str | None = None
    """The operator's title, else that of a member."""
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the window as the venues name it, such as 15m."""
    opens: datetime | None = None
    """When the window begins; of `above` and `range` it does not matter."""
    closes: datetime | None = None
    """When the window ends."""
    strike: Decimal | None = None
    """Of `above`: the price."""
    floor: Decimal | None = None
    """Of `range`: the lower price, which belongs to it."""
    cap: Decimal | None = None
    """Of `range`: the upper price, which does not."""
    status: str
    rules_version: int
    """The version of the rules that matched the members."""
    comparison: str
    """`identical` only where every term of all members is known and equal."""
    differs_in: list[str]
    """The terms that differ or are not known; `subject` where an operator joined different bets."""
    members: list[ContractMember]
    withheld: list[str]
    """Venues with members that the plan does not include."""


class ContractBook(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    outcome: str | None = None
    """The outcome that is Yes of the contract."""
    bids: Ladder | None = None
    asks: Ladder | None = None
    source_time: datetime | None = None
    is_complement: bool
    """True where the recorded book is that of the other outcome."""
    flags: list[str]
    row_id: str | None = None
    """The recorded row that the values come from."""
    received_time: datetime | None = None
    age_ms: Decimal | None = None
    """How old the book is at the time."""
    reason: ContractReason | None = None
    """Why there is no book."""


class ContractBooks(Model, frozen=True, kw_only=True):
    contract_id: str
    at: datetime
    members: list[ContractBook]

ContractComparison = Literal[
    "single",
    "identical",
    "equivalent_except",
]


class ContractDifference(Model, frozen=True, kw_only=True):
    term: str
    values: list[ContractTermValue]
    meaning: str
    """What it means for a holder."""

ContractDifferenceName = Literal[
    "subject",
    "settlement_source",
    "settlement_price",
    "reference_price",
    "tie",
    "rounding",
    "payout",
    "trading_end",
]


class ContractEvidence(Model, frozen=True, kw_only=True):
    kind: str
    """`record`: a member of the market record; `rule`: a documented rule of the venue."""
    source: str
    """The path of the member, or where the rule is documented."""
    said: str
    """What it says."""
    since: str | None = None
    """The UTC day from which the rule applies."""

ContractEvidenceKind = Literal[
    "record",
    "rule",
]


class ContractFee(Model, frozen=True, kw_only=True):
    formula: str
    """How a taker is charged; p is the price, C the size."""
    basis: str
    """`market`: the market's own record; `table`: the dated table of published fees."""
    source: str

ContractKind = Literal[
    "up_down",
    "above",
    "range",
    "event",
]

ContractMatch = Literal[
    "rules",
    "operator",
]


class ContractMember(Model, frozen=True, kw_only=True):
    """A market that is a member of a contract."""

    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    address: str
    """Where the market is."""
    title: str | None = None
    status: str | None = None
    winning_outcome: str | None = None
    yes: ContractSide
    """The outcome that is Yes of the contract."""
    no: ContractSide | None = None
    """The other outcome."""
    matched_by: str
    """The rules, or the operator's file."""


class ContractMemberTerms(Model, frozen=True, kw_only=True):
    """A market that is a member of a contract."""

    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    address: str
    """Where the market is."""
    title: str | None = None
    status: str | None = None
    winning_outcome: str | None = None
    yes: ContractSide
    """The outcome that is Yes of the contract."""
    no: ContractSide | None = None
    """The other outcome."""
    matched_by: str
    """The rules, or the operator's file."""
    terms: list[ContractTerm]
    evidence: list[ContractSubjectEvidence]
    """Why the market is about this contract."""


class ContractQuote(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    best_bid: Decimal | None = None
    best_bid_size: Decimal | None = None
    best_ask: Decimal | None = None
    best_ask_size: Decimal | None = None
    row_id: str | None = None
    received_time: datetime | None = None
    age_ms: Decimal | None = None
    """Age of the book at the end of the bucket."""
    reason: str | None = None
    """Why there is no book: the reason of a gap, `no_observation` where nothing was received in the bucket, `market_not_open`, `market_closed`, `before_capture` or `plan_window`."""


class ContractReason(Model, frozen=True, kw_only=True):
    """Why a member has no book at a time."""

    code: str
    """The reason of a gap, or the code of a notice."""
    message: str
    gap: Gap | None = None
    """The gap that the time lies in."""


class ContractRefusal(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    why: str


class ContractSide(Model, frozen=True, kw_only=True):
    """An outcome of a member, by the venue's own label and token."""

    outcome: str
    index: int
    token_id: str | None = None


class ContractSnapshot(Model, frozen=True, kw_only=True):
    """The best prices of every member in one bucket of time."""

    bucket_start: datetime
    bucket_end: datetime
    members: list[ContractQuote]

ContractStatus = Literal[
    "scheduled",
    "open",
    "closed",
    "resolved",
]


class ContractSubjectEvidence(Model, frozen=True, kw_only=True):
    of: str
    kind: str
    """`record`: a member of the market record; `rule`: a documented rule of the venue."""
    source: str
    """The path of the member, or where the rule is documented."""
    said: str
    """What it says."""
    since: str | None = None
    """The UTC day from which the rule applies."""


class ContractTerm(Model, frozen=True, kw_only=True):
    term: str
    value: str | None = None
    """Null where it cannot be derived."""
    evidence: ContractEvidence | None = None

ContractTermName = Literal[
    "settlement_source",
    "settlement_price",
    "reference_price",
    "tie",
    "rounding",
    "payout",
    "trading_end",
]


class ContractTermValue(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    value: str | None = None


class ContractWithTerms(Model, frozen=True, kw_only=True):
    id: str
    """Such as btc-15m-up-down-20261117T174500Z: what is bet on, and when it closes."""
    kind: str
    title: str | None = None
    """The operator's title, else that of a member."""
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the window as the venues name it, such as 15m."""
    opens: datetime | None = None
    """When the window begins; of `above` and `range` it does not matter."""
    closes: datetime | None = None
    """When the window ends."""
    strike: Decimal | None = None
    """Of `above`: the price."""
    floor: Decimal | None = None
    """Of `range`: the lower price, which belongs to it."""
    cap: Decimal | None = None
    """Of `range`: the upper price, which does not."""
    status: str
    rules_version: int
    """The version of the rules that matched the members."""
    comparison: str
    """`identical` only where every term of all members is known and equal."""
    differs_in: list[str]
    """The terms that differ or are not known; `subject` where an operator joined different bets."""
    members: list[ContractMemberTerms]
    withheld: list[str]
    """Venues with members that the plan does not include."""
    differences: list[ContractDifference]
    refused: list[ContractRefusal]
    """Markets that the operator's file leaves out."""


class Coverage(Model, frozen=True, kw_only=True):
    kind: str
    venue: str
    dataset: str | None = None
    assets: list[str] | None = None
    windows: list[str] | None = None
    venue_floor: datetime | None = None
    """The documented start of the venue's data; this installation may begin later."""
    year_inferred: bool | None = None
    """The year of the floor is our reading."""
    backfilled: bool | None = None
    """This installation holds rows from before its recorder first started."""
    capture_started_time: datetime | None = None
    first_time: datetime | None = None
    """Received time of the first row that this installation holds."""
    first_day: str | None = None
    backfilled_first_time: datetime | None = None
    """The venue's time of the first row from its history, which is served apart; null where there is none."""
    backfilled_last_time: datetime | None = None
    """The venue's time of the last such row."""
    market_id: str | None = None
    key: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    last_time: datetime | None = None
    first_complete_day: str | None = None
    observations: int | None = None
    mean_spacing_ms: Decimal | None = None
    days: list[DayCoverage] | None = None
    gaps: list[Gap] | None = None
    backfilled_trades: PastTradesCoverage | None = None
    """The trades of the venue's history, which are served apart; null where they were not fetched."""

Dataset = Literal[
    "catalogue",
    "books",
    "trades",
    "metrics",
]


class DatasetCoverage(Model, frozen=True, kw_only=True):
    kind: str
    venue: str
    dataset: str
    assets: list[str] | None = None
    windows: list[str] | None = None
    venue_floor: datetime | None = None
    """The documented start of the venue's data; this installation may begin later."""
    year_inferred: bool
    """The year of the floor is our reading."""
    backfilled: bool
    """This installation holds rows from before its recorder first started."""
    capture_started_time: datetime | None = None
    first_time: datetime | None = None
    """Received time of the first row that this installation holds."""
    first_day: str | None = None
    backfilled_first_time: datetime | None = None
    """The venue's time of the first row from its history, which is served apart; null where there is none."""
    backfilled_last_time: datetime | None = None
    """The venue's time of the last such row."""

DayCondition = Literal[
    "available",
    "degraded",
    "missing",
]


class DayCoverage(Model, frozen=True, kw_only=True):
    day: str
    condition: str
    observations: int
    observed_ms: Decimal
    gap_ms: Decimal
    mean_spacing_ms: Decimal | None = None
    """Mean time between observations; null below two of them."""


class DayProof(Model, frozen=True, kw_only=True):
    day: str
    roots: list[SignedRoot]
    """The root of the day and its amendments, oldest first."""
    market: MarketProof | None = None
    """With `market_id`: its leaves in the newest of the roots."""

DownloadFormat = Literal[
    "ndjson",
    "csv",
    "arrow",
    "parquet",
    "tape",
    "hftbacktest",
    "nautilus",
    "tardis",
]


class Event(Model, frozen=True, kw_only=True):
    """What a venue groups markets by, such as an election."""

    venue: str
    event_id: str
    """The venue's own id of the event."""
    address: str
    """Where the event is with its markets."""
    title: str | None = None
    slug: str | None = None
    category: str | None = None
    """The venue's own heading, such as Politics."""
    tags: list[str]
    """The venue's own labels."""
    series: str | None = None
    asset: str | None = None
    """The underlying of all its markets; null where they differ."""
    is_exclusive: bool | None = None
    """True where at most one market of the event can end with Yes."""
    is_neg_risk: bool | None = None
    """True where No of one market can be converted into Yes of all others."""
    market_count: int
    """How many markets of the event are recorded."""
    open_market_count: int
    first_open_time: datetime | None = None
    """When its first market opened."""
    last_close_time: datetime | None = None
    """When its last market closes; null where a market has no close time."""


class EventMarket(Model, frozen=True, kw_only=True):
    """A market of an event, with the prices of its first outcome."""

    market_id: str
    address: str
    """Where the market is."""
    outcome: str | None = None
    """Its name in the event: a candidate, a range, a team."""
    title: str | None = None
    asset: str | None = None
    status: str | None = None
    open_time: datetime | None = None
    close_time: datetime | None = None
    winning_outcome: str | None = None
    """The label of the outcome that won."""
    volume: Decimal | None = None
    token_id: str | None = None
    """The token of the first outcome, whose prices follow."""
    best_bid: Decimal | None = None
    """Of the first outcome, in the newest recorded book."""
    best_ask: Decimal | None = None
    spread: Decimal | None = None
    last_price: Decimal | None = None
    """The last execution of the first outcome."""
    last_price_time: datetime | None = None
    quote_time: datetime | None = None
    """When the newest book was received."""
    coverage: QuoteCoverage
    has_open_gap: bool
    """True for an open market of which nothing was observed since its newest book."""

EventSort = Literal[
    "open_time",
    "close_time",
]

EventStatus = Literal[
    "all",
    "open",
]


class EventSums(Model, frozen=True, kw_only=True):
    """The best prices of the first outcomes, added up over the open books without a gap. A sum that leaves a market out says nothing about the whole event."""

    best_bid: Decimal | None = None
    """The sum of the best bids; null where there is none."""
    best_ask: Decimal | None = None
    """The sum of the best asks; null where there is none."""
    bid_count: int
    """How many markets the sum of bids counts."""
    ask_count: int
    left_out: list[EventSumsLeftOut]


class EventSumsLeftOut(Model, frozen=True, kw_only=True):
    market_id: str
    reason: str

EventSumsReason = Literal[
    "not_open",
    "no_book",
    "open_gap",
    "no_bid",
    "no_ask",
]


class EventWithMarkets(Model, frozen=True, kw_only=True):
    """What a venue groups markets by, such as an election."""

    venue: str
    event_id: str
    """The venue's own id of the event."""
    address: str
    """Where the event is with its markets."""
    title: str | None = None
    slug: str | None = None
    category: str | None = None
    """The venue's own heading, such as Politics."""
    tags: list[str]
    """The venue's own labels."""
    series: str | None = None
    asset: str | None = None
    """The underlying of all its markets; null where they differ."""
    is_exclusive: bool | None = None
    """True where at most one market of the event can end with Yes."""
    is_neg_risk: bool | None = None
    """True where No of one market can be converted into Yes of all others."""
    market_count: int
    """How many markets of the event are recorded."""
    open_market_count: int
    first_open_time: datetime | None = None
    """When its first market opened."""
    last_close_time: datetime | None = None
    """When its last market closes; null where a market has no close time."""
    conversion: str | None = None
    """The rule by which positions of its markets convert."""
    sums: EventSums | None = None
    markets: list[EventMarket]


class Execution(Model, frozen=True, kw_only=True):
    """What an order would have met in the recorded book."""

    venue: str
    market_id: str
    outcome: str | None = None
    token_id: str | None = None
    side: str
    at: datetime
    latency_ms: int
    arrival_time: datetime
    """`at` and `latency_ms` later: the order meets this book."""
    size: Decimal
    filled_size: Decimal
    is_complete: bool
    vwap: Decimal | None = None
    """Exact; a repeating decimal is rounded to 18 digits."""
    vwap_is_exact: bool | None = None
    cost: Decimal
    """Exact: the sum of price × size of the levels."""
    best_price: Decimal | None = None
    worst_price: Decimal | None = None
    price_range: Decimal | None = None
    levels: Ladder
    fee: ExecutionFee
    evidence: ExecutionEvidence
    disclaimer: str


class ExecutionEvidence(Model, frozen=True, kw_only=True):
    row_id: str
    sequence: int
    is_complement: bool
    received_time: datetime
    source_time: datetime | None = None
    book_age_ms: Decimal
    flags: list[str]
    next_gap: NextGap | None = None


class ExecutionFee(Model, frozen=True, kw_only=True):
    amount: Decimal | None = None
    """By the schedule of the record or the published one; rounded where `formula` says so."""
    rate: Decimal | None = None
    formula: str | None = None
    source: str | None = None
    """Where the schedule comes from."""
    reason: str | None = None
    """Why there is no amount."""


class Family(Model, frozen=True, kw_only=True):
    asset: str | None = None
    series: str | None = None
    window: str | None = None

FeeBasis = Literal[
    "market",
    "table",
    "assumed",
]


class FileColumn(Model, frozen=True, kw_only=True):
    name: str
    type: str
    is_nullable: bool

FileDataset = Literal[
    "books",
    "trades",
    "samples",
    "history",
    "reference",
]

FileFormat = Literal[
    "ndjson",
    "csv",
    "arrow",
    "parquet",
    "tape",
]

FileMetric = Literal[
    "chance",
    "price",
    "last_trade",
    "open",
    "high",
    "low",
    "close",
    "bid",
    "ask",
    "volume",
    "open_interest",
]


class FileReceipt(Model, frozen=True, kw_only=True):
    rows: int
    markets: int
    gaps: int
    instruments: list[InstrumentReceipt]
    """Those that have rows in the file, in its order."""
    first_received_time: datetime | None = None
    last_received_time: datetime | None = None
    range: TimeRange
    is_final: bool
    """No row can be added to the range any more."""


class FileSchema(Model, frozen=True, kw_only=True):
    columns: list[FileColumn]
    csv: list[str]


class Gap(Model, frozen=True, kw_only=True):
    """A half-open span in which something was not observed."""

    venue: str
    scope: str
    key: str | None = None
    """Instrument key or market id; null for a whole venue."""
    reason: str
    start_time: datetime
    """Received time of the last good observation."""
    end_time: datetime | None = None
    """Of the first good one; null while the gap is open."""
    source_start_time: datetime | None = None
    source_end_time: datetime | None = None
    after_sequence: int
    """Sequence of the last good observation; 0: none."""
    detail: str | None = None

GapReason = Literal[
    "before_capture",
    "market_not_open",
    "market_closed",
    "venue_silent",
    "disconnected",
    "sequence_break",
    "book_reset",
    "recorder_down",
    "late_discovery",
    "not_selected",
    "quota",
    "rejected",
    "disk_full",
    "corrupt",
    "retention",
    "unavailable",
    "reorganized",
]

GapScope = Literal[
    "instrument",
    "market",
    "venue",
]


class Health(Model, frozen=True, kw_only=True):
    status: str

HistoryMetric = Literal[
    "open",
    "high",
    "low",
    "close",
    "bid",
    "ask",
    "volume",
    "open_interest",
    "price",
]


class Incident(Model, frozen=True, kw_only=True):
    venue: str
    state: str
    reason: str
    summary: str
    start_time: str
    end_time: str | None = None
    """Null while books are missing."""
    books: int
    """How many books it interrupted."""
    detail: str | None = None

IncidentState = Literal[
    "open",
    "resolved",
]


class InstrumentCoverage(Model, frozen=True, kw_only=True):
    kind: str
    venue: str
    market_id: str
    key: str
    outcome: str | None = None
    token_id: str | None = None
    first_time: datetime | None = None
    last_time: datetime | None = None
    first_day: str | None = None
    first_complete_day: str | None = None
    observations: int
    mean_spacing_ms: Decimal | None = None
    days: list[DayCoverage]
    gaps: list[Gap]
    backfilled_trades: PastTradesCoverage | None = None
    """The trades of the venue's history, which are served apart; null where they were not fetched."""


class InstrumentReceipt(Model, frozen=True, kw_only=True):
    key: str
    """The part of its row ids between venue and sequence."""
    first: int
    """The lowest sequence, whatever the order of the rows."""
    last: int
    """The highest sequence."""
    rows: int
    head: str | None = None
    """SHA-256 of the newest sealed chunk that holds one of the rows; chunks are chained, so it proves the contents of all rows up to the end of that chunk. Null while none of the rows is sealed."""

Interval = Literal[
    "1s",
    "5s",
    "10s",
    "30s",
    "1m",
    "5m",
    "15m",
    "1h",
    "1d",
]


class Ladder(Model, frozen=True, kw_only=True):
    """Prices and sizes of one side, best first."""

    price: list[Decimal]
    size: list[Decimal]


class LeadLag(Model, frozen=True, kw_only=True):
    contract_id: str
    start_time: datetime
    end_time: datetime
    max_lag_ms: int
    step_ms: int
    members: list[LeadLagMember]
    pairs: list[LeadLagPair]

LeadLagClock = Literal[
    "received",
    "source",
]


class LeadLagCurve(Model, frozen=True, kw_only=True):
    lag_ms: list[Decimal]
    correlation: list[Decimal]


class LeadLagEvidence(Model, frozen=True, kw_only=True):
    first: LeadLagMove
    second: LeadLagMove


class LeadLagMember(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    outcome: str | None = None
    """The outcome that is Yes of the contract."""
    rows: int
    """Rows of its book in the range."""
    moves: int
    """Changes of the middle price that were observed, none over a gap."""


class LeadLagMove(Model, frozen=True, kw_only=True):
    row_id: str
    """The row that shows the move."""
    time: datetime
    """Its time by the clock of the pair."""
    change: Decimal
    """The change of the middle price."""


class LeadLagPair(Model, frozen=True, kw_only=True):
    first: int
    """The place of a member in `members`."""
    second: int
    """The place of the other."""
    clock: str
    """`received`: that of the recorder. `source`: those of the venues, which nobody compares with each other."""
    verdict: str
    """Which of the two moves first."""
    reason: str | None = None
    """Why it is not decided."""
    delay_ms: Decimal | None = None
    """How much later the second moves; negative where the first is the later one. Null without a peak."""
    low_ms: Decimal | None = None
    """The delay is between this"""
    high_ms: Decimal | None = None
    """and this, with 95 % of the draws."""
    uncertainty_ms: Decimal | None = None
    """The greater distance of the delay from the two."""
    correlation: Decimal | None = None
    """At the delay."""
    first_moves: int
    """Moves of the first that have a time by this clock."""
    second_moves: int
    paired_moves: int
    """Pairs of moves in one direction that meet at the delay."""
    evidence: list[LeadLagEvidence]
    """The largest of these pairs."""
    curve: LeadLagCurve | None = None
    """With `include_curve`: the correlation at every lag."""

LeadLagReason = Literal[
    "too_few_moves",
    "no_peak",
    "edge_of_grid",
    "within_uncertainty",
]

LeadLagVerdict = Literal[
    "first",
    "second",
    "not_decided",
]


class LeafRun(Model, frozen=True, kw_only=True):
    at: int
    """The number of the first leaf, from 0."""
    leaves: list[str]
    """The texts of consecutive leaves."""


class Limits(Model, frozen=True, kw_only=True):
    plan: str
    rates: list[RateLimit]
    page: PageLimits
    intervals: list[str]
    bulk_days: int | None = None
    history_days: int | None = None
    stream: StreamLimits
    alerts: int
    address_bytes: int
    header_bytes: int


class ListedMarket(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier and the path segment of the market."""
    title: str | None = None
    status: str | None = None
    status_native: str | None = None
    """The venue's own word."""
    open_time: datetime | None = None
    close_time: datetime | None = None
    resolved_time: datetime | None = None
    created_time: datetime | None = None
    resolution: Resolution
    winning_outcome: str | None = None
    """The label of the outcome that won."""
    volume: Decimal | None = None
    liquidity: Decimal | None = None
    outcomes: list[Outcome]
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the round, such as 15m."""
    strike: Decimal | None = None
    """The price of the underlying that decides the market: a fixed strike, or the price at the start of the round."""
    event: MarketEvent | None = None
    category: str | None = None
    """The venue's own heading, such as Politics."""
    tags: list[str]
    """The venue's own labels."""
    capture: MarketCapture | None = None
    units: Units
    native: dict[str, Any] | None = None
    revision_time: datetime
    """When the record was received in this version."""
    last_anomaly: MarketAnomaly | None = None
    topic_id: str | None = None
    condition: VenueACondition | None = None
    participant_count: int | None = None
    chain: str | None = None
    """Present when available."""
    exchange_contract: str | None = None
    """Present when available."""
    exchange: VenueAExchange | None = None
    last_price: Decimal | None = None
    """The last execution of the first outcome."""
    last_price_time: datetime | None = None
    best_bid: Decimal | None = None
    best_ask: Decimal | None = None
    spread: Decimal | None = None
    quote_time: datetime | None = None
    """When the newest book was received."""
    coverage: QuoteCoverage
    series_ticker: str | None = None
    event_ticker: str | None = None
    market_ticker: str | None = None
    settlement: VenueBSettlement | None = None
    event_id: str | None = None
    condition_id: str | None = None
    gamma_market_id: str | None = None
    slug: str | None = None


class Manifest(Model, frozen=True, kw_only=True):
    schema_version: str
    venue: str
    market_id: str | None = None
    family: Family | None = None
    dataset: str
    metric: str | None = None
    origin: str | None = None
    """Present for trades and prices of the venue's history, which are by source time."""
    feed: str | None = None
    """With the dataset reference: its feed; null for all feeds."""
    range: TimeRange
    known_at: datetime | None = None
    sort_order: list[str]
    is_estimate: bool
    rows: int
    markets: int
    """Markets with rows or gaps in the file; in an estimate with rows."""
    time_range: RowTimes | None = None
    schema: FileSchema
    files: list[ManifestFile]
    gap_count: int | None = None
    """Gaps in the file, repeated by market."""
    receipt: FileReceipt | None = None


class ManifestFile(Model, frozen=True, kw_only=True):
    format: str
    file_name: str
    content_type: str
    bytes: int
    """Before any content encoding."""
    sha256: str | None = None
    """Of the whole file; null in an estimate."""


class Market(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier and the path segment of the market."""
    title: str | None = None
    status: str | None = None
    status_native: str | None = None
    """The venue's own word."""
    open_time: datetime | None = None
    close_time: datetime | None = None
    resolved_time: datetime | None = None
    created_time: datetime | None = None
    resolution: Resolution
    winning_outcome: str | None = None
    """The label of the outcome that won."""
    volume: Decimal | None = None
    liquidity: Decimal | None = None
    outcomes: list[Outcome]
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the round, such as 15m."""
    strike: Decimal | None = None
    """The price of the underlying that decides the market: a fixed strike, or the price at the start of the round."""
    event: MarketEvent | None = None
    category: str | None = None
    """The venue's own heading, such as Politics."""
    tags: list[str]
    """The venue's own labels."""
    capture: MarketCapture | None = None
    units: Units
    native: dict[str, Any] | None = None
    revision_time: datetime
    """When the record was received in this version."""
    last_anomaly: MarketAnomaly | None = None
    topic_id: str | None = None
    condition: VenueACondition | None = None
    participant_count: int | None = None
    chain: str | None = None
    """Present when available."""
    exchange_contract: str | None = None
    """Present when available."""
    exchange: VenueAExchange | None = None
    series_ticker: str | None = None
    event_ticker: str | None = None
    market_ticker: str | None = None
    settlement: VenueBSettlement | None = None
    event_id: str | None = None
    condition_id: str | None = None
    gamma_market_id: str | None = None
    slug: str | None = None


class MarketAnomaly(Model, frozen=True, kw_only=True):
    """The newest version that contradicted the one before it: an illegal change of status, or an id that the venue gave to another market."""

    code: str
    from_: str = msgspec.field(name="from")
    to: str
    received_time: datetime


class MarketCapture(Model, frozen=True, kw_only=True):
    """How deep the market is recorded, and why; its revisions say since when."""

    tier: str
    why: str


class MarketEvent(Model, frozen=True, kw_only=True):
    """The event that the market belongs to, with what its markets share."""

    id: str
    """The venue's own id of the event."""
    title: str | None = None
    slug: str | None = None
    outcome: str | None = None
    """The name of this market among those of the event: a candidate, a range, a team."""
    is_exclusive: bool | None = None
    """True where at most one market of the event can end with Yes."""
    is_neg_risk: bool | None = None
    """True where No of one market can be converted into Yes of all others."""


class MarketProof(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    runs: list[LeafRun]
    hashes: list[str]
    """The parts of the tree between the runs, from left to right."""


class MarketRevision(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier and the path segment of the market."""
    title: str | None = None
    status: str | None = None
    status_native: str | None = None
    """The venue's own word."""
    open_time: datetime | None = None
    close_time: datetime | None = None
    resolved_time: datetime | None = None
    created_time: datetime | None = None
    resolution: Resolution
    winning_outcome: str | None = None
    """The label of the outcome that won."""
    volume: Decimal | None = None
    liquidity: Decimal | None = None
    outcomes: list[Outcome]
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the round, such as 15m."""
    strike: Decimal | None = None
    """The price of the underlying that decides the market: a fixed strike, or the price at the start of the round."""
    event: MarketEvent | None = None
    category: str | None = None
    """The venue's own heading, such as Politics."""
    tags: list[str]
    """The venue's own labels."""
    capture: MarketCapture | None = None
    units: Units
    native: dict[str, Any] | None = None
    revision_time: datetime
    """When the record was received in this version."""
    last_anomaly: MarketAnomaly | None = None
    topic_id: str | None = None
    condition: VenueACondition | None = None
    participant_count: int | None = None
    chain: str | None = None
    """Present when available."""
    exchange_contract: str | None = None
    """Present when available."""
    exchange: VenueAExchange | None = None
    revision: int
    anomaly: RevisionAnomaly | None = None
    series_ticker: str | None = None
    event_ticker: str | None = None
    market_ticker: str | None = None
    settlement: VenueBSettlement | None = None
    event_id: str | None = None
    condition_id: str | None = None
    gamma_market_id: str | None = None
    slug: str | None = None

MarketSort = Literal[
    "open_time",
    "close_time",
    "volume",
    "liquidity",
]

MarketStatus = Literal[
    "scheduled",
    "open",
    "paused",
    "closed",
    "determined",
    "disputed",
    "resolved",
    "voided",
]


class Meta(Model, frozen=True, kw_only=True):
    count: int
    """Rows of this answer."""
    range: ServedRange | None = None
    """What was really served."""
    gaps: list[Gap]
    """What was not observed between the row before this page and its last row."""
    market: Market | None = None
    """The market as known at the last row of the page."""
    schema_version: str
    notices: list[Notice]
    """What to know about the answer, such as why it is empty; always a list."""
    notice: Notice | list[Notice] | None = None
    """The same as it was before `notices`: absent, one notice, or a list of several."""
    receipt: Receipt | None = None


class NextGap(Model, frozen=True, kw_only=True):
    """A half-open span in which something was not observed."""

    venue: str
    scope: str
    key: str | None = None
    """Instrument key or market id; null for a whole venue."""
    reason: str
    start_time: datetime
    """Received time of the last good observation."""
    end_time: datetime | None = None
    """Of the first good one; null while the gap is open."""
    source_start_time: datetime | None = None
    source_end_time: datetime | None = None
    after_sequence: int
    """Sequence of the last good observation; 0: none."""
    detail: str | None = None
    distance_ms: Decimal


class Notice(Model, frozen=True, kw_only=True):
    """One thing to know about the answer, such as why it is empty."""

    code: str
    message: str

NumberFormat = Literal[
    "number",
    "string",
]

Order = Literal[
    "asc",
    "desc",
]

OrderSide = Literal[
    "buy",
    "sell",
]


class Outcome(Model, frozen=True, kw_only=True):
    label: str
    index: int
    token_id: str | None = None
    external_id: str | None = None

PageFormat = Literal[
    "json",
    "ndjson",
    "csv",
]


class PageLimits(Model, frozen=True, kw_only=True):
    default: int
    max: int


class Pagination(Model, frozen=True, kw_only=True):
    next_cursor: str | None = None
    has_more: bool

PanelFormat = Literal[
    "json",
    "ndjson",
    "csv",
    "arrow",
    "parquet",
]

PanelGap = Literal[
    "before_capture",
    "market_not_open",
    "market_closed",
    "venue_silent",
    "disconnected",
    "sequence_break",
    "book_reset",
    "recorder_down",
    "late_discovery",
    "not_selected",
    "quota",
    "rejected",
    "disk_full",
    "corrupt",
    "retention",
    "unavailable",
    "reorganized",
    "plan_window",
]

PanelReferenceGap = Literal[
    "before_capture",
    "market_not_open",
    "market_closed",
    "venue_silent",
    "disconnected",
    "sequence_break",
    "book_reset",
    "recorder_down",
    "late_discovery",
    "not_selected",
    "quota",
    "rejected",
    "disk_full",
    "corrupt",
    "retention",
    "unavailable",
    "reorganized",
    "plan_window",
    "no_feed",
]


class PanelRow(Model, frozen=True, kw_only=True):
    """The first outcome's best prices some seconds before a round closed."""

    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    event_id: str | None = None
    """The venue's own id of the event."""
    asset: str | None = None
    """The underlying, such as BTC."""
    window: str | None = None
    """The length of the round, such as 15m."""
    open_time: datetime | None = None
    close_time: datetime
    strike: Decimal | None = None
    """The price of the underlying that decides the market: a fixed strike, or the price at the start of the round."""
    offset_s: int
    """Seconds from the close: -60 is a minute before it."""
    at: datetime
    """The instant: close_time plus the offset."""
    outcome: str | None = None
    """The first outcome, whose book this is: Yes or Up."""
    best_bid: Decimal | None = None
    bid_size: Decimal | None = None
    """The size at the best bid."""
    best_ask: Decimal | None = None
    ask_size: Decimal | None = None
    """The size at the best ask."""
    mid: Decimal | None = None
    """Exact; null unless both sides have a price."""
    book_id: str | None = None
    """The row of the book: the last at or before the instant."""
    book_time: datetime | None = None
    """When that row was received."""
    age_ms: float | None = None
    """How long before the instant that was."""
    gap: str | None = None
    """Why there is no book at the instant; null where there is one."""
    reference_feed: str | None = None
    """The feed that the venue settles the round on, where it publishes it."""
    reference_price: Decimal | None = None
    """The last price of that feed at or before the instant."""
    reference_age_ms: float | None = None
    """How long before the instant it was received."""
    reference_gap: str | None = None
    """Why there is no price; `no_feed` where the venue publishes none that the round settles on."""
    resolution_state: str | None = None
    """How far the resolution has come, as known now."""
    winning_outcome: str | None = None
    """The label of the outcome that won."""
    settlement_value: Decimal | None = None
    """What one of the first outcome paid, once the resolution is final and the venue said it."""
    end_price: Decimal | None = None
    """The price of the underlying at the end of the round, as the venue said it."""


class ParityDay(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    day: str
    observations: int | None = None
    """Recorded books of the market on the day; null in lists of several markets."""
    sum_off: int
    """Messages that changed both books of the market, after which a best bid and the best ask of the other book did not add up to 1."""
    complement_crossed: int
    """The same, after which both outcomes together could be bought below 1 or sold above it."""
    locked: int
    """Books whose best bid equals their best ask."""
    off_tick: int
    """Books with a changed price that is not on the market's tick."""
    out_of_bounds: int
    """Messages refused for a price that is not inside (0, 1)."""
    crossed: int
    """Messages refused because the best bid was above the best ask; where one book shows both outcomes, these are bids for Yes and No that add up to more than 1."""


class PastTradesCoverage(Model, frozen=True, kw_only=True):
    fetched_from: datetime | None = None
    """The venue's time from which trades were requested."""
    fetched_until: datetime | None = None
    """The venue's time up to which trades were requested."""
    first_time: datetime | None = None
    """The venue's time of the first trade."""
    last_time: datetime | None = None
    """The venue's time of the last trade."""
    gaps: list[Gap]
    """Spans that the venue did not give."""


class PriceHistory(Model, frozen=True, kw_only=True):
    """One value of the price history that a venue keeps, as it was fetched."""

    id: str
    venue: str
    event_id: str | None = None
    market_id: str
    condition_id: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    metric: str
    value: Decimal
    source_time: datetime
    """The venue's time of the value: the end of a candlestick."""
    received_time: datetime
    """When the value was fetched."""
    sequence: int
    flags: list[str]


class Problem(Model, frozen=True, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: str
    """Where the docs explain it."""
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    param: str | None = None
    """The parameter that is wrong."""
    allowed: list[str] | None = None
    """What it may be."""
    hint: str | None = None
    """What to do."""
    plan: str | None = None
    """The plan that includes it."""
    limit: str | None = None
    """The limit that is used up."""
    retry_after: float | None = None
    """Seconds."""

ProblemCode = Literal[
    "invalid_parameter",
    "unknown_parameter",
    "invalid_cursor",
    "invalid_range",
    "missing_key",
    "invalid_key",
    "revoked_key",
    "expired_key",
    "plan_required",
    "unknown_market",
    "unknown_event",
    "unknown_contract",
    "unknown_asset",
    "unknown_alert",
    "unknown_row",
    "unknown_route",
    "method_not_allowed",
    "not_acceptable",
    "request_timeout",
    "body_too_large",
    "uri_too_long",
    "range_not_satisfiable",
    "upgrade_required",
    "rate_limited",
    "headers_too_large",
    "not_implemented",
    "internal_error",
    "busy",
    "store_unavailable",
]


class QuoteCoverage(Model, frozen=True, kw_only=True):
    first_time: datetime | None = None
    last_time: datetime | None = None
    observations: int
    gaps: int


class RateLimit(Model, frozen=True, kw_only=True):
    limit: str
    quota: int
    window_seconds: int
    remaining: int
    reset_seconds: float

RawEncoding = Literal[
    "utf8",
    "base64",
]


class RawMessage(Model, frozen=True, kw_only=True):
    text: str
    encoding: str
    bytes: int
    received_time: datetime
    socket: int
    origin: str
    recorder: str
    request: Any
    """The request that the message answers; null where the venue pushed it."""


class Receipt(Model, frozen=True, kw_only=True):
    """Lets a client check that it got every row of a walk; on the last page."""

    rows: int
    gaps: int
    """Gaps that the pages listed."""
    instruments: list[InstrumentReceipt] | None = None
    """Absent on lists of markets, revisions and gaps, whose rows have no ids with sequences."""


class RecorderStatus(Model, frozen=True, kw_only=True):
    lag_p50_ms: float
    lag_p99_ms: float
    disk_full: bool

ReferenceFeed = Literal[
    "twap60",
    "twap30",
    "chainlink",
    "exchange",
]


class ReferencePrice(Model, frozen=True, kw_only=True):
    """One price of an asset, as a feed of a venue sent it."""

    id: str
    venue: str
    feed: str
    asset: str
    """The asset in capitals, such as BTC."""
    unit: str
    """What a price is: USD is dollars for one of the asset."""
    bucket_start: datetime | None = None
    bucket_end: datetime | None = None
    age_ms: float | None = None
    """Age of the price at the end of its bucket."""
    source_time: datetime | None = None
    """The time that the venue gives the price."""
    received_time: datetime
    """The recorder's clock."""
    sequence: int
    price: Decimal
    """Every digit that the venue sent, up to 18 decimals."""
    flags: list[str]


class ReferencePriceAt(Model, frozen=True, kw_only=True):
    """What a feed said of an asset at an instant."""

    venue: str
    feed: str
    asset: str
    """The asset in capitals, such as BTC."""
    unit: str
    """What a price is: USD is dollars for one of the asset."""
    price: ReferencePrice | None = None
    """The last price received at or before the instant; null inside a gap and before the first one."""
    age_ms: float | None = None
    """How long before the instant it was received."""
    gap: Gap | None = None
    """The gap that the instant lies in."""


class ReferenceSeries(Model, frozen=True, kw_only=True):
    """A recorded series of reference prices."""

    venue: str
    feed: str
    asset: str
    """The asset in capitals, such as BTC."""
    unit: str
    """What a price is: USD is dollars for one of the asset."""
    description: str
    """What the price is."""
    key: str
    """The key of its gaps, for `/v3/gaps`."""
    first_time: datetime
    """When its first stored price was received."""
    last_time: datetime
    """When its newest one was."""
    prices: int
    """How many prices are stored."""
    open_gap: str | None = None
    """Why nothing was received since; null where nothing is missing."""


class Resolution(Model, frozen=True, kw_only=True):
    """How the market ended, or how far its ending has come; never inferred from prices."""

    state: str | None = None
    source: str | None = None
    """Who or what decides."""
    reference: ResolutionReference
    payouts: list[Decimal]
    """Per outcome, in the order of `outcomes`."""
    times: ResolutionTimes


class ResolutionReference(Model, frozen=True, kw_only=True):
    feed: str | None = None
    start_price: Decimal | None = None
    end_price: Decimal | None = None

ResolutionState = Literal[
    "none",
    "proposed",
    "disputed",
    "final",
]


class ResolutionTimes(Model, frozen=True, kw_only=True):
    determined: datetime | None = None
    settled: datetime | None = None


class RevisionAnomaly(Model, frozen=True, kw_only=True):
    """Only on a version whose status does not follow from the version before it: the venue moved the market illegally, messages were missed or reordered, or (`reused_id`) the venue gave the id of an ended market to another one. The version is stored as it was received."""

    code: str
    from_: str = msgspec.field(name="from")
    to: str

RowFlag = Literal[
    "full_book",
    "late",
    "clock_step",
    "locked",
    "off_tick",
    "truncated_upstream",
    "restart",
    "after_gap",
    "rounded",
    "truncated",
    "partial",
]

RowKind = Literal[
    "book",
    "trade",
    "sample",
]


class RowTimes(Model, frozen=True, kw_only=True):
    first: datetime | None = None
    last: datetime | None = None


class Sample(Model, frozen=True, kw_only=True):
    """One sample of one metric; its value is named after the metric."""

    id: str
    venue: str
    event_id: str | None = None
    market_id: str
    condition_id: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    source_time: datetime | None = None
    """The venue's clock; null where it gave none."""
    received_time: datetime
    """The recorder's clock."""
    sequence: int
    chance: Decimal | None = None
    """The displayed probability signal."""
    price: Decimal | None = None
    """The displayed quoted market value."""
    last_trade: Decimal | None = None
    """The newest execution sample."""
    flags: list[str]

SampleMetric = Literal[
    "chance",
    "price",
    "last_trade",
]


class ServedRange(Model, frozen=True, kw_only=True):
    start_time: datetime | None = None
    end_time: datetime | None = None

ServiceState = Literal[
    "operational",
    "degraded",
    "not_recording",
]


class SignedRoot(Model, frozen=True, kw_only=True):
    day: str
    number: int
    """1, or more for an amendment of the day."""
    sequence: int
    """Counts the statements of the installation."""
    size: int
    """Leaves of the tree."""
    root: str
    """SHA-256 in hexadecimal."""
    statement: str
    """The text that is signed."""
    statement_hash: str
    """SHA-256 of the statement, which the next statement names."""
    signature: str
    """Ed25519 over the bytes of the statement, in hexadecimal."""
    key: str
    """The public key, 32 bytes in hexadecimal."""
    signed_time: datetime


class Spread(Model, frozen=True, kw_only=True):
    """A span in which Yes at one venue and No at another cost less than they pay."""

    yes: SpreadLeg
    """Where Yes is bought."""
    no: SpreadLeg
    """Where No is bought."""
    start_time: datetime
    end_time: datetime
    duration_ms: Decimal
    ended_by: str
    """`edge`: a book changed; `gap`: a book was not observed any more; `range`: the range ends."""
    best_edge: Decimal
    """The most that was left of 1 after both prices and fees, per share."""
    best_time: datetime
    fillable_size: Decimal
    """Shares of each outcome with an edge at that moment."""
    rows: SpreadProof

SpreadEnd = Literal[
    "edge",
    "gap",
    "range",
]


class SpreadLeg(Model, frozen=True, kw_only=True):
    venue: str
    market_id: str
    """The venue's own identifier of the market."""
    outcome: str | None = None
    """What is bought there."""
    price: Decimal
    """The price of that outcome at the best moment."""
    net_price: Decimal
    """The same after the fee."""


class SpreadProof(Model, frozen=True, kw_only=True):
    start: SpreadRows
    """The books from which the edge began."""
    best: SpreadRows
    """The books of the best moment."""
    end: SpreadRows | None = None
    """The books that ended it; null unless `ended_by` is edge."""


class SpreadRows(Model, frozen=True, kw_only=True):
    yes: str
    """The book of the venue on which Yes is bought."""
    no: str
    """The book of the venue on which No is bought."""


class Status(Model, frozen=True, kw_only=True):
    state: str
    recorder: RecorderStatus | None = None
    stream: StreamStatus | None = None
    venues: list[VenueStatus]
    incidents: list[Incident]


class StreamLimits(Model, frozen=True, kw_only=True):
    connections: int
    subscriptions: int
    instruments: int
    replays: int


class StreamStatus(Model, frozen=True, kw_only=True):
    connections: int
    subscriptions: int
    instruments: int
    messages_per_second: float

TableFormat = Literal[
    "json",
    "ndjson",
    "csv",
    "arrow",
]

TimeFormat = Literal[
    "iso",
    "epoch_us",
]


class TimeRange(Model, frozen=True, kw_only=True):
    start_time: datetime
    end_time: datetime


class Trade(Model, frozen=True, kw_only=True):
    """One execution print."""

    id: str
    venue: str
    market_id: str
    condition_id: str | None = None
    event_id: str | None = None
    series_ticker: str | None = None
    outcome: str | None = None
    token_id: str | None = None
    trade_id: str
    """The venue's own id of the trade."""
    price: Decimal
    size: Decimal
    taker_side: str | None = None
    """What the taker did with the outcome of the row."""
    source_time: datetime | None = None
    """The venue's clock."""
    received_time: datetime
    """The recorder's clock."""
    sequence: int
    flags: list[str]
    native: TradeNative


class TradeNative(Model, frozen=True, kw_only=True):
    """What the message said in the venue's own words, unchanged."""

    taker_side: str | None = None
    """The venue's own word for the side of the taker."""
    taker_outcome_side: str | float | None = None
    """Venue B: the outcome that the taker bought."""
    taker_book_side: str | float | None = None
    """Venue B: the side of the book that the taker's order was for."""
    yes_price_dollars: str | float | None = None
    """Venue B: the price of yes."""
    no_price_dollars: str | float | None = None
    """Venue B: the price of no."""
    count_fp: str | float | None = None
    """Venue B: the number of contracts."""
    yes_price: str | float | None = None
    """Venue B, old messages: the price of yes in cents."""
    no_price: str | float | None = None
    """Venue B, old messages: the price of no in cents."""
    count: str | float | None = None
    """Venue B, old messages: the number of contracts."""
    side: str | float | None = None
    """Venue C: the side of the trade."""
    price: str | float | None = None
    """Venue C: the price."""
    size: str | float | None = None
    """Venue C: the size."""
    fee_rate_bps: str | float | None = None
    """Venue C: the fee rate in basis points."""
    transaction_hash: str | float | None = None
    """Venue C: the transaction that settled the trade."""
    origin: str | float | None = None
    """Venue A: chain, because the trade was read from an event of the exchange contract."""
    orderHash: str | float | None = None
    """Venue A: the resting order that was filled."""
    maker: str | float | None = None
    """Venue A: the owner of the resting order."""
    taker: str | float | None = None
    """Venue A: the other side."""
    makerAssetId: str | float | None = None
    """Venue A: what the owner of the resting order gave; 0 is the collateral."""
    takerAssetId: str | float | None = None
    """Venue A: what the owner of the resting order got; 0 is the collateral."""
    makerAmountFilled: str | float | None = None
    """Venue A: how much the owner gave, in the smallest unit."""
    takerAmountFilled: str | float | None = None
    """Venue A: how much the owner got, in the smallest unit."""
    fee: str | float | None = None
    """Venue A: the fee of the resting order, in the smallest unit."""
    is_block_trade: bool | None = None
    """Venue B: true for a trade that was agreed outside of the book."""
    sid: int | None = None
    seq: int | None = None

TradeOrigin = Literal[
    "observed",
    "backfill",
]


class Units(Model, frozen=True, kw_only=True):
    price_unit: str
    size_unit: str
    volume_unit: str
    collateral: str


class Usage(Model, frozen=True, kw_only=True):
    day: str
    route: str
    requests: int
    refused: int
    limited: int
    rows: int
    bytes: int

VenueACoin = Literal[
    "BTC",
    "ETH",
    "BNB",
]


class VenueACondition(Model, frozen=True, kw_only=True):
    id: str | None = None
    question_id: str | None = None
    question: str | None = None


class VenueAExchange(Model, frozen=True, kw_only=True):
    """What the venue says about the exchange contract; absent where it does not."""

    is_neg_risk: bool | None = None
    is_yield_bearing: bool | None = None
    resolver_address: str | None = None

VenueAWindow = Literal[
    "5m",
    "15m",
]


class VenueBSettlement(Model, frozen=True, kw_only=True):
    result: str | None = None
    value: Decimal | None = None
    determined_time: datetime | None = None
    settled_time: datetime | None = None
    expiration_value: str | None = None

VenueCWindow = Literal[
    "5m",
    "15m",
    "1h",
    "4h",
    "1d",
]

VenueId = Literal[
    "venuea",
    "venueb",
    "venuec",
]

VenueState = Literal[
    "recording",
    "interrupted",
    "not_recording",
]


class VenueStatus(Model, frozen=True, kw_only=True):
    venue: str
    state: str
    detail: str | None = None
    instruments: int
    last_received_time: str | None = None
    open_gaps: int
    capture: Capture | None = None


class Whoami(Model, frozen=True, kw_only=True):
    key_id: str
    key_prefix: str
    key_last_four: str
    name: str
    plan: str
    created_time: str
    expires_time: str | None = None
    ends_time: str | None = None
    venues: list[str]
    assets: list[str] | None = None
    history_days: int | None = None
    history_start_time: str | None = None
    features: list[str]
