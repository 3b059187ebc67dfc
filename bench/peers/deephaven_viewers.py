"""Remote viewers of Deephaven's joined table, sorted on the server: a session and a subscription each.

`python -m bench.peers.deephaven_viewers PORT TABLE SORTED_BY`; then a question per line: how many are to be open.
"""

import os
import sys
from typing import TypedDict

from pydeephaven import Session  # type: ignore[import-not-found]
from pydeephaven_ticking.table_listener import listen  # type: ignore[import-not-found]

from bench.child import answer_questions

NICENESS = 10


class Question(TypedDict):
    viewers: int


class Viewers:
    def __init__(self, port: int, table: str, sorted_by: str) -> None:
        self._port, self._table, self._sorted_by = port, table, sorted_by
        self._open: list[tuple[Session, object, object]] = []
        self._told = 0

    def answer(self, question: Question) -> dict[str, object]:
        while len(self._open) < question["viewers"]:
            session = Session("127.0.0.1", self._port)
            view = session.open_table(self._table).sort_descending(self._sorted_by)
            listening = listen(view, self._note)
            listening.start()
            self._open.append((session, view, listening))
        return {"fetched": self._told}

    def _note(self, update) -> None:  # type: ignore[no-untyped-def]  # noqa: ARG002
        self._told += 1


def main(port: str, table: str, sorted_by: str) -> None:
    os.nice(NICENESS)
    answer_questions(Viewers(int(port), table, sorted_by).answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
