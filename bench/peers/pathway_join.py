"""Pathway: its Kafka connector, the latest row or rows of each key, a left or an inner join, a subscription.

`python -m bench.peers.pathway_join BOOTSTRAP DIRECTORY KEEP KIND [LEFT RIGHT NOTED]`, in Pathway's environment.
"""

import os
import sys
import threading
import traceback
from collections.abc import Mapping
from importlib.metadata import version
from typing import NoReturn

import pathway as pw  # type: ignore[import-not-found]

from bench.peers.peer import CHECK_MODULUS, Check, Join, run
from bench.seen import Sightings

COMMIT_MS = 10
"""How often the connectors hand over what has come: by default every 1.5 seconds."""


class User(pw.Schema):  # type: ignore[misc]
    userId: str  # noqa: N815 - as in the messages
    name: str
    email: str
    age: int


class Account(pw.Schema):  # type: ignore[misc]
    userId: str  # noqa: N815
    accountType: str  # noqa: N815
    balance: float


class Pathway:
    def __init__(self, bootstrap: str, join: Join) -> None:
        self.sightings = Sightings()
        self._bootstrap, self._join = bootstrap, join
        self._total = Check(rows=0, checksum=0)

    def about(self) -> Mapping[str, object]:
        return {"version": version("pathway"), "settings": f"commits every {COMMIT_MS} ms"}

    def begin(self, left: str, right: str) -> None:
        user = self._newest(left, User, self._join.keep)
        account = self._newest(right, Account, self._join.keep if self._join.inner else 1)
        join = user.join if self._join.inner else user.join_left
        joined = join(account, user.userId == account.userId).select(
            user.userId, user.name, user.email, user.age, account.accountType, account.balance
        )
        if self.sightings.with_rows:
            pw.io.subscribe(joined, on_change=self._note)
        else:
            pw.io.subscribe(_total(joined), on_change=self._note_total)
        threading.Thread(target=_run, name="pathway", daemon=True).start()

    def check(self) -> Check:
        return self._total

    def end(self) -> None:
        raise NotImplementedError("a process of Pathway's runs one program")

    def _newest(self, topic: str, schema: type, keep: int | None) -> pw.Table:
        """The rows of each key with the highest offsets. Pathway's own reducer `latest` knows no order among rows that
        come in one commit, and shows older ones."""
        # A group of its own for each process: one that was killed would hold up the next for 45 seconds.
        group = {"group.id": f"{topic}-{os.getpid()}", "auto.offset.reset": "earliest"}
        settings = {"bootstrap.servers": self._bootstrap, **group}
        options = {"schema": schema, "format": "json", "with_metadata": True, "autocommit_duration_ms": COMMIT_MS}
        rows = pw.io.kafka.read(settings, topic, **options)
        rows = rows.with_columns(offset=pw.this._metadata["offset"].as_int())
        keys = rows.groupby(pw.this.userId)
        if keep == 1:
            return rows.ix(keys.reduce(row=pw.reducers.argmax(pw.this.offset)).row)
        # All rows of a key in their order, and of these the last ones.
        ordered = keys.reduce(ordered=pw.reducers.sorted_tuple(pw.make_tuple(pw.this.offset, pw.this.id)))
        kept = ordered.select(row=pw.apply_with_type(_last, list[pw.Pointer], pw.this.ordered, keep))
        return rows.ix(kept.flatten(pw.this.row).row)

    def _note(self, key: object, row: dict[str, float], time: int, is_addition: bool) -> None:  # noqa: ARG002
        if is_addition:
            self.sightings.note([row["age"]], [row["balance"]])

    def _note_total(self, key: object, row: dict[str, int], time: int, is_addition: bool) -> None:  # noqa: ARG002
        if is_addition:
            self._total = Check(rows=row["rows"], checksum=row["checksum"])
            self.sightings.note()


def _run() -> NoReturn:
    try:
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    except Exception:  # noqa: BLE001 - whatever ends it ends this process, and its log tells
        traceback.print_exc()
    os._exit(1)


def _last(ordered: tuple[tuple[int, pw.Pointer], ...], count: int) -> list[pw.Pointer]:
    return [row for _, row in ordered[-count:]]


def _total(joined: pw.Table) -> pw.Table:
    """Added up by Pathway itself: to be told of each row of a backlog would take longer than to join it."""
    right = pw.cast(int, pw.coalesce(pw.this.balance, 0.0))
    rows = joined.select(check=pw.this.age + pw.this.age * right % CHECK_MODULUS)
    return rows.reduce(rows=pw.reducers.count(), checksum=pw.reducers.sum(pw.this.check))


def main(bootstrap: str, _directory: str, keep: str, kind: str, *at_once: str) -> None:
    run(Pathway(bootstrap, Join.told(keep, kind)), *at_once)


if __name__ == "__main__":
    main(*sys.argv[1:])
