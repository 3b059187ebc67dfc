"""How many rows a changelog's keys have in a table, and when these are too many.

A record says how many rows it has seen of either side, and holds the newest of them up to `keep`. So the rows of a key
are known from two numbers, in any table and before any of them is made: a join that would not fit into memory is cut
before it is worked out.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter

from turnout.changelog.records import Records
from turnout.schema import JoinSchema

# What goes at once, so that not every change has to look for the oldest keys: a twentieth of a small table; of a large
# one as many rows as go in a few dozen milliseconds, because viewers wait that long.
FREED_SHARE = 20
FREED_ROWS = 1_000

Size = tuple[int, int, int]
"""Of a key: its left rows, its right rows, and how many of the latter are part of the join: none if the key is null."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bound:
    """At most so many rows of a table."""

    table: str
    max_rows: int
    setting: str
    """The key of the configuration that says so."""
    rows: Callable[[Size], int]
    """How many rows a key of this size has in the table."""


def side_bounds(schema: JoinSchema) -> list[Bound]:
    return [
        Bound(table.shown_as, table.max_rows, f"tables.{table.name}.max_rows", itemgetter(side))
        for side, table in enumerate((schema.left, schema.right))
    ]


def sizes(records: Records, schema: JoinSchema) -> list[Size]:
    """Of their keys, by their versions."""
    # In plain Python: for a single record, Polars takes 50 times as long to say how long a list is.
    most_left, most_right = schema.left.keep, schema.right.keep
    kept = [
        # min() would take three times as long.
        (left if left < most_left else most_left, right if right < most_right else most_right)  # noqa: FURB136
        for left, right in records.versions
    ]
    if records.has_null_key:
        return [
            (left, right, 0 if key is None else right) for key, (left, right) in zip(records.keys, kept, strict=True)
        ]
    return [(left, right, right) for left, right in kept]


class Tally:
    """Counts the rows of one table."""

    def __init__(self, bound: Bound) -> None:
        self._bound, self._max_rows = bound, bound.max_rows
        self._freed = bound.max_rows - min(bound.max_rows // FREED_SHARE, FREED_ROWS)
        self._warned = False
        self.rows = 0

    def change(self, keys: Mapping[Size, int]) -> None:
        """So many keys of each size have come, or, below 0, gone."""
        rows = self._bound.rows
        self.rows += sum(count * rows(size) for size, count in keys.items() if count)

    @property
    def above(self) -> bool:
        return self.rows > self._max_rows

    @property
    def freed(self) -> bool:
        """Has enough gone?"""
        return self.rows <= self._freed

    def warn(self) -> None:
        """Once: it would be said again and again from then on."""
        if not self._warned:
            self._warned = True
            log.warning(
                "%s has reached its %s rows: from now on the keys that changed longest ago leave all tables, until they"
                " change again. If there is memory for more, raise %s; lower `keep` to have fewer rows of each key.",
                self._bound.table,
                f"{self._bound.max_rows:,}",
                self._bound.setting,
            )
