"""All public tables: the one place that changes them, and tells whoever listens.

One lock over all of them makes a swap one step: nobody sees one table of the old generation beside one of the new.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from turnout.errors import TableMissing
from turnout.tables.delta import Delta
from turnout.tables.live_table import LiveTable


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All rows of a table at one moment."""

    generation: int
    rows: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Changed:
    """Some rows of a table changed."""

    generation: int
    delta: Delta


@dataclass(frozen=True, eq=False)
class Swapped:
    """A table took the rows of another generation; `delta` is what that changed."""

    generation: int
    rows: pl.DataFrame
    delta: Delta


Event = Changed | Swapped
Listener = Callable[[Event], None]
"""Called in order, under the registry's lock: it must only take note."""


class Registry:
    def __init__(self, tables: Iterable[LiveTable]) -> None:
        self._tables = {table.name: table for table in tables}
        self._listeners: dict[str, list[Listener]] = {name: [] for name in self._tables}
        self._lock = threading.RLock()
        self._generation = 0

    @property
    def generation(self) -> int:
        return self._generation

    @property
    def tables(self) -> Mapping[str, LiveTable]:
        return self._tables

    def snapshot(self, name: str) -> Snapshot:
        with self._lock:
            return Snapshot(self._generation, self.table(name).rows())

    def subscribe(self, name: str, listener: Listener) -> Snapshot:
        """The rows of this moment, and every event from there on."""
        with self._lock:
            snapshot = self.snapshot(name)
            self._listeners[name].append(listener)
            return snapshot

    def unsubscribe(self, name: str, listener: Listener) -> None:
        """Tell the listener no more; one that was not told anyway is no error."""
        with self._lock:
            if listener in self._listeners[name]:
                self._listeners[name].remove(listener)

    def change(self, deltas: Mapping[str, Delta], generation: int | None = None) -> None:
        """Change tables together. What a generation that is no longer shown has to say is dropped."""
        with self._lock:
            if generation is not None and generation != self._generation:
                return
            changed = {name: delta for name, delta in deltas.items() if len(delta)}
            for name, delta in changed.items():
                self.table(name).change(delta)
            self._tell({name: Changed(self._generation, delta) for name, delta in changed.items()})

    def swap(self, generation: int, rows: Mapping[str, pl.DataFrame]) -> None:
        """Show another generation: all its tables in one step."""
        with self._lock:
            self._generation = generation
            swapped = {name: (table := self.table(name), table.swap(its_rows)) for name, its_rows in rows.items()}
            self._tell({name: Swapped(generation, table.rows(), delta) for name, (table, delta) in swapped.items()})

    def at_once(self) -> threading.RLock:
        """Held by whoever must see all tables at one moment."""
        return self._lock

    def table(self, name: str) -> LiveTable:
        if name not in self._tables:
            raise TableMissing(f"there is no table {name!r}; there are {', '.join(self._tables)}")
        return self._tables[name]

    def _tell(self, events: Mapping[str, Event]) -> None:
        """After all tables have changed: whoever looks at them when told sees no mix either."""
        for name, event in events.items():
            for listener in self._listeners[name]:
                listener(event)
