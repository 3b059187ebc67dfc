"""One table of a running Turnout."""

import json
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, TypeVar, Unpack
from urllib.parse import quote

from turnout.client import frames
from turnout.client.changes import Changes, Options
from turnout.client.events import Row
from turnout.client.held import Held
from turnout.client.live import Live
from turnout.client.query import Query, query_text
from turnout.client.server import Server

if TYPE_CHECKING:
    from turnout.client.frames import ArrowTable, PandasFrame, PolarsFrame

Answer = TypeVar("Answer")


class Table:
    """What it has now, by `rows` and `to_…`: all, or what `columns`, `filter`, `sort` and `limit` leave (see `Query`).

    And what it has from now on, by `live`, `follow` and `changes`: these go on through switches, cut connections and
    restarts of the server.
    """

    def __init__(self, server: Server, name: str, opened: Callable[[Changes], None]) -> None:
        self.name = name
        self._server, self._opened = server, opened
        self._path = f"/api/tables/{quote(name, safe='')}"

    def rows(self, **query: Unpack[Query]) -> list[Row]:
        """Without a sort: those that changed last at the end."""
        return self._snapshot("json", query, lambda answer: list(json.load(answer)["rows"]))

    def to_polars(self, **query: Unpack[Query]) -> "PolarsFrame":
        return self._snapshot("arrow", query, frames.to_polars)

    def to_arrow(self, **query: Unpack[Query]) -> "ArrowTable":
        """Needs pyarrow."""
        return self._snapshot("arrow", query, frames.to_arrow)

    def to_pandas(self, **query: Unpack[Query]) -> "PandasFrame":
        """Needs pandas and pyarrow."""
        return self._snapshot("arrow", query, frames.to_pandas)

    def changes(self, **options: Unpack[Options]) -> Changes:
        """A `Snapshot`, then each `Change` and `Swap` as it comes."""
        changes = Changes(self._server, f"{self._path}/changes", **options)
        self._opened(changes)
        return changes

    def follow(self, **options: Unpack[Options]) -> Iterator[list[Row]]:
        """All rows, each time that something has changed."""
        held = Held()
        with self.changes(**options) as changes:
            for event in changes:
                held.take(event)
                yield held.rows

    def live(self, **options: Unpack[Options]) -> Live:
        """A context in which the rows are kept up to date in the background."""
        return Live(self.changes(**options))

    def _snapshot(self, form: str, query: Query, read: Callable[[IO[bytes]], Answer]) -> Answer:
        with self._server.open(self._path + query_text(form, query)) as response:
            return read(response)

    def __repr__(self) -> str:
        return f"<Table {self.name} of {self._server.url}>"
