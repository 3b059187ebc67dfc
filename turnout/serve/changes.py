"""Server-sent events: a table's rows, then every change to them."""

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache

import orjson
import polars as pl

from turnout.tables.delta import Delta
from turnout.tables.registry import Changed, Event, Registry, Snapshot

QUEUED_EVENTS = 1_000  # for one client; one that falls behind so far gets a new snapshot instead
KEEP_ALIVE_SECONDS = 15.0  # so that proxies do not take a quiet table for a dead connection


class Changes:
    """One client's stream. The registry tells events under its lock, so they are only queued there."""

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry, self._name = registry, name
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event] = asyncio.Queue(QUEUED_EVENTS)
        self._behind = False

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            yield _event("snapshot", await self._begin())
            while True:
                async for text in self._next():
                    yield text
        finally:
            self._registry.unsubscribe(self._name, self._note)

    async def _begin(self) -> bytes:
        snapshot = await asyncio.to_thread(self._registry.subscribe, self._name, self._note)
        return await asyncio.to_thread(_rows, snapshot)

    async def _next(self) -> AsyncIterator[bytes]:
        if self._behind:
            yield _event("snapshot", await self._start_over())
            return
        try:
            event = await asyncio.wait_for(self._events.get(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            yield b": still here\n\n"
            return
        kind, data = await asyncio.to_thread(_encoded, event)
        yield _event(kind, data)

    async def _start_over(self) -> bytes:
        self._registry.unsubscribe(self._name, self._note)
        await asyncio.sleep(0)  # what was told before is queued by now
        while not self._events.empty():
            self._events.get_nowait()
        self._behind = False
        return await self._begin()

    def _note(self, event: Event) -> None:
        self._loop.call_soon_threadsafe(self._enqueue, event)

    def _enqueue(self, event: Event) -> None:
        try:
            self._events.put_nowait(event)
        except asyncio.QueueFull:
            self._behind = True


@lru_cache(maxsize=64)  # every client of a table gets the same text: encode an event once
def _encoded(event: Event) -> tuple[str, bytes]:
    if isinstance(event, Changed):
        return "change", _change(event.generation, event.delta)
    return "swap", _rows(Snapshot(event.generation, event.rows))


def _rows(snapshot: Snapshot) -> bytes:
    return orjson.dumps({"generation": snapshot.generation, "rows": _dicts(snapshot.rows)})


def _change(generation: int, delta: Delta) -> bytes:
    removes = delta.removes.to_list()
    return orjson.dumps({"generation": generation, "upserts": _dicts(delta.upserts), "removes": removes})


def _dicts(rows: pl.DataFrame) -> list[dict[str, object]]:
    return rows.to_dicts()


def _event(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
