"""What a changelog says at this moment: for each key its newest record."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import polars as pl

from turnout.changelog.bounds import Bound, Size, Tally, side_bounds, sizes
from turnout.changelog.records import Records, Version
from turnout.schema import JoinSchema

# Keys that are looked at together when some have to go: enough to make decoding worth its while.
_OLDEST_KEYS = 1_000


@dataclass(frozen=True)
class Change:
    """Some keys' records before and after; a key that is new has none before, one that is forgotten none after."""

    old: Records
    new: Records


class Watcher(Protocol):
    """Sees each change, in order, on the reader's thread."""

    @property
    def bound(self) -> Bound:
        """Of the table that it makes of both sides."""

    def changed(self, change: Change) -> None: ...


class Changelog(Protocol):
    """A changelog that is being followed."""

    def watch(self, watcher: Watcher, first: Callable[[pl.DataFrame], None]) -> None:
        """Hand `first` all records of this moment, then every change from there on to `watcher`, and to no other."""

    def unwatch(self) -> None:
        """Nobody watches any more."""


class Store:
    """Key -> newest record, as it came: a record is decoded when it changes, and that is cheap.

    A pipeline that restarts sends older versions of a key again. A record counts how many rows it has seen of either
    side, and one that has not seen more than the one held is dropped.

    Where a table would have more rows than its bound, the keys that changed longest ago are forgotten, whole, so that
    the tables agree; the one that changed last stays, however many rows it has. The changelog still has them, and a
    key that changes again comes back with all its rows.
    """

    def __init__(self, schema: JoinSchema) -> None:
        self._schema = schema
        self._records: dict[bytes, bytes] = {}  # in the order of their last change
        self._sides = [Tally(bound) for bound in side_bounds(schema)]
        self._tallies = self._sides

    def __len__(self) -> int:
        return len(self._records)

    def take(self, records: Iterable[tuple[bytes, bytes]]) -> Change | None:
        """Take records in the order they came; what changed by them, or None. The tables are within their bounds
        before and after it."""
        # The last word of each key. Where a restarted pipeline's older version comes last, the newer one is held up,
        # not lost: it comes again.
        latest = dict(records)
        held = {key: record for key in latest if (record := self._records.get(key)) is not None}
        old, new = self._read(held.values()), self._read(latest.values())
        stale = _stale(dict(zip(held, old.versions, strict=True)), dict(zip(latest, new.versions, strict=True)))
        if stale:
            old = old.where(key not in stale for key in held)
            new = new.where(key not in stale for key in latest)
            latest = {key: record for key, record in latest.items() if key not in stale}
        if not latest:
            return None
        for key in latest:
            self._records.pop(key, None)
        self._records.update(latest)
        if self._too_many(self._sizes(old), self._sizes(new)):
            return self._without_oldest(Change(old, new), latest)
        return Change(old, new)

    def all(self) -> pl.DataFrame:
        """Every key's record, those that changed last at the end."""
        return self._read(self._records.values()).frame

    def bind(self, bound: Bound) -> pl.DataFrame:
        """Keep the rows of one more table within its bound, in place of any other; every key's record."""
        records = self._read(self._records.values())
        its_sizes = self._sizes(records)
        self._tallies = [*self._sides, joined := Tally(bound)]
        joined.change(Counter(its_sizes))
        if not joined.above:
            return records.frame
        count = self._forget(its_sizes[:-1], self._full())
        for key in list(islice(self._records, count)):
            del self._records[key]
        return records.frame.slice(count)

    def unbind(self) -> None:
        """That table is no longer shown."""
        self._tallies = self._sides

    def _read(self, values: Iterable[bytes]) -> Records:
        return Records(list(values), self._schema)

    def _sizes(self, records: Records) -> list[Size]:
        return sizes(records, self._schema)

    def _too_many(self, old: Sequence[Size], new: Sequence[Size]) -> bool:
        """Count the keys of a change: has a table too many rows by it?"""
        # Thousands of keys have a handful of sizes, and most keep theirs.
        keys = Counter(new)
        keys.subtract(Counter(old))
        for tally in self._tallies:
            tally.change(keys)
        return any(tally.above for tally in self._tallies)

    def _without_oldest(self, change: Change, came: Mapping[bytes, bytes]) -> Change:
        """Forget keys; the change and that in one. A key that came and is forgotten at once was never there."""
        forgotten = self._forget_oldest()
        held = self._read(record for key, record in forgotten.items() if key not in came)
        return Change(change.old + held, change.new.where(key not in forgotten for key in came))

    def _forget_oldest(self) -> Mapping[bytes, bytes]:
        forgotten: dict[bytes, bytes] = {}
        full = self._full()
        while len(self._records) > 1:
            oldest = dict(islice(self._records.items(), min(_OLDEST_KEYS, len(self._records) - 1)))
            count = self._forget(self._sizes(self._read(oldest.values())), full)
            for key in islice(oldest, count):
                forgotten[key] = self._records.pop(key)
            if count < len(oldest):
                break
        return forgotten

    def _full(self) -> Sequence[Tally]:
        full = [tally for tally in self._tallies if tally.above]
        for tally in full:
            tally.warn()
        return full

    def _forget(self, oldest: Sequence[Size], full: Sequence[Tally]) -> int:
        """How many of these keys, the oldest first, have to go until there is room; they no longer count."""
        for number, size in enumerate(oldest):
            if all(tally.freed for tally in full):
                return number
            for tally in self._tallies:
                tally.change({size: -1})
        return len(oldest)


def _stale(held: Mapping[bytes, Version], came: Mapping[bytes, Version]) -> set[bytes]:
    """Keys whose record has not seen all that the held one has seen, and more."""
    return {
        key
        for key, (left, right) in held.items()
        if came[key][0] < left or came[key][1] < right or came[key] == (left, right)
    }
