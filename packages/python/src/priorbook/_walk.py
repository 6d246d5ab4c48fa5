"""Answers, pages, and walks over all pages of a request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx
import msgspec

from priorbook._query import Query
from priorbook._receipt import ReceivedRows, difference_of
from priorbook.errors import ClientError, IncompleteWalkError
from priorbook.models import Gap, Meta, Notice, Pagination

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from priorbook._caller import AsyncCaller, Caller
    from priorbook._frames import Decimals, Shape

T = TypeVar("T")
Row = TypeVar("Row")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer: its data, what is beside them, and the id of the request in the server's log."""

    data: T
    meta: Meta
    request_id: str | None
    next_cursor: str | None
    more: dict[str, Any]
    """The whole of ``meta`` as JSON has it, with members of this route alone."""

    @property
    def notices(self) -> list[Notice]:
        """What to know about the answer, such as why it is empty."""
        return self.meta.notices

    @property
    def gaps(self) -> list[Gap]:
        """What was not observed between the row before and the last row."""
        return self.meta.gaps


@dataclass(frozen=True)
class ListAnswer(Answer[list[Row]]):
    """A list that is one answer; its columns are made of its rows, without another request."""

    _row_type: Any = field(repr=False, compare=False)

    def to_arrow(self, *, decimals: Decimals = "decimal") -> pyarrow.Table:
        """All rows as columns."""
        from priorbook._row_tables import list_to_table

        return list_to_table(self.data, self._row_type, decimals)

    def to_polars(self, *, decimals: Decimals = "decimal") -> polars.DataFrame:
        """All rows as a DataFrame of polars."""
        from priorbook._frames import to_polars

        return to_polars(self.to_arrow(decimals=decimals))

    def to_pandas(self, *, decimals: Decimals = "decimal") -> pandas.DataFrame:
        """All rows as a DataFrame of pandas, with Arrow types, so that decimals stay exact."""
        from priorbook._frames import to_pandas

        return to_pandas(self.to_arrow(decimals=decimals))


@dataclass(frozen=True)
class AsyncListAnswer(Answer[list[Row]]):
    """A list that is one answer, as ``ListAnswer``, for programs that await."""

    _row_type: Any = field(repr=False, compare=False)

    async def to_arrow(self, *, decimals: Decimals = "decimal") -> pyarrow.Table:
        """All rows as columns."""
        from priorbook._row_tables import list_to_table

        return list_to_table(self.data, self._row_type, decimals)

    async def to_polars(self, *, decimals: Decimals = "decimal") -> polars.DataFrame:
        """All rows as a DataFrame of polars."""
        from priorbook._frames import to_polars

        return to_polars(await self.to_arrow(decimals=decimals))

    async def to_pandas(self, *, decimals: Decimals = "decimal") -> pandas.DataFrame:
        """All rows as a DataFrame of pandas, with Arrow types, so that decimals stay exact."""
        from priorbook._frames import to_pandas

        return to_pandas(await self.to_arrow(decimals=decimals))


@dataclass(frozen=True)
class Page(Answer[list[Row]]):
    """One page of a walk."""

    resume: str | None
    """Resumes the walk after this page, here or in another process; None after the last one."""


class _Envelope(msgspec.Struct):
    data: msgspec.Raw
    meta: msgspec.Raw
    pagination: Pagination


def parse_answer(row_type: Any, response: httpx.Response) -> Answer[Any]:
    """Reads an envelope; throws ``bad_answer`` where it is not one."""
    try:
        envelope = msgspec.json.decode(response.content, type=_Envelope)
        data = msgspec.json.decode(envelope.data, type=row_type)
        meta = msgspec.json.decode(envelope.meta, type=Meta)
        more = msgspec.json.decode(envelope.meta, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as cause:
        detail = f"the answer is not what the interface promises: {cause}"
        raise ClientError("bad_answer", detail) from cause
    request_id = response.headers.get("x-request-id")
    return Answer(data, meta, request_id, envelope.pagination.next_cursor, more)


@dataclass(frozen=True)
class Plan:
    """What a walk asks for."""

    row_type: Any
    query: Query
    resume: str | None
    dataset: str | None
    scope: dict[str, Any] | None
    """The market that the rows belong to, as downloads name it; None for rows of no market."""


def _first_row(plan: Plan) -> Plan:
    """The smallest request that has the server check the parameters of a walk."""
    return replace(plan, query={**plan.query, "limit": 1})


class _Progress:
    """Where a walk is: which page comes next, and whether all rows have come."""

    def __init__(self, plan: Plan) -> None:
        self.cursor: str | None = None
        self.received = ReceivedRows()
        self.is_done = False
        if plan.resume is None:
            return
        try:
            self.cursor, state = json.loads(plan.resume)
            self.received = ReceivedRows.from_state(state)
        except (TypeError, ValueError, KeyError) as cause:
            raise ClientError("invalid_option", "resume is not what a page of this client gave") from cause

    def query(self, plan: Plan) -> dict[str, Any]:
        return {**plan.query, "cursor": self.cursor}

    def accept(self, answer: Answer[Any]) -> Page[Any]:
        for row in answer.data:
            row_id = getattr(row, "id", None)
            self.received.add(row_id if isinstance(row_id, str) else None)
        following = answer.next_cursor
        if following is not None and following == self.cursor:
            raise ClientError("bad_answer", "the cursor does not move on")
        self.cursor = following
        self.is_done = following is None
        resume = None if self.is_done else json.dumps([following, self.received.state()])
        return Page(answer.data, answer.meta, answer.request_id, following, answer.more, resume)

    def verify(self, page: Page[Any]) -> None:
        receipt = page.meta.receipt
        if receipt is None:
            return
        difference = difference_of(receipt.rows, receipt.instruments, self.received)
        if difference is not None:
            raise IncompleteWalkError(difference, receipt, self.received)


class Walk(Generic[Row]):
    """
    All rows of a request, page by page; every loop starts over. Failed requests are retried from the last cursor.
    Rows that are missing, repeated or out of order by the receipt raise an ``IncompleteWalkError`` after the last row.
    """

    def __init__(self, caller: Caller, path: Callable[[], str], plan: Plan) -> None:
        self._caller = caller
        self._path = path
        self._plan = plan

    def __iter__(self) -> Iterator[Row]:
        """Every row; ``pages`` also gives gaps and notices."""
        for page in self.pages():
            yield from page.data

    def pages(self) -> Iterator[Page[Row]]:
        """Every page, with its gaps and notices."""
        place = _Progress(self._plan)
        path = self._path()
        while not place.is_done:
            answer = self._caller._answer(list[self._plan.row_type], path, place.query(self._plan))  # type: ignore[name-defined]
            page = place.accept(answer)
            yield page
            if place.is_done:
                place.verify(page)

    def page(self) -> Page[Row]:
        """The first page alone."""
        return next(self.pages())

    def take(self, count: int) -> Iterator[Row]:
        """At most so many rows; ``limit`` is the size of a page."""
        if count <= 0:
            return
        limit = min(count, int(self._plan.query.get("limit") or count))  # type: ignore[arg-type]
        plan = replace(self._plan, query={**self._plan.query, "limit": limit})
        for index, row in enumerate(Walk[Row](self._caller, self._path, plan)):
            yield row
            if index + 1 == count:
                return

    def to_list(self) -> list[Row]:
        """All rows in one list; for requests that are known to be small."""
        return list(self)

    def to_arrow(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> pyarrow.Table:
        """All rows as columns. Lists, books, trades, samples, prices and panels come as Arrow, changes as tape."""
        from priorbook._frames import table_steps

        if self._plan.dataset == "list" and self._plan.resume is None:
            from priorbook._list_tables import list_steps

            return self._caller._run(list_steps(self._caller, self._path(), self._plan, shape=shape, decimals=decimals))
        steps = table_steps(self._caller, self._plan, shape=shape, decimals=decimals, progress=progress)
        if steps is not None:
            columns = self._caller._run(steps)
            if columns.is_emptied:
                Walk[Row](self._caller, self._path, _first_row(self._plan)).page()
            return columns.table
        from priorbook._row_tables import rows_to_table

        return rows_to_table(self, self._plan, shape=shape, decimals=decimals)

    def to_polars(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> polars.DataFrame:
        """All rows as a DataFrame of polars."""
        from priorbook._frames import to_polars

        return to_polars(self.to_arrow(shape=shape, decimals=decimals, progress=progress))

    def to_pandas(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> pandas.DataFrame:
        """All rows as a DataFrame of pandas, with Arrow types, so that decimals stay exact."""
        from priorbook._frames import to_pandas

        return to_pandas(self.to_arrow(shape=shape, decimals=decimals, progress=progress))


class AsyncWalk(Generic[Row]):
    """All rows of a request, as ``Walk``, for programs that await."""

    def __init__(self, caller: AsyncCaller, path: Callable[[], Awaitable[str]], plan: Plan) -> None:
        self._caller = caller
        self._path = path
        self._plan = plan

    async def __aiter__(self) -> AsyncIterator[Row]:
        """Every row; ``pages`` also gives gaps and notices."""
        async for page in self.pages():
            for row in page.data:
                yield row

    async def pages(self) -> AsyncIterator[Page[Row]]:
        """Every page, with its gaps and notices."""
        place = _Progress(self._plan)
        path = await self._path()
        while not place.is_done:
            query = place.query(self._plan)
            answer = await self._caller._answer(list[self._plan.row_type], path, query)  # type: ignore[name-defined]
            page = place.accept(answer)
            yield page
            if place.is_done:
                place.verify(page)

    async def page(self) -> Page[Row]:
        """The first page alone."""
        async for page in self.pages():
            return page
        raise ClientError("bad_answer", "a walk without a page")

    async def take(self, count: int) -> AsyncIterator[Row]:
        """At most so many rows; ``limit`` is the size of a page."""
        if count <= 0:
            return
        limit = min(count, int(self._plan.query.get("limit") or count))  # type: ignore[arg-type]
        plan = replace(self._plan, query={**self._plan.query, "limit": limit})
        left = count
        async for row in AsyncWalk[Row](self._caller, self._path, plan):
            yield row
            left -= 1
            if left == 0:
                return

    async def to_list(self) -> list[Row]:
        """All rows in one list; for requests that are known to be small."""
        return [row async for row in self]

    async def to_arrow(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> pyarrow.Table:
        """All rows as columns. Lists, books, trades, samples, prices and panels come as Arrow, changes as tape."""
        from priorbook._frames import table_steps

        if self._plan.dataset == "list" and self._plan.resume is None:
            from priorbook._list_tables import list_steps

            path = await self._path()
            return await self._caller._run(list_steps(self._caller, path, self._plan, shape=shape, decimals=decimals))
        steps = table_steps(self._caller, self._plan, shape=shape, decimals=decimals, progress=progress)
        if steps is not None:
            columns = await self._caller._run(steps)
            if columns.is_emptied:
                await AsyncWalk[Row](self._caller, self._path, _first_row(self._plan)).page()
            return columns.table
        from priorbook._row_tables import rows_to_table

        return rows_to_table([row async for row in self], self._plan, shape=shape, decimals=decimals)

    async def to_polars(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> polars.DataFrame:
        """All rows as a DataFrame of polars."""
        from priorbook._frames import to_polars

        return to_polars(await self.to_arrow(shape=shape, decimals=decimals, progress=progress))

    async def to_pandas(
        self, *, shape: Shape = "wide", decimals: Decimals = "decimal", progress: bool = False
    ) -> pandas.DataFrame:
        """All rows as a DataFrame of pandas, with Arrow types, so that decimals stay exact."""
        from priorbook._frames import to_pandas

        return to_pandas(await self.to_arrow(shape=shape, decimals=decimals, progress=progress))
