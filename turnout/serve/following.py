"""Follows a table from the event loop, whose time belongs to others too."""

import asyncio

from turnout.tables.registry import Event, Listener, Registry, Snapshot


class Following:
    """A table's rows, then each event, told to `note` on the thread that changes the table."""

    def __init__(self, registry: Registry, name: str, note: Listener) -> None:
        self._registry, self._name, self._listener = registry, name, note
        self._ended = False

    async def begin(self) -> Snapshot:
        # In a thread: the registry may be busy with a swap, and the event loop has others to serve.
        return await asyncio.to_thread(self._subscribe)

    def end(self) -> None:
        """Nothing is told any more, even if `begin` was cancelled and its thread is still at it."""
        with self._registry.at_once():
            self._ended = True
            self._registry.unsubscribe(self._name, self._note)

    def _subscribe(self) -> Snapshot:
        with self._registry.at_once():
            if self._ended:
                return self._registry.snapshot(self._name)
            return self._registry.subscribe(self._name, self._note)

    def _note(self, event: Event) -> None:
        self._listener(event)
