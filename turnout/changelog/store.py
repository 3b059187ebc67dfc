"""What a changelog says at this moment: for each key its newest record."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from turnout.changelog.record import decode
from turnout.schema import JoinSchema


@dataclass(frozen=True)
class Change:
    """Some keys' records before and after; a key that is new has none before."""

    old: pl.DataFrame
    new: pl.DataFrame


class Watcher(Protocol):
    """Sees each change, in order, on the reader's thread."""

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
    """

    def __init__(self, schema: JoinSchema) -> None:
        self._schema = schema
        self._records: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._records)

    def take(self, records: Iterable[tuple[bytes, bytes]]) -> Change | None:
        """Take records in the order they came; what changed by them, or None."""
        # The last word of each key. Where a restarted pipeline's older version comes last, the newer one is held up,
        # not lost: it comes again.
        latest = dict(records)
        held = {key: record for key in latest if (record := self._records.get(key)) is not None}
        old = decode(list(held.values()), self._schema)
        new = decode(list(latest.values()), self._schema)
        stale = _stale(dict(zip(held, _versions(old), strict=True)), dict(zip(latest, _versions(new), strict=True)))
        if stale:
            old = old.filter(pl.Series([key not in stale for key in held]))
            new = new.filter(pl.Series([key not in stale for key in latest]))
            latest = {key: record for key, record in latest.items() if key not in stale}
        if not latest:
            return None
        self._records.update(latest)
        return Change(old, new)

    def all(self) -> pl.DataFrame:
        """Every key's record."""
        return decode(list(self._records.values()), self._schema)


Version = tuple[int, int]


def _versions(records: pl.DataFrame) -> list[Version]:
    return list(zip(records["ln"].to_list(), records["rn"].to_list(), strict=True))


def _stale(held: Mapping[bytes, Version], came: Mapping[bytes, Version]) -> set[bytes]:
    """Keys whose record has not seen all that the held one has seen, and more."""
    return {
        key
        for key, (left, right) in held.items()
        if came[key][0] < left or came[key][1] < right or came[key] == (left, right)
    }
