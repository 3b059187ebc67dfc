"""From changelog records to the rows that people see: each side's own table, and the join.

The join is worked out on row numbers alone (which left row is shown with which right row); the columns of both sides
are then picked by these numbers. So no step depends on what a column is called.

Series are preferred to expressions where both would do: an expression costs 0.1 to 0.3 ms however few the rows, which
is felt when records come one at a time.
"""

from dataclasses import dataclass

import polars as pl

from turnout.schema import JoinSchema, JoinType, Match
from turnout.tables.delta import ROW

__all__ = ["MATCH", "ROW", "Expanded", "expand"]

MATCH = "_match"
"""Only in the joined table: the id of the row that a row is shown with, null if there is none. Not for people."""

# As Series, because Polars takes an expression's detour to add a str on the left.
_LEFT = pl.Series(["l:"])
_RIGHT = pl.Series(["r:"])
_NO_NUMBER = pl.Series([None], dtype=pl.UInt32)
_NO_ID = pl.Series([None], dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Expanded:
    """The three tables that some records stand for, each row with its id."""

    left: pl.DataFrame
    right: pl.DataFrame
    joined: pl.DataFrame


def expand(records: pl.DataFrame, schema: JoinSchema, join: JoinType, match: Match) -> Expanded:
    """The tables of decoded records, no two of the same key.

    An id in a table of one side is `<partition>:<offset>`. In the join it begins with `l:` or `r:`, for the side whose
    row this is, and stays when that row gets another match; a pair (inner, or match all) is `l:…|r:…`.
    """
    left = _rows(records.get_column("l"))
    right = _rows(records.get_column("r"))
    partners = right
    if records.get_column("k").null_count():
        records = _unmatched_where_key_is_null(records)
        partners = _rows(records.get_column("r"))
    return Expanded(left, right, _Join(records, left, partners, schema).rows(join, match))


def _rows(lists: pl.Series) -> pl.DataFrame:
    """The rows of one side, of all records, one after the other."""
    rows = lists.explode(empty_as_null=False, keep_nulls=False).struct.unnest()
    ids = rows.get_column("p").cast(pl.String) + ":" + rows.get_column("o").cast(pl.String)
    return ids.to_frame(ROW).hstack(rows.get_column("v").struct.unnest())


def _unmatched_where_key_is_null(records: pl.DataFrame) -> pl.DataFrame:
    right = pl.col("r")
    return records.with_columns(pl.when(pl.col("k").is_null()).then(right.list.head(0)).otherwise(right))


@dataclass(frozen=True, eq=False)
class _Join:
    """The joined table of some records, whose rows are also given one after the other."""

    records: pl.DataFrame
    left: pl.DataFrame
    right: pl.DataFrame
    schema: JoinSchema

    def rows(self, join: JoinType, shown_with: Match) -> pl.DataFrame:
        match join, shown_with:
            case JoinType.SEMI, _:
                return self._left_alone(self._latest("r", beside="l").is_not_null())
            case JoinType.ANTI, _:
                return self._left_alone(self._latest("r", beside="l").is_null())
            case JoinType.INNER, _:
                return self._pairs(left_alone=False, right_alone=False)
            case _, Match.ALL:
                return self._pairs(left_alone=join is not JoinType.RIGHT, right_alone=join is not JoinType.LEFT)
            case JoinType.LEFT, _:
                return self._by_left(self._latest("r", beside="l"))
            case JoinType.RIGHT, _:
                return self._by_right(self._latest("l", beside="r"))
            case _:
                return self._by_both()

    def _by_left(self, matches: pl.Series) -> pl.DataFrame:
        """Each left row with the right row of that number."""
        right = self.right[matches]
        return self._shown(_LEFT + self.left.get_column(ROW), self.left, right, right.get_column(ROW))

    def _by_right(self, matches: pl.Series) -> pl.DataFrame:
        """Each right row with the left row of that number."""
        left = self.left[matches]
        return self._shown(_RIGHT + self.right.get_column(ROW), left, self.right, left.get_column(ROW))

    def _by_both(self) -> pl.DataFrame:
        """Each left row with its latest right row, and each right row that this leaves out with its latest left row."""
        matches = self._latest("r", beside="l")
        numbers = pl.int_range(self.right.height, dtype=pl.UInt32, eager=True)
        left_out = ~numbers.is_in(matches.implode())
        by_right = self._by_right(self._latest("l", beside="r")).filter(left_out)
        return pl.concat([self._by_left(matches), by_right])

    def _left_alone(self, chosen: pl.Series) -> pl.DataFrame:
        left = self.left.filter(chosen)
        nothing = self.right[_NO_NUMBER.new_from_index(0, left.height)]
        return self._shown(_LEFT + left.get_column(ROW), left, nothing, nothing.get_column(ROW))

    def _pairs(self, *, left_alone: bool, right_alone: bool) -> pl.DataFrame:
        """Each left row with each right row of its key, and the rows of either side that have no other, if wanted."""
        numbers = self.records.select(_numbers("l"), _numbers("r"))
        numbers = numbers.explode("l", empty_as_null=right_alone).explode("r", empty_as_null=left_alone)
        if left_alone and right_alone:  # a record without any row has become a pair of nothing and nothing
            numbers = numbers.filter(pl.col("l").is_not_null() | pl.col("r").is_not_null())
        left, right = self.left[numbers.get_column("l")], self.right[numbers.get_column("r")]
        named = pl.DataFrame({"l": _LEFT + left.get_column(ROW), "r": _RIGHT + right.get_column(ROW)}).select(
            pl.concat_str("l", "r", separator="|", ignore_nulls=True)
        )
        matches = right.get_column(ROW)
        if right_alone:
            matches = matches.zip_with(left.get_column(ROW).is_not_null(), _NO_ID)
        return self._shown(named.to_series(), left, right, matches)

    def _latest(self, side: str, *, beside: str) -> pl.Series:
        """For each row of one side, the number of the latest row of the other, null if there is none."""
        latest = _numbers(side).list.first().repeat_by(pl.col(beside).list.len())
        return self.records.select(latest.explode(empty_as_null=False)).to_series()

    def _shown(self, ids: pl.Series, left: pl.DataFrame, right: pl.DataFrame, matches: pl.Series) -> pl.DataFrame:
        """Left and right rows side by side, a null row standing for none."""
        columns = left.get_columns()[1:]
        if left.get_column(ROW).null_count():  # a right row alone: its key is the key
            key = left.get_column(self.schema.key)
            filled = key.zip_with(key.is_not_null(), right.get_column(self.schema.key))
            columns = [filled if column.name == self.schema.key else column for column in columns]
        columns += [right.get_column(name).alias(shown) for name, shown in self.schema.right_names.items()]
        return ids.to_frame(ROW).hstack([*columns, matches.alias(MATCH)])


def _numbers(side: str) -> pl.Expr:
    """For each record, the numbers of its rows of a side, newest first."""
    count = pl.col(side).list.len()
    end = count.cum_sum()
    return pl.int_ranges(end - count, end, dtype=pl.UInt32).alias(side)
