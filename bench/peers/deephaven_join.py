"""Deephaven's embedded server: two Kafka consumers, the last row or rows of each key, a natural join or an inner one.

`python -m bench.peers.deephaven_join BOOTSTRAP DIRECTORY KEEP KIND CYCLE_MS BARRAGE_MS [LEFT RIGHT NOTED]`, in an
environment with Deephaven's server.
"""

import socket
import sys
from collections.abc import Mapping
from importlib.metadata import version

from deephaven_server import Server  # type: ignore[import-not-found]

from bench.peers.peer import CHECK_MODULUS, Check, Join, run
from bench.seen import Sightings

HEAP = "-Xmx4g"
"""As in Deephaven's own instructions."""

JOINED = "joined"
KEY = "userId"
STAMPS = ["age", "balance"]
"""The columns with the times of the left and of the right message."""


class Deephaven:
    def __init__(self, bootstrap: str, join: Join, cycle_ms: int, barrage_ms: int) -> None:
        """Tables change once in a cycle; remote clients are told at most once in `barrage_ms`."""
        self.sightings = Sightings()
        self._join = join
        self._kafka = {"bootstrap.servers": bootstrap}
        self._settings = f"cycle {cycle_ms} ms, Barrage {barrage_ms} ms, {HEAP}"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        self._server = Server(
            host="127.0.0.1",
            port=self._port,
            jvm_args=[
                HEAP,
                f"-DPeriodicUpdateGraph.targetCycleDurationMillis={cycle_ms}",
                f"-Dbarrage.minUpdateInterval={barrage_ms}",
                # A new client is sent the whole table at once, not in growing pieces: where rows change meanwhile, that
                # of 42.7 says that their "chunks have inconsistent sizes", and ends.
                "-DBarrageMessageProducer.subscriptionGrowthEnabled=false",
                "-DAuthHandlers=io.deephaven.auth.AnonymousAuthenticationHandler",
            ],
        )
        self._server.start()

    def about(self) -> Mapping[str, object]:
        return {"version": version("deephaven-server"), "settings": self._settings, "port": self._port, "table": JOINED}

    def begin(self, left: str, right: str) -> None:
        # Deephaven's modules can be imported only when its server runs.
        from deephaven import dtypes as dt  # type: ignore[import-not-found]
        from deephaven.execution_context import get_exec_ctx  # type: ignore[import-not-found]
        from deephaven.table_listener import listen  # type: ignore[import-not-found]
        from deephaven.update_graph import shared_lock  # type: ignore[import-not-found]

        # A consumer's rows are there for one cycle: without the lock, those before `last_by` would be lost.
        with shared_lock(get_exec_ctx().update_graph):
            user = {KEY: dt.string, "name": dt.string, "email": dt.string, "age": dt.int64}
            account = {KEY: dt.string, "accountType": dt.string, "balance": dt.double}
            users = self._newest(left, user, self._join.keep)
            if self._join.inner:
                self._joined = users.join(self._newest(right, account, self._join.keep), on=KEY)
            else:
                self._joined = users.natural_join(self._newest(right, account, 1), on=KEY)
        # A remote client finds the table by its name.
        sys.modules["__main__"].__dict__[JOINED] = self._joined
        self._listening = listen(self._joined, self._note, do_replay=True)

    def check(self) -> Check:
        from deephaven import agg

        right = "isNull(balance) ? 0L : (long)balance"
        sums = self._joined.snapshot().view(
            ["row = 1L", f"check = age + age * ({right}) % {CHECK_MODULUS}L"],
        )
        total = sums.agg_by(agg.sum_(["row", "check"]))
        (row,) = total.iter_dict() if total.size else [{"row": 0, "check": 0}]
        return Check(rows=int(row["row"]), checksum=int(row["check"]))

    def end(self) -> None:
        self._listening.stop()
        del sys.modules["__main__"].__dict__[JOINED]
        del self._joined, self._listening

    def _newest(self, topic: str, columns: dict[str, object], keep: int | None):  # type: ignore[no-untyped-def]
        """The newest rows of each key. More than one are to be had only of a table that keeps all rows."""
        from deephaven.stream.kafka import consumer  # type: ignore[import-not-found]

        rows = consumer.consume(
            self._kafka,
            topic,
            key_spec=consumer.KeyValueSpec.IGNORE,
            value_spec=consumer.json_spec(columns),
            offsets=consumer.ALL_PARTITIONS_SEEK_TO_BEGINNING,
            table_type=consumer.TableType.blink() if keep == 1 else consumer.TableType.append(),
        ).view(list(columns))
        return rows.last_by(KEY) if keep == 1 else rows.tail_by(keep, by=KEY)

    def _note(self, update, is_replay: bool) -> None:  # type: ignore[no-untyped-def]  # noqa: ARG002
        if not self.sightings.with_rows:
            self.sightings.note()
            return
        # What comes together is noted together: whoever asks meanwhile must not find the half of it.
        parts = [rows for rows in (update.added(STAMPS), update.modified(STAMPS)) if rows]
        if parts:
            left, right = ([stamp for rows in parts for stamp in rows[column].tolist()] for column in STAMPS)
            self.sightings.note(left, right)


def main(bootstrap: str, _directory: str, keep: str, kind: str, cycle_ms: str, barrage_ms: str, *at_once: str) -> None:
    run(Deephaven(bootstrap, Join.told(keep, kind), int(cycle_ms), int(barrage_ms)), *at_once)


if __name__ == "__main__":
    main(*sys.argv[1:])
