"""Rows under a stable name."""

import polars as pl

from turnout.changelog.record import dtypes
from turnout.schema import Columns
from turnout.tables.delta import ROW, Delta, apply, merge

# Changes are kept as they come and merged in tiers, each of up to this many: a change costs little however large the
# table is, and a snapshot never has to merge more than a few dozen.
TIER = 16

# Of a row that came and went since, the changes still know the id. Once they know as many ids as the table has rows,
# they are put into it: so what they take is bounded, and a change costs the same however large the table is. But not
# before there are so many.
FEWEST_PUT_IN = 10_000


class LiveTable:
    """The rows of one public table, each with its id. Not thread-safe: the registry guards it."""

    def __init__(self, name: str, columns: Columns) -> None:
        self.name = name
        self.columns = columns
        self._rows = pl.DataFrame(schema={ROW: pl.String(), **dtypes(columns)})
        self._tiers: list[list[Delta]] = []
        self._known = 0

    def rows(self) -> pl.DataFrame:
        """All rows, those that changed last at the end."""
        if self._tiers:
            oldest_first = [delta for tier in reversed(self._tiers) for delta in tier]
            self._rows = apply(self._rows, oldest_first)
            self._tiers = []
            self._known = 0
        return self._rows

    def change(self, delta: Delta) -> None:
        self._keep(delta)
        self._known += len(delta)
        if self._known > max(FEWEST_PUT_IN, self._rows.height):
            self.rows()

    def _keep(self, delta: Delta) -> None:
        for tier in self._tiers:
            tier.append(delta)
            if len(tier) < TIER:
                return
            delta = merge(tier)
            tier.clear()
        self._tiers.append([delta])

    def swap(self, rows: pl.DataFrame) -> Delta:
        """Take these rows instead; what that changed."""
        held = self.rows()
        self._rows = rows[held.columns]
        ids = held.get_column(ROW)
        return Delta(_rows_not_in(held, self._rows), ids.filter(~ids.is_in(self._rows.get_column(ROW).implode())))


def _rows_not_in(others: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Those of `rows` that `others` does not have, in their order."""
    # By number, because Polars would take some names (`*`, `^.*$`) for patterns.
    numbers = [str(number) for number in range(rows.width)]
    ours, theirs = rows.clone(), others.clone()
    ours.columns = theirs.columns = numbers
    found = ours.join(theirs, on=numbers, how="anti", nulls_equal=True, maintain_order="left")
    found.columns = rows.columns
    return found
