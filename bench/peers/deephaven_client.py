"""A remote client of Deephaven's, which is told of changes: the ticking client, in an environment of its own.

`python -m bench.peers.deephaven_client PORT TABLE`; then questions as to any other client (`bench.seen`).
"""

import sys

from pydeephaven import Session  # type: ignore[import-not-found]
from pydeephaven_ticking.table_listener import listen  # type: ignore[import-not-found]

from bench.child import answer_questions
from bench.seen import Sightings, answer


class Client:
    def __init__(self, port: int, table: str) -> None:
        self.sightings = Sightings()
        self._session = Session("127.0.0.1", port)
        self._listening = listen(self._session.open_table(table), self._note)
        self._listening.start()

    def _note(self, update) -> None:  # type: ignore[no-untyped-def]
        # All columns: the client of 0.40 cannot be asked for two.
        for rows in (update.added(), update.modified()):
            if rows:
                self.sightings.note(rows["age"].to_pylist(), rows["balance"].to_pylist())


def main(port: str, table: str) -> None:
    client = Client(int(port), table)
    answer_questions(lambda question: answer(client.sightings.take, question))


if __name__ == "__main__":
    main(*sys.argv[1:])
