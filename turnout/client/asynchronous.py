"""The client for asyncio: the same calls, awaited.

Each call is the plain client's, in a thread. So there is one implementation of what is hard about it (reconnects, the
rule for restarts, errors), no further dependency, and the event loop does not stand still while a large snapshot is
read and parsed, which would be its longest task by far. A table that is followed costs one thread, which waits.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, Unpack

from turnout.client.changes import Changes, Options
from turnout.client.client import DEFAULT_URL, Client, Status, TableInfo
from turnout.client.errors import TurnoutError
from turnout.client.events import Event, Row
from turnout.client.held import Held
from turnout.client.query import Query
from turnout.client.switching import OUTCOME_SECONDS, Outcome
from turnout.client.table import Table

if TYPE_CHECKING:
    from turnout.client.frames import ArrowTable, PandasFrame, PolarsFrame

READ_AHEAD_EVENTS = 16
"""That wait for a busy event loop. The server keeps more, and sends a new snapshot to whoever falls behind further."""


class AsyncClient:
    def __init__(
        self, url: str = DEFAULT_URL, *, token: str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._client = Client(url, token=token, headers=headers)

    @property
    def url(self) -> str:
        return self._client.url

    async def tables(self) -> list[TableInfo]:
        return await asyncio.to_thread(self._client.tables)

    def table(self, name: str) -> "AsyncTable":
        return AsyncTable(self._client.table(name))

    async def status(self) -> Status:
        return await asyncio.to_thread(self._client.status)

    async def switch(
        self, *, join: str | None = None, wait_seconds: float = OUTCOME_SECONDS, **topics: str | None
    ) -> Outcome:
        return await asyncio.to_thread(self._client.switch, join=join, wait_seconds=wait_seconds, **topics)

    async def undo(self, wait_seconds: float = OUTCOME_SECONDS) -> Outcome:
        return await asyncio.to_thread(self._client.undo, wait_seconds)

    async def control(self, message: Mapping[str, str], wait_seconds: float = OUTCOME_SECONDS) -> Outcome:
        return await asyncio.to_thread(self._client.control, message, wait_seconds)

    async def close(self) -> None:
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self.url}>"


class AsyncTable:
    def __init__(self, table: Table) -> None:
        self.name = table.name
        self._table = table

    async def rows(self, **query: Unpack[Query]) -> list[Row]:
        return await asyncio.to_thread(self._table.rows, **query)

    async def to_polars(self, **query: Unpack[Query]) -> "PolarsFrame":
        return await asyncio.to_thread(self._table.to_polars, **query)

    async def to_arrow(self, **query: Unpack[Query]) -> "ArrowTable":
        return await asyncio.to_thread(self._table.to_arrow, **query)

    async def to_pandas(self, **query: Unpack[Query]) -> "PandasFrame":
        return await asyncio.to_thread(self._table.to_pandas, **query)

    def changes(self, **options: Unpack[Options]) -> "AsyncChanges":
        return AsyncChanges(self._table.changes(**options))

    async def follow(self, **options: Unpack[Options]) -> AsyncIterator[list[Row]]:
        held = Held()
        async with self.changes(**options) as changes:
            async for event in changes:
                held.take(event)
                yield held.rows

    def live(self, **options: Unpack[Options]) -> "AsyncLive":
        return AsyncLive(self.changes(**options))

    def __repr__(self) -> str:
        return repr(self._table)


class AsyncChanges(AsyncIterator[Event]):
    """As `Changes`. A wait for the next event may be cancelled, and taken up again."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._read: asyncio.Queue[Event | TurnoutError | None] = asyncio.Queue()
        self._room = threading.Semaphore(READ_AHEAD_EVENTS)
        self._reader: threading.Thread | None = None

    @property
    def problem(self) -> TurnoutError | None:
        return self._changes.problem

    @property
    def starting(self) -> bool:
        return self._changes.starting

    async def __anext__(self) -> Event:
        if self._reader is None:
            arguments = (self._changes, asyncio.get_running_loop(), self._read, self._room)
            self._reader = threading.Thread(target=_read, args=arguments, name="changes", daemon=True)
            self._reader.start()
        item = await self._read.get()
        self._room.release()
        if item is None:
            raise StopAsyncIteration
        if isinstance(item, TurnoutError):
            raise item
        return item

    async def close(self) -> None:
        self._end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        self._changes.close()
        self._room.release()


def _read(
    changes: Changes,
    loop: asyncio.AbstractEventLoop,
    read: "asyncio.Queue[Event | TurnoutError | None]",
    room: threading.Semaphore,
) -> None:
    """Hand over event by event, then how it ended. It does not know the AsyncChanges, which ends it when dropped."""
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        try:
            for event in changes:
                room.acquire()
                loop.call_soon_threadsafe(read.put_nowait, event)
        except TurnoutError as error:
            loop.call_soon_threadsafe(read.put_nowait, error)
        loop.call_soon_threadsafe(read.put_nowait, None)


class AsyncLive:
    """As `Live`, for one event loop: `async with client.table("final_ui").live() as live: …`."""

    def __init__(self, changes: AsyncChanges) -> None:
        self._changes, self._held = changes, Held()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._held.take(await anext(self._changes))
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._changes.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def rows(self) -> list[Row]:
        return self._held.rows

    @property
    def by_id(self) -> dict[str, Row]:
        return self._held.by_id

    @property
    def generation(self) -> int:
        return self._held.generation

    @property
    def problem(self) -> TurnoutError | None:
        return self._failure or self._changes.problem

    @property
    def starting(self) -> bool:
        return self._changes.starting

    async def changed(self, wait_seconds: float | None = None) -> bool:
        """Wait until something has changed since the last call; False if nothing has in time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), wait_seconds)
        if self._failure is not None:
            raise self._failure
        news = self._news.is_set()
        self._news.clear()
        return news

    def __len__(self) -> int:
        return len(self._held)

    @property
    def _failure(self) -> TurnoutError | None:
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        error = self._task.exception()
        return error if isinstance(error, TurnoutError) else None

    async def _follow(self) -> None:
        try:
            async for event in self._changes:
                self._held.take(event)
                self._news.set()
        finally:
            self._news.set()
