"""The difference between two states of a table: which rows are new or changed, and which are gone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

ROW = "_row"
"""The id of a row: the first column of every table."""


@dataclass(frozen=True, eq=False)
class Delta:
    """Rows to put into a table, in place of those with the same id, and ids of rows to take out of it.

    An id is in it once at most.
    """

    upserts: pl.DataFrame
    removes: pl.Series

    @classmethod
    def between(cls, old: pl.DataFrame, new: pl.DataFrame, identity: Sequence[str]) -> Self:
        """What turns `old` into `new`.

        Two rows are taken to be equal if their `identity` is: the id, and columns that change whenever the row does.
        The latter serve only this, and are left out of the upserts.
        """
        upserts = new.join(old, on=list(identity), how="anti", nulls_equal=True, maintain_order="left")
        removes = old.join(new, on=ROW, how="anti", maintain_order="left")
        return cls(upserts.drop(name for name in identity if name != ROW), removes.get_column(ROW))


def merge(deltas: Sequence[Delta]) -> Delta:
    """One delta that does what these (one at least) do one after the other: of each id the last word counts."""
    if len(deltas) == 1:
        return deltas[0]
    upserts = pl.concat([delta.upserts for delta in deltas])
    last = _last_words(deltas)
    upserted = last.get_column("upsert").drop_nulls()
    removed = last.filter(pl.col("upsert").is_null()).get_column("id")
    return Delta(upserts[upserted], removed.alias(ROW))


def apply(base: pl.DataFrame, deltas: Sequence[Delta]) -> pl.DataFrame:
    """The table after these deltas: untouched rows first, then the upserts, each in their order."""
    if not deltas:
        return base
    delta = merge(deltas)
    touched = pl.concat([delta.upserts.get_column(ROW), delta.removes])
    untouched = base.filter(~base.get_column(ROW).is_in(touched.implode()))
    return pl.concat([untouched, delta.upserts])


def _last_words(deltas: Sequence[Delta]) -> pl.DataFrame:
    """For each id, in the order of their last words: the number of its last upsert, null if it was removed."""
    words, upserts = [], 0
    for delta in deltas:
        numbers = pl.int_range(upserts, upserts + delta.upserts.height, dtype=pl.UInt32, eager=True)
        words.append(pl.DataFrame({"id": delta.upserts.get_column(ROW), "upsert": numbers}))
        words.append(pl.DataFrame({"id": delta.removes, "upsert": pl.Series([None], dtype=pl.UInt32).new_from_index(0, delta.removes.len())}))
        upserts += delta.upserts.height
    return pl.concat(words).unique("id", keep="last", maintain_order=True)
