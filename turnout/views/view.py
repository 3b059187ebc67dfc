"""A changelog shown by one join type under the public names."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from turnout.changelog.bounds import Bound
from turnout.changelog.store import Change
from turnout.config import PublicNames
from turnout.schema import JoinSchema, JoinType, Match
from turnout.tables.delta import Delta
from turnout.tables.registry import Registry
from turnout.views.counting import joined_rows
from turnout.views.expand import MATCH, ROW, expand
from turnout.views.few import deltas


@dataclass(frozen=True)
class View:
    """One generation's way from changed records to changed rows; it keeps no rows of its own."""

    registry: Registry
    names: PublicNames
    schema: JoinSchema
    join: JoinType
    match: Match
    generation: int

    @property
    def bound(self) -> Bound:
        """Of the joined table."""
        rows = joined_rows(self.join, self.match)
        return Bound(self.names.joined, self.schema.max_rows, "join.max_rows", lambda size: rows(size[0], size[2]))

    def show(self, records: pl.DataFrame) -> None:
        """Take over the public tables with the rows of these records."""
        rows = expand(records, self.schema, self.join, self.match)
        self.registry.swap(
            self.generation,
            {self.names.left: rows.left, self.names.right: rows.right, self.names.joined: rows.joined.drop(MATCH)},
        )

    def changed(self, change: Change) -> None:
        self.registry.change(self._deltas(change), self.generation)

    def _deltas(self, change: Change) -> Mapping[str, Delta]:
        if change.old.few and change.new.few:
            few = deltas(change.old.plain, change.new.plain, self.schema, self.join, self.match)
            return {self.names.left: few.left, self.names.right: few.right, self.names.joined: few.joined}
        old = expand(change.old.frame, self.schema, self.join, self.match)
        new = expand(change.new.frame, self.schema, self.join, self.match)
        return {
            self.names.left: Delta.between(old.left, new.left, [ROW]),
            self.names.right: Delta.between(old.right, new.right, [ROW]),
            self.names.joined: Delta.between(old.joined, new.joined, [ROW, MATCH]),
        }
