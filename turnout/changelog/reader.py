"""Follows a pipeline's changelog and tells whoever watches it what changed."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

from turnout.changelog.freshness import FreshnessMeter
from turnout.changelog.intake import Intake
from turnout.changelog.progress import Position, Progress
from turnout.changelog.record import origins
from turnout.changelog.rejected import RejectedRecord, rejected_in
from turnout.changelog.store import Store, Watcher
from turnout.kafka.client import Cluster, Record
from turnout.schema import JoinSchema

# After records, a rest of as long as they took, up to this: when many come, more of them are taken at once, which is
# cheaper for each. One that comes alone is shown at once, and the next one is not there yet.
LONGEST_REST_SECONDS = 0.01
POLL_SECONDS = 0.1  # how long stopping may take; a record that comes is read at once

Rejected = Mapping[str, object]


class ChangelogReader:
    """One thread per pipeline: reads its changelog and its rejected records from the beginning, then follows them."""

    def __init__(
        self,
        bus: Cluster,
        changelog_topic: str,
        rejected_topic: str,
        data_topics: Mapping[str, str],
        schema: JoinSchema,
        on_rejected: Callable[[list[Rejected]], None],
        on_failure: Callable[[Exception], None],
        intake: Intake,
    ) -> None:
        self._bus, self._changelog_topic, self._rejected_topic = bus, changelog_topic, rejected_topic
        self._data_topics = data_topics
        self._on_rejected, self._on_failure = on_rejected, on_failure
        self._intake = intake
        self._store = Store(schema)
        self._lock = threading.Lock()
        self._watcher: Watcher | None = None
        self.progress = Progress()
        self.freshness = FreshnessMeter()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"changelog {changelog_topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self.progress.end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def watch(self, watcher: Watcher, first: Callable[[pl.DataFrame], None]) -> None:
        with self._lock:
            first(self._store.bind(watcher.bound))
            self._watcher = watcher

    def unwatch(self) -> None:
        with self._lock:
            self._watcher = None
            self._store.unbind()

    def _run(self) -> None:
        try:
            reader = self._bus.reader([self._changelog_topic, self._rejected_topic])
            try:
                while not self._stopping.is_set():
                    self._take_at_a_pace(reader.poll(POLL_SECONDS))
            finally:
                reader.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, someone has to know that the tables stand still
            if not self._stopping.is_set():
                self._on_failure(error)

    def _take_at_a_pace(self, records: list[Record]) -> None:
        began = time.monotonic()
        self._take(records)
        if records:
            self._stopping.wait(min(time.monotonic() - began, LONGEST_REST_SECONDS))

    def _take(self, records: list[Record]) -> None:
        if not records:
            return
        changes = [record for record in records if record.topic == self._changelog_topic]
        rejected = [record for record in records if record.topic == self._rejected_topic]
        if changes:
            self._take_changes(changes)
        if rejected:
            self._take_rejected(rejected)

    def _take_changes(self, records: list[Record]) -> None:
        with self._lock:
            change = self._store.take((record.key or b"", record.value or b"") for record in records)
            if change is not None:
                if self._watcher is not None:
                    self._watcher.changed(change)
                self.freshness.note(change.new, shown=self._watcher is not None)
            taken = change.new if change is not None else None
            self._intake.note(len(records), taken, shown=self._watcher is not None)
        self.progress.note(records, self._worked_on)

    def _take_rejected(self, records: list[Record]) -> None:
        found = {(record.partition, record.offset): rejected_in(record) for record in records}
        rejected = {at: one for at, one in found.items() if one is not None}
        self._on_rejected([vars(one) for one in rejected.values()])

        def worked_on(some: Sequence[Record]) -> Mapping[Position, int]:
            places = ((record.partition, record.offset) for record in some)
            return _positions_of(rejected[at] for at in places if at in rejected)

        self.progress.note(records, worked_on)

    def _worked_on(self, records: Sequence[Record]) -> Mapping[Position, int]:
        last = origins(record.value or b"" for record in records)
        return {(self._data_topics[side], partition): offset for (side, partition), offset in last.items()}


def _positions_of(rejected: Iterable[RejectedRecord]) -> Mapping[Position, int]:
    last: dict[Position, int] = {}
    for record in rejected:
        at = record.topic, record.partition
        last[at] = max(record.offset, last.get(at, -1))
    return last
