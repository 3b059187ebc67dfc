"""Brings a table's events from the thread that tells them to the event loop that serves them."""

import asyncio
from collections.abc import Callable

from turnout.tables.registry import Event, Registry, Snapshot


class Following:
    """A table's rows, then each event, handed to `take` on the event loop."""

    def __init__(self, registry: Registry, name: str, take: Callable[[Event], None]) -> None:
        self._registry, self._name, self._take = registry, name, take
        self._loop = asyncio.get_running_loop()
        self._ended = False

    async def begin(self) -> Snapshot:
        # In a thread: the registry may be busy with a swap, and the event loop has others to serve.
        return await asyncio.to_thread(self._subscribe)

    def end(self) -> None:
        """Nothing is taken any more, even if `begin` was cancelled and its thread is still at it."""
        with self._registry.at_once():
            self._ended = True
            self._registry.unsubscribe(self._name, self._note)

    def _subscribe(self) -> Snapshot:
        with self._registry.at_once():
            if self._ended:
                return self._registry.snapshot(self._name)
            return self._registry.subscribe(self._name, self._note)

    def _note(self, event: Event) -> None:
        self._loop.call_soon_threadsafe(self._take, event)
