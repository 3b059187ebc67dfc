"""Server-sent events: a table's rows, then every change to them."""

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache

import orjson

from turnout.serve.following import Following
from turnout.tables.registry import Event, Registry, Snapshot, Swapped

QUEUED_EVENTS = 1_000  # for one client; one that falls behind so far gets a new snapshot instead
KEEP_ALIVE_SECONDS = 15.0  # so that proxies do not take a quiet table for a dead connection


class Changes:
    """One client's stream."""

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry, self._name = registry, name
        self._events: asyncio.Queue[Event] = asyncio.Queue(QUEUED_EVENTS)
        self._behind = False
        self._following = self._follow()

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            yield await self._snapshot()
            while True:
                yield await self._next()
        finally:
            self._following.end()

    async def _next(self) -> bytes:
        if self._behind:
            return await self._start_over()
        try:
            event = await asyncio.wait_for(self._events.get(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            return b": still here\n\n"
        return await asyncio.to_thread(_encoded, event)

    async def _start_over(self) -> bytes:
        self._following.end()
        await asyncio.sleep(0)  # what was told before is queued by now
        while not self._events.empty():
            self._events.get_nowait()
        self._behind = False
        self._following = self._follow()
        return await self._snapshot()

    async def _snapshot(self) -> bytes:
        snapshot = await self._following.begin()
        return await asyncio.to_thread(_rows, "snapshot", snapshot)

    def _follow(self) -> Following:
        return Following(self._registry, self._name, self._enqueue)

    def _enqueue(self, event: Event) -> None:
        try:
            self._events.put_nowait(event)
        except asyncio.QueueFull:
            self._behind = True


@lru_cache(maxsize=64)  # every client of a table gets the same text: encode an event once
def _encoded(event: Event) -> bytes:
    if isinstance(event, Swapped):
        return _rows("swap", event)
    upserts, removes = event.delta.upserts.to_dicts(), event.delta.removes.to_list()
    return _event("change", {"generation": event.generation, "upserts": upserts, "removes": removes})


def _rows(kind: str, state: Snapshot | Swapped) -> bytes:
    return _event(kind, {"generation": state.generation, "rows": state.rows.to_dicts()})


def _event(kind: str, data: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
