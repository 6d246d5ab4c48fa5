"""A method for every route. Generated from the OpenAPI document: `npm run models:python`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from priorbook._caller import AsyncCaller, AsyncMarketCaller, Caller, MarketCaller
from priorbook._query import DecimalInput, TimeInput, quoted
from priorbook._walk import Answer, AsyncListAnswer, AsyncWalk, ListAnswer, Walk
from priorbook.models import (
    Alert,
    AlertCreated,
    AlertDelivery,
    Audit,
    Book,
    BookChange,
    CalendarDay,
    Category,
    Clock,
    Consolidated,
    Contract,
    ContractBooks,
    ContractKind,
    ContractSnapshot,
    ContractStatus,
    ContractWithTerms,
    Coverage,
    DayProof,
    Event,
    EventSort,
    EventStatus,
    EventWithMarkets,
    Execution,
    FileDataset,
    FileMetric,
    Gap,
    GapReason,
    Health,
    HistoryMetric,
    Interval,
    LeadLag,
    Limits,
    ListedMarket,
    Manifest,
    Market,
    MarketRevision,
    MarketSort,
    MarketStatus,
    Order,
    OrderSide,
    PanelRow,
    ParityDay,
    PriceHistory,
    ReferenceFeed,
    ReferencePrice,
    ReferencePriceAt,
    ReferenceSeries,
    Sample,
    SampleMetric,
    SignedRoot,
    Spread,
    Status,
    Trade,
    TradeOrigin,
    Usage,
    VenueId,
    Whoami,
)


class Routes(Caller):
    """Routes that wait for their answers."""

    def markets(
        self,
        *,
        q: str | None = None,
        sort: MarketSort | None = None,
        venue: VenueId | None = None,
        asset: str | None = None,
        window: str | None = None,
        status: MarketStatus | None = None,
        series: str | None = None,
        event: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        include: str | Sequence[str] | None = None,
        resume: str | None = None,
    ) -> Walk[ListedMarket]:
        """Markets of all venues."""
        return self._walk(
            ListedMarket,
            "/v3/markets",
            {
                "q": q,
                "sort": sort,
                "venue": venue,
                "asset": asset,
                "window": window,
                "status": status,
                "series": series,
                "event": event,
                "category": category,
                "tag": tag,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
                "include": include,
            },
            resume=resume,
            dataset="list",
        )

    def events(
        self,
        *,
        q: str | None = None,
        sort: EventSort | None = None,
        venue: VenueId | None = None,
        series: str | None = None,
        status: EventStatus | None = None,
        category: str | None = None,
        tag: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[Event]:
        """Events of all venues."""
        return self._walk(
            Event,
            "/v3/events",
            {
                "q": q,
                "sort": sort,
                "venue": venue,
                "series": series,
                "status": status,
                "category": category,
                "tag": tag,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="list",
        )

    def event(
        self,
        event_id: str,
        *,
        venue: VenueId | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer[EventWithMarkets | None]:
        """One event with its markets."""
        return self._one(
            EventWithMarkets | None,
            f"/v3/events/{quoted(event_id)}",
            {
                "venue": venue,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def categories(
        self,
        *,
        venue: VenueId | None = None,
    ) -> Answer[list[Category]]:
        """Headings of the venues."""
        return self._one(
            list[Category],
            "/v3/categories",
            {
                "venue": venue,
            },
        )

    def gaps(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
        key: str | None = None,
        reason: GapReason | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[Gap]:
        """Spans that were not observed."""
        return self._walk(
            Gap,
            "/v3/gaps",
            {
                "venue": venue,
                "market": market,
                "key": key,
                "reason": reason,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def coverage(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
    ) -> ListAnswer[Coverage]:
        """What was captured, and since when."""
        return self._list(
            Coverage,
            "/v3/coverage",
            {
                "venue": venue,
                "market": market,
            },
        )

    def coverage_days(
        self,
        *,
        venue: VenueId,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
    ) -> ListAnswer[CalendarDay]:
        """What was observed of a venue, day by day."""
        return self._list(
            CalendarDay,
            "/v3/coverage/days",
            {
                "venue": venue,
                "start_time": start_time,
                "end_time": end_time,
            },
        )

    def parity(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[ParityDay]:
        """Prices that contradict each other."""
        return self._walk(
            ParityDay,
            "/v3/parity",
            {
                "venue": venue,
                "market": market,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="list",
        )

    def panels(
        self,
        *,
        asset: str,
        window: str,
        venue: str | Sequence[str] | None = None,
        from_: TimeInput | None = None,
        to: TimeInput | None = None,
        at: str | Sequence[str] | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[PanelRow]:
        """Past rounds aligned by seconds to their close."""
        return self._walk(
            PanelRow,
            "/v3/panels",
            {
                "asset": asset,
                "window": window,
                "venue": venue,
                "from": from_,
                "to": to,
                "at": at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="panels",
        )

    def reference(
        self,
        *,
        venue: VenueId | None = None,
    ) -> Answer[list[ReferenceSeries]]:
        """Which reference prices are recorded."""
        return self._one(
            list[ReferenceSeries],
            "/v3/reference",
            {
                "venue": venue,
            },
        )

    def reference_prices(
        self,
        asset: str,
        *,
        feed: ReferenceFeed | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        interval: Interval | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[ReferencePrice]:
        """Reference prices of an asset."""
        return self._walk(
            ReferencePrice,
            f"/v3/reference/{quoted(asset)}",
            {
                "feed": feed,
                "start_time": start_time,
                "end_time": end_time,
                "interval": interval,
                "known_at": known_at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
        )

    def reference_as_of(
        self,
        asset: str,
        *,
        at: TimeInput,
        feed: ReferenceFeed | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[list[ReferencePriceAt]]:
        """The reference price of an asset at an instant."""
        return self._one(
            list[ReferencePriceAt],
            f"/v3/reference/{quoted(asset)}/asof",
            {
                "at": at,
                "feed": feed,
                "known_at": known_at,
            },
        )

    def reference_audit(
        self,
        asset: str,
        *,
        id: str,
    ) -> Answer[Audit | None]:
        """The raw message behind a reference price."""
        return self._one(
            Audit | None,
            f"/v3/reference/{quoted(asset)}/audit",
            {
                "id": id,
            },
        )

    def contracts(
        self,
        *,
        q: str | None = None,
        kind: ContractKind | None = None,
        status: ContractStatus | None = None,
        asset: str | None = None,
        window: str | None = None,
        members: int | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[Contract]:
        """What is being bet on, over all venues."""
        return self._walk(
            Contract,
            "/v3/contracts",
            {
                "q": q,
                "kind": kind,
                "status": status,
                "asset": asset,
                "window": window,
                "members": members,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def contract(
        self,
        contract_id: str,
        *,
        known_at: TimeInput | None = None,
    ) -> Answer[ContractWithTerms]:
        """One contract with its members, terms and differences."""
        return self._one(
            ContractWithTerms,
            f"/v3/contracts/{quoted(contract_id)}",
            {
                "known_at": known_at,
            },
        )

    def contract_books(
        self,
        contract_id: str,
        *,
        at: TimeInput,
        known_at: TimeInput | None = None,
        depth: int | None = None,
    ) -> Answer[ContractBooks]:
        """The books of all members at one instant."""
        return self._one(
            ContractBooks,
            f"/v3/contracts/{quoted(contract_id)}/books",
            {
                "at": at,
                "known_at": known_at,
                "depth": depth,
            },
        )

    def contract_snapshots(
        self,
        contract_id: str,
        *,
        interval: Interval | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[ContractSnapshot]:
        """The best prices of all members, aligned in time."""
        return self._walk(
            ContractSnapshot,
            f"/v3/contracts/{quoted(contract_id)}/snapshots",
            {
                "interval": interval,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def contract_consolidated(
        self,
        contract_id: str,
        *,
        at: TimeInput,
        side: OrderSide | None = None,
        size: DecimalInput | None = None,
        known_at: TimeInput | None = None,
        depth: int | None = None,
    ) -> Answer[Consolidated]:
        """One book over all venues in net prices."""
        return self._one(
            Consolidated,
            f"/v3/contracts/{quoted(contract_id)}/consolidated",
            {
                "at": at,
                "side": side,
                "size": size,
                "known_at": known_at,
                "depth": depth,
            },
        )

    def contract_spreads(
        self,
        contract_id: str,
        *,
        min_edge: DecimalInput | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[Spread]:
        """Where the venues disagreed by more than the fees."""
        return self._walk(
            Spread,
            f"/v3/contracts/{quoted(contract_id)}/spreads",
            {
                "min_edge": min_edge,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def contract_leadlag(
        self,
        contract_id: str,
        *,
        max_lag_ms: int | None = None,
        step_ms: int | None = None,
        include_curve: bool | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[LeadLag]:
        """Which venue moves first."""
        return self._one(
            LeadLag,
            f"/v3/contracts/{quoted(contract_id)}/leadlag",
            {
                "max_lag_ms": max_lag_ms,
                "step_ms": step_ms,
                "include_curve": include_curve,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
            },
        )

    def manifest(
        self,
        *,
        venue: VenueId,
        market_id: str | None = None,
        asset: str | None = None,
        series: str | None = None,
        window: str | None = None,
        day: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        dataset: FileDataset | None = None,
        origin: TradeOrigin | None = None,
        metric: FileMetric | None = None,
        feed: ReferenceFeed | None = None,
        include_orderbook: bool | None = None,
        depth: int | None = None,
        known_at: TimeInput | None = None,
        formats: str | Sequence[str] | None = None,
        estimate: bool | None = None,
    ) -> Answer[Manifest]:
        """What a download holds."""
        return self._one(
            Manifest,
            "/v3/bulk/manifest",
            {
                "venue": venue,
                "market_id": market_id,
                "asset": asset,
                "series": series,
                "window": window,
                "day": day,
                "start_time": start_time,
                "end_time": end_time,
                "dataset": dataset,
                "origin": origin,
                "metric": metric,
                "feed": feed,
                "include_orderbook": include_orderbook,
                "depth": depth,
                "known_at": known_at,
                "formats": formats,
                "estimate": estimate,
            },
        )

    def proofs(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[SignedRoot]:
        """Signed roots of days."""
        return self._walk(
            SignedRoot,
            "/v3/proofs",
            {
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
        )

    def proof(
        self,
        day: str,
        *,
        venue: VenueId | None = None,
        market_id: str | None = None,
    ) -> Answer[DayProof | None]:
        """The signed root of a day, and the proof of a market."""
        return self._one(
            DayProof | None,
            f"/v3/proofs/{quoted(day)}",
            {
                "venue": venue,
                "market_id": market_id,
            },
        )

    def alerts(
        self,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[Alert]:
        """The alerts of the key."""
        return self._walk(
            Alert,
            "/v3/alerts",
            {
                "limit": limit,
            },
            resume=resume,
        )

    def create_alert(
        self,
        body: Mapping[str, Any],
    ) -> Answer[AlertCreated]:
        """Create an alert."""
        return self._write(
            AlertCreated,
            "POST",
            "/v3/alerts",
            body,
        )

    def alert(
        self,
        alert_id: str,
    ) -> Answer[Alert]:
        """One alert."""
        return self._one(
            Alert,
            f"/v3/alerts/{quoted(alert_id)}",
            {
            },
        )

    def delete_alert(
        self,
        alert_id: str,
    ) -> Answer[Alert]:
        """Delete an alert."""
        return self._write(
            Alert,
            "DELETE",
            f"/v3/alerts/{quoted(alert_id)}",
            None,
        )

    def alert_deliveries(
        self,
        alert_id: str,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[AlertDelivery]:
        """Events of an alert and their delivery."""
        return self._walk(
            AlertDelivery,
            f"/v3/alerts/{quoted(alert_id)}/deliveries",
            {
                "limit": limit,
            },
            resume=resume,
        )

    def test_alert(
        self,
        alert_id: str,
    ) -> Answer[AlertDelivery]:
        """Send a test event."""
        return self._write(
            AlertDelivery,
            "POST",
            f"/v3/alerts/{quoted(alert_id)}/deliveries",
            None,
        )

    def whoami(
        self,
    ) -> Answer[Whoami]:
        """Which key this is."""
        return self._one(
            Whoami,
            "/v3/whoami",
            {
            },
        )

    def limits(
        self,
    ) -> Answer[Limits]:
        """Every limit of the key, and what is left of it."""
        return self._one(
            Limits,
            "/v3/limits",
            {
            },
        )

    def usage(
        self,
        *,
        days: int | None = None,
    ) -> Answer[list[Usage]]:
        """What the key was used for."""
        return self._one(
            list[Usage],
            "/v3/usage",
            {
                "days": days,
            },
        )

    def status(
        self,
    ) -> Answer[Status]:
        """How the service is doing, with incidents."""
        return self._one(
            Status,
            "/v3/status",
            {
            },
        )

    def health(
        self,
    ) -> Answer[Health]:
        """Whether the service answers."""
        return self._one(
            Health,
            "/v3/health",
            {
            },
        )


class MarketRoutes(MarketCaller):
    """Routes that wait for their answers."""

    def record(
        self,
        *,
        known_at: TimeInput | None = None,
    ) -> Answer[Market | None]:
        """One market."""
        return self._one(
            Market | None,
            "",
            {
                "known_at": known_at,
            },
        )

    def revisions(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> Walk[MarketRevision]:
        """The history of a market record."""
        return self._walk(
            MarketRevision,
            "/revisions",
            {
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def trades(
        self,
        *,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        origin: TradeOrigin | None = None,
        resume: str | None = None,
    ) -> Walk[Trade]:
        """Trades of a market."""
        return self._walk(
            Trade,
            "/trades",
            {
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
                "order": order,
                "origin": origin,
            },
            resume=resume,
            dataset="trades",
        )

    def timeseries(
        self,
        *,
        metric: SampleMetric,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[Sample]:
        """Samples of one metric of a market."""
        return self._walk(
            Sample,
            "/timeseries",
            {
                "metric": metric,
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="samples",
        )

    def history(
        self,
        *,
        metric: HistoryMetric,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> Walk[PriceHistory]:
        """Price history that the venue keeps of a market."""
        return self._walk(
            PriceHistory,
            "/history",
            {
                "metric": metric,
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="history",
        )

    def execution(
        self,
        *,
        side: OrderSide,
        size: DecimalInput,
        at: TimeInput | None = None,
        latency_ms: int | None = None,
        max_age_ms: int | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[Execution | None]:
        """What an order would have met."""
        return self._one(
            Execution | None,
            "/execution",
            {
                "side": side,
                "size": size,
                "at": at,
                "latency_ms": latency_ms,
                "max_age_ms": max_age_ms,
                "outcome": outcome,
                "token_id": token_id,
                "known_at": known_at,
            },
        )

    def audit(
        self,
        *,
        id: str,
    ) -> Answer[Audit | None]:
        """The raw message behind a row."""
        return self._one(
            Audit | None,
            "/audit",
            {
                "id": id,
            },
        )

    def snapshots(
        self,
        *,
        limit: int | None = None,
        order: Order | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        clock: Clock | None = None,
        known_at: TimeInput | None = None,
        include_orderbook: bool | None = None,
        depth: int | None = None,
        interval: Interval | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        resume: str | None = None,
    ) -> Walk[Book]:
        """Recorded books of a market."""
        return self._walk(
            Book,
            "/snapshots",
            {
                "limit": limit,
                "order": order,
                "start_time": start_time,
                "end_time": end_time,
                "clock": clock,
                "known_at": known_at,
                "include_orderbook": include_orderbook,
                "depth": depth,
                "interval": interval,
                "outcome": outcome,
                "token_id": token_id,
            },
            resume=resume,
            dataset="books",
        )

    def latest(
        self,
        *,
        depth: int | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
    ) -> Answer[list[Book]]:
        """The newest recorded book of a market."""
        return self._books(
            "/orderbook/latest",
            {
                "depth": depth,
                "outcome": outcome,
                "token_id": token_id,
            },
        )

    def as_of(
        self,
        *,
        at: TimeInput,
        depth: int | None = None,
        known_at: TimeInput | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
    ) -> Answer[list[Book]]:
        """The book of a market at an instant."""
        return self._books(
            "/orderbook",
            {
                "at": at,
                "depth": depth,
                "known_at": known_at,
                "outcome": outcome,
                "token_id": token_id,
            },
        )

    def changes(
        self,
        *,
        limit: int | None = None,
        order: Order | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        clock: Clock | None = None,
        known_at: TimeInput | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        resume: str | None = None,
    ) -> Walk[BookChange]:
        """Changed levels of a market's books."""
        return self._walk(
            BookChange,
            "/changes",
            {
                "limit": limit,
                "order": order,
                "start_time": start_time,
                "end_time": end_time,
                "clock": clock,
                "known_at": known_at,
                "outcome": outcome,
                "token_id": token_id,
            },
            resume=resume,
            dataset="changes",
        )


class AsyncRoutes(AsyncCaller):
    """Routes to await."""

    def markets(
        self,
        *,
        q: str | None = None,
        sort: MarketSort | None = None,
        venue: VenueId | None = None,
        asset: str | None = None,
        window: str | None = None,
        status: MarketStatus | None = None,
        series: str | None = None,
        event: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        include: str | Sequence[str] | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[ListedMarket]:
        """Markets of all venues."""
        return self._walk(
            ListedMarket,
            "/v3/markets",
            {
                "q": q,
                "sort": sort,
                "venue": venue,
                "asset": asset,
                "window": window,
                "status": status,
                "series": series,
                "event": event,
                "category": category,
                "tag": tag,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
                "include": include,
            },
            resume=resume,
            dataset="list",
        )

    def events(
        self,
        *,
        q: str | None = None,
        sort: EventSort | None = None,
        venue: VenueId | None = None,
        series: str | None = None,
        status: EventStatus | None = None,
        category: str | None = None,
        tag: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Event]:
        """Events of all venues."""
        return self._walk(
            Event,
            "/v3/events",
            {
                "q": q,
                "sort": sort,
                "venue": venue,
                "series": series,
                "status": status,
                "category": category,
                "tag": tag,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="list",
        )

    async def event(
        self,
        event_id: str,
        *,
        venue: VenueId | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer[EventWithMarkets | None]:
        """One event with its markets."""
        return await self._one(
            EventWithMarkets | None,
            f"/v3/events/{quoted(event_id)}",
            {
                "venue": venue,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def categories(
        self,
        *,
        venue: VenueId | None = None,
    ) -> Answer[list[Category]]:
        """Headings of the venues."""
        return await self._one(
            list[Category],
            "/v3/categories",
            {
                "venue": venue,
            },
        )

    def gaps(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
        key: str | None = None,
        reason: GapReason | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Gap]:
        """Spans that were not observed."""
        return self._walk(
            Gap,
            "/v3/gaps",
            {
                "venue": venue,
                "market": market,
                "key": key,
                "reason": reason,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    async def coverage(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
    ) -> AsyncListAnswer[Coverage]:
        """What was captured, and since when."""
        return await self._list(
            Coverage,
            "/v3/coverage",
            {
                "venue": venue,
                "market": market,
            },
        )

    async def coverage_days(
        self,
        *,
        venue: VenueId,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
    ) -> AsyncListAnswer[CalendarDay]:
        """What was observed of a venue, day by day."""
        return await self._list(
            CalendarDay,
            "/v3/coverage/days",
            {
                "venue": venue,
                "start_time": start_time,
                "end_time": end_time,
            },
        )

    def parity(
        self,
        *,
        venue: VenueId | None = None,
        market: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[ParityDay]:
        """Prices that contradict each other."""
        return self._walk(
            ParityDay,
            "/v3/parity",
            {
                "venue": venue,
                "market": market,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="list",
        )

    def panels(
        self,
        *,
        asset: str,
        window: str,
        venue: str | Sequence[str] | None = None,
        from_: TimeInput | None = None,
        to: TimeInput | None = None,
        at: str | Sequence[str] | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[PanelRow]:
        """Past rounds aligned by seconds to their close."""
        return self._walk(
            PanelRow,
            "/v3/panels",
            {
                "asset": asset,
                "window": window,
                "venue": venue,
                "from": from_,
                "to": to,
                "at": at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="panels",
        )

    async def reference(
        self,
        *,
        venue: VenueId | None = None,
    ) -> Answer[list[ReferenceSeries]]:
        """Which reference prices are recorded."""
        return await self._one(
            list[ReferenceSeries],
            "/v3/reference",
            {
                "venue": venue,
            },
        )

    def reference_prices(
        self,
        asset: str,
        *,
        feed: ReferenceFeed | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        interval: Interval | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[ReferencePrice]:
        """Reference prices of an asset."""
        return self._walk(
            ReferencePrice,
            f"/v3/reference/{quoted(asset)}",
            {
                "feed": feed,
                "start_time": start_time,
                "end_time": end_time,
                "interval": interval,
                "known_at": known_at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
        )

    async def reference_as_of(
        self,
        asset: str,
        *,
        at: TimeInput,
        feed: ReferenceFeed | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[list[ReferencePriceAt]]:
        """The reference price of an asset at an instant."""
        return await self._one(
            list[ReferencePriceAt],
            f"/v3/reference/{quoted(asset)}/asof",
            {
                "at": at,
                "feed": feed,
                "known_at": known_at,
            },
        )

    async def reference_audit(
        self,
        asset: str,
        *,
        id: str,
    ) -> Answer[Audit | None]:
        """The raw message behind a reference price."""
        return await self._one(
            Audit | None,
            f"/v3/reference/{quoted(asset)}/audit",
            {
                "id": id,
            },
        )

    def contracts(
        self,
        *,
        q: str | None = None,
        kind: ContractKind | None = None,
        status: ContractStatus | None = None,
        asset: str | None = None,
        window: str | None = None,
        members: int | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Contract]:
        """What is being bet on, over all venues."""
        return self._walk(
            Contract,
            "/v3/contracts",
            {
                "q": q,
                "kind": kind,
                "status": status,
                "asset": asset,
                "window": window,
                "members": members,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    async def contract(
        self,
        contract_id: str,
        *,
        known_at: TimeInput | None = None,
    ) -> Answer[ContractWithTerms]:
        """One contract with its members, terms and differences."""
        return await self._one(
            ContractWithTerms,
            f"/v3/contracts/{quoted(contract_id)}",
            {
                "known_at": known_at,
            },
        )

    async def contract_books(
        self,
        contract_id: str,
        *,
        at: TimeInput,
        known_at: TimeInput | None = None,
        depth: int | None = None,
    ) -> Answer[ContractBooks]:
        """The books of all members at one instant."""
        return await self._one(
            ContractBooks,
            f"/v3/contracts/{quoted(contract_id)}/books",
            {
                "at": at,
                "known_at": known_at,
                "depth": depth,
            },
        )

    def contract_snapshots(
        self,
        contract_id: str,
        *,
        interval: Interval | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[ContractSnapshot]:
        """The best prices of all members, aligned in time."""
        return self._walk(
            ContractSnapshot,
            f"/v3/contracts/{quoted(contract_id)}/snapshots",
            {
                "interval": interval,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    async def contract_consolidated(
        self,
        contract_id: str,
        *,
        at: TimeInput,
        side: OrderSide | None = None,
        size: DecimalInput | None = None,
        known_at: TimeInput | None = None,
        depth: int | None = None,
    ) -> Answer[Consolidated]:
        """One book over all venues in net prices."""
        return await self._one(
            Consolidated,
            f"/v3/contracts/{quoted(contract_id)}/consolidated",
            {
                "at": at,
                "side": side,
                "size": size,
                "known_at": known_at,
                "depth": depth,
            },
        )

    def contract_spreads(
        self,
        contract_id: str,
        *,
        min_edge: DecimalInput | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Spread]:
        """Where the venues disagreed by more than the fees."""
        return self._walk(
            Spread,
            f"/v3/contracts/{quoted(contract_id)}/spreads",
            {
                "min_edge": min_edge,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    async def contract_leadlag(
        self,
        contract_id: str,
        *,
        max_lag_ms: int | None = None,
        step_ms: int | None = None,
        include_curve: bool | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[LeadLag]:
        """Which venue moves first."""
        return await self._one(
            LeadLag,
            f"/v3/contracts/{quoted(contract_id)}/leadlag",
            {
                "max_lag_ms": max_lag_ms,
                "step_ms": step_ms,
                "include_curve": include_curve,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
            },
        )

    async def manifest(
        self,
        *,
        venue: VenueId,
        market_id: str | None = None,
        asset: str | None = None,
        series: str | None = None,
        window: str | None = None,
        day: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        dataset: FileDataset | None = None,
        origin: TradeOrigin | None = None,
        metric: FileMetric | None = None,
        feed: ReferenceFeed | None = None,
        include_orderbook: bool | None = None,
        depth: int | None = None,
        known_at: TimeInput | None = None,
        formats: str | Sequence[str] | None = None,
        estimate: bool | None = None,
    ) -> Answer[Manifest]:
        """What a download holds."""
        return await self._one(
            Manifest,
            "/v3/bulk/manifest",
            {
                "venue": venue,
                "market_id": market_id,
                "asset": asset,
                "series": series,
                "window": window,
                "day": day,
                "start_time": start_time,
                "end_time": end_time,
                "dataset": dataset,
                "origin": origin,
                "metric": metric,
                "feed": feed,
                "include_orderbook": include_orderbook,
                "depth": depth,
                "known_at": known_at,
                "formats": formats,
                "estimate": estimate,
            },
        )

    def proofs(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[SignedRoot]:
        """Signed roots of days."""
        return self._walk(
            SignedRoot,
            "/v3/proofs",
            {
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
        )

    async def proof(
        self,
        day: str,
        *,
        venue: VenueId | None = None,
        market_id: str | None = None,
    ) -> Answer[DayProof | None]:
        """The signed root of a day, and the proof of a market."""
        return await self._one(
            DayProof | None,
            f"/v3/proofs/{quoted(day)}",
            {
                "venue": venue,
                "market_id": market_id,
            },
        )

    def alerts(
        self,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Alert]:
        """The alerts of the key."""
        return self._walk(
            Alert,
            "/v3/alerts",
            {
                "limit": limit,
            },
            resume=resume,
        )

    async def create_alert(
        self,
        body: Mapping[str, Any],
    ) -> Answer[AlertCreated]:
        """Create an alert."""
        return await self._write(
            AlertCreated,
            "POST",
            "/v3/alerts",
            body,
        )

    async def alert(
        self,
        alert_id: str,
    ) -> Answer[Alert]:
        """One alert."""
        return await self._one(
            Alert,
            f"/v3/alerts/{quoted(alert_id)}",
            {
            },
        )

    async def delete_alert(
        self,
        alert_id: str,
    ) -> Answer[Alert]:
        """Delete an alert."""
        return await self._write(
            Alert,
            "DELETE",
            f"/v3/alerts/{quoted(alert_id)}",
            None,
        )

    def alert_deliveries(
        self,
        alert_id: str,
        *,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[AlertDelivery]:
        """Events of an alert and their delivery."""
        return self._walk(
            AlertDelivery,
            f"/v3/alerts/{quoted(alert_id)}/deliveries",
            {
                "limit": limit,
            },
            resume=resume,
        )

    async def test_alert(
        self,
        alert_id: str,
    ) -> Answer[AlertDelivery]:
        """Send a test event."""
        return await self._write(
            AlertDelivery,
            "POST",
            f"/v3/alerts/{quoted(alert_id)}/deliveries",
            None,
        )

    async def whoami(
        self,
    ) -> Answer[Whoami]:
        """Which key this is."""
        return await self._one(
            Whoami,
            "/v3/whoami",
            {
            },
        )

    async def limits(
        self,
    ) -> Answer[Limits]:
        """Every limit of the key, and what is left of it."""
        return await self._one(
            Limits,
            "/v3/limits",
            {
            },
        )

    async def usage(
        self,
        *,
        days: int | None = None,
    ) -> Answer[list[Usage]]:
        """What the key was used for."""
        return await self._one(
            list[Usage],
            "/v3/usage",
            {
                "days": days,
            },
        )

    async def status(
        self,
    ) -> Answer[Status]:
        """How the service is doing, with incidents."""
        return await self._one(
            Status,
            "/v3/status",
            {
            },
        )

    async def health(
        self,
    ) -> Answer[Health]:
        """Whether the service answers."""
        return await self._one(
            Health,
            "/v3/health",
            {
            },
        )


class AsyncMarketRoutes(AsyncMarketCaller):
    """Routes to await."""

    async def record(
        self,
        *,
        known_at: TimeInput | None = None,
    ) -> Answer[Market | None]:
        """One market."""
        return await self._one(
            Market | None,
            "",
            {
                "known_at": known_at,
            },
        )

    def revisions(
        self,
        *,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[MarketRevision]:
        """The history of a market record."""
        return self._walk(
            MarketRevision,
            "/revisions",
            {
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
            },
            resume=resume,
            dataset="list",
        )

    def trades(
        self,
        *,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        origin: TradeOrigin | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Trade]:
        """Trades of a market."""
        return self._walk(
            Trade,
            "/trades",
            {
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
                "order": order,
                "origin": origin,
            },
            resume=resume,
            dataset="trades",
        )

    def timeseries(
        self,
        *,
        metric: SampleMetric,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        known_at: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Sample]:
        """Samples of one metric of a market."""
        return self._walk(
            Sample,
            "/timeseries",
            {
                "metric": metric,
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "known_at": known_at,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="samples",
        )

    def history(
        self,
        *,
        metric: HistoryMetric,
        outcome: str | None = None,
        token_id: str | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        limit: int | None = None,
        order: Order | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[PriceHistory]:
        """Price history that the venue keeps of a market."""
        return self._walk(
            PriceHistory,
            "/history",
            {
                "metric": metric,
                "outcome": outcome,
                "token_id": token_id,
                "start_time": start_time,
                "end_time": end_time,
                "limit": limit,
                "order": order,
            },
            resume=resume,
            dataset="history",
        )

    async def execution(
        self,
        *,
        side: OrderSide,
        size: DecimalInput,
        at: TimeInput | None = None,
        latency_ms: int | None = None,
        max_age_ms: int | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        known_at: TimeInput | None = None,
    ) -> Answer[Execution | None]:
        """What an order would have met."""
        return await self._one(
            Execution | None,
            "/execution",
            {
                "side": side,
                "size": size,
                "at": at,
                "latency_ms": latency_ms,
                "max_age_ms": max_age_ms,
                "outcome": outcome,
                "token_id": token_id,
                "known_at": known_at,
            },
        )

    async def audit(
        self,
        *,
        id: str,
    ) -> Answer[Audit | None]:
        """The raw message behind a row."""
        return await self._one(
            Audit | None,
            "/audit",
            {
                "id": id,
            },
        )

    def snapshots(
        self,
        *,
        limit: int | None = None,
        order: Order | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        clock: Clock | None = None,
        known_at: TimeInput | None = None,
        include_orderbook: bool | None = None,
        depth: int | None = None,
        interval: Interval | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[Book]:
        """Recorded books of a market."""
        return self._walk(
            Book,
            "/snapshots",
            {
                "limit": limit,
                "order": order,
                "start_time": start_time,
                "end_time": end_time,
                "clock": clock,
                "known_at": known_at,
                "include_orderbook": include_orderbook,
                "depth": depth,
                "interval": interval,
                "outcome": outcome,
                "token_id": token_id,
            },
            resume=resume,
            dataset="books",
        )

    async def latest(
        self,
        *,
        depth: int | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
    ) -> Answer[list[Book]]:
        """The newest recorded book of a market."""
        return await self._books(
            "/orderbook/latest",
            {
                "depth": depth,
                "outcome": outcome,
                "token_id": token_id,
            },
        )

    async def as_of(
        self,
        *,
        at: TimeInput,
        depth: int | None = None,
        known_at: TimeInput | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
    ) -> Answer[list[Book]]:
        """The book of a market at an instant."""
        return await self._books(
            "/orderbook",
            {
                "at": at,
                "depth": depth,
                "known_at": known_at,
                "outcome": outcome,
                "token_id": token_id,
            },
        )

    def changes(
        self,
        *,
        limit: int | None = None,
        order: Order | None = None,
        start_time: TimeInput | None = None,
        end_time: TimeInput | None = None,
        clock: Clock | None = None,
        known_at: TimeInput | None = None,
        outcome: str | None = None,
        token_id: str | None = None,
        resume: str | None = None,
    ) -> AsyncWalk[BookChange]:
        """Changed levels of a market's books."""
        return self._walk(
            BookChange,
            "/changes",
            {
                "limit": limit,
                "order": order,
                "start_time": start_time,
                "end_time": end_time,
                "clock": clock,
                "known_at": known_at,
                "outcome": outcome,
                "token_id": token_id,
            },
            resume=resume,
            dataset="changes",
        )
