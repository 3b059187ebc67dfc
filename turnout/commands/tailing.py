"""The rows that a live table in the terminal shows: held here, so that each change costs little."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from turnout.client import Change, Client, Event, Held, Row, Unreachable

if TYPE_CHECKING:
    import polars as pl

    from turnout.schema import Columns


@dataclass(frozen=True)
class Asked:
    """Which rows of which table somebody wants to see."""

    table: str
    filters: Sequence[str]
    sort: Sequence[str]
    columns: Sequence[str]

    @property
    def everything(self) -> bool:
        return not (self.filters or self.sort or self.columns)


@dataclass(frozen=True)
class Shown:
    rows: Sequence[Mapping[str, Any]]
    matching: int
    total: int
    generation: int


class Tail(Protocol):
    def take(self, event: Event) -> None: ...

    def shown(self, count: int) -> Shown:
        """So many rows at most: the first by the sort, or else those that changed last."""
        ...


def tail_of(client: Client, asked: Asked) -> Tail:
    return Newest() if asked.everything else Selected(client, asked)


class Newest:
    """All rows and columns, those that changed last at the end. It does without Polars, which takes long to load."""

    def __init__(self) -> None:
        self._held = Held()

    def take(self, event: Event) -> None:
        self._held.take(event)

    def shown(self, count: int) -> Shown:
        total = len(self._held)
        return Shown(self._held.newest(count), total, total, self._held.generation)


class Selected:
    """Filters, sorts and columns, by the very code that answers them on the server: so they mean the same.

    The rows are in columns, as they are there. Changes wait until the rows are looked at, and go in all at once.
    """

    def __init__(self, client: Client, asked: Asked) -> None:
        from turnout.serve.snapshot import Query

        self._client, self._asked = client, asked
        self._query = Query(asked.filters, asked.sort, asked.columns)
        self._columns: Columns = {}
        self._generation = 0
        self._waiting: dict[str, Row | None] = {}
        """The last word on each row that has changed; None: it is gone."""
        self._selected: pl.DataFrame | None = None

    def take(self, event: Event) -> None:
        self._generation, self._selected = event.generation, None
        if isinstance(event, Change):
            self._wait(dict.fromkeys(event.removes))
            self._wait(event.upserts)
        else:
            from turnout.tables.live_table import LiveTable

            self._columns = self._known_columns()
            self._table, self._waiting = LiveTable(self._asked.table, self._columns), dict(event.rows)
            self._select()  # the columns may be others now: it is here that what is asked for is refused

    def shown(self, count: int) -> Shown:
        found = self._select()
        first = found.head(count) if self._asked.sort else found.tail(count)
        return Shown(first.to_dicts(), found.height, self._table.rows().height, self._generation)

    def _wait(self, rows: Mapping[str, Row | None]) -> None:
        for id_, row in rows.items():
            self._waiting.pop(id_, None)  # so that it comes last
            self._waiting[id_] = row

    def _select(self) -> "pl.DataFrame":
        from turnout.serve.snapshot import select
        from turnout.tables.delta import Delta

        if self._selected is None:
            waiting, self._waiting = self._waiting, {}
            upserts = {id_: row for id_, row in waiting.items() if row is not None}
            self._table.change(Delta(self._frame(upserts), _ids(waiting.keys() - upserts.keys())))
            self._selected = select(self._table.rows(), self._columns, self._query)
        return self._selected

    def _known_columns(self) -> "Columns":
        """A server that was restarted may have others; one that is gone again has not."""
        from turnout.schema import ColumnType

        try:
            tables = {table.name: table.columns for table in self._client.tables()}
        except Unreachable:
            if not self._columns:
                raise
            return self._columns
        return {name: ColumnType(kind) for name, kind in tables[self._asked.table].items()}

    def _frame(self, rows: Mapping[str, Row]) -> "pl.DataFrame":
        import polars as pl

        from turnout.changelog.record import dtypes

        values = {name: [row.get(name) for row in rows.values()] for name in self._columns}
        return _ids(rows).to_frame().hstack(pl.DataFrame(values, schema=dtypes(self._columns)))


def _ids(ids: Iterable[str]) -> "pl.Series":
    import polars as pl

    from turnout.tables.delta import ROW

    return pl.Series(ROW, list(ids), dtype=pl.String)
