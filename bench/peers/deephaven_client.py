"""A remote client of Deephaven's, which is told of changes: the ticking client, in an environment of its own.

`python -m bench.peers.deephaven_client PORT TABLE`; then questions as to any other client (`bench.seen`).
"""

import os
import sys

from pydeephaven import Session  # type: ignore[import-not-found]
from pydeephaven_ticking.table_listener import listen  # type: ignore[import-not-found]

from bench.child import answer_questions
from bench.seen import Sightings, answer


class Client:
    def __init__(self, port: int, table: str) -> None:
        self.sightings = Sightings()
        self._session = Session("127.0.0.1", port)
        self._listening = listen(self._session.open_table(table), self._note, _fail)
        self._listening.start()

    def _note(self, update) -> None:  # type: ignore[no-untyped-def]
        left, right = ([*_added(update, column), *_modified(update, column)] for column in ("age", "balance"))
        if left or right:
            self.sightings.note(left, right)


def _added(update, column: str) -> list[float | None]:  # type: ignore[no-untyped-def]
    # All columns: the client of 0.40 cannot be asked for one.
    rows = update.added()
    return rows[column].to_pylist() if rows else []


def _modified(update, column: str) -> list[float | None]:  # type: ignore[no-untyped-def]
    """The values of the rows in which this column has changed.

    Not by `update.modified()`, which misses rows (seen with 42.7; 0.40.2 goes the same way): it takes
    `all_modified_rows`, the union of the columns' rows, and the client's `RowSequenceBuilder` makes a union too short
    where a range of one column's rows reaches beyond a range of another's that begins within it.
    """
    changed = update.update
    table = changed.after_modifies
    rows = changed.modified_rows  # of each column, or of none
    index = table.get_column_index(column, True)
    if index >= len(rows) or rows[index].empty:
        return []
    return table.get_column(index).get_chunk(rows[index]).to_pylist()  # type: ignore[no-any-return]


def _fail(error: Exception) -> None:
    """The listener hears nothing more, and its process ends, so that the parent can tell."""
    print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def main(port: str, table: str) -> None:
    client = Client(int(port), table)
    answer_questions(lambda question: answer(client.sightings.take, question))


if __name__ == "__main__":
    main(*sys.argv[1:])
