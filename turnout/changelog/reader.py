"""Follows a pipeline's changelog and tells whoever watches it what changed."""

import threading
import time
from collections.abc import Callable, Mapping

import orjson
import polars as pl

from turnout.changelog.store import Store, Watcher
from turnout.kafka.client import Cluster, Offsets, Record
from turnout.schema import JoinSchema

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
    ) -> None:
        self._bus, self._changelog_topic, self._rejected_topic = bus, changelog_topic, rejected_topic
        self._data_topics = data_topics
        self._on_rejected, self._on_failure = on_rejected, on_failure
        self._store = Store(schema)
        self._lock = threading.Lock()
        self._watcher: Watcher | None = None
        self._read_until: dict[int, int] = {}
        self._progress = threading.Condition()
        self._seen: dict[tuple[str, int], int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"changelog {changelog_topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        with self._progress:
            self._progress.notify_all()
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

    def wait_until(self, ends: Offsets, cancelled: Callable[[], bool]) -> bool:
        """Wait until the changelog has been read up to `ends`; False if cancelled or stopped before."""
        with self._progress:
            while not all(self._read_until.get(partition, 0) >= end for partition, end in ends.items()):
                if cancelled() or self._stopping.is_set():
                    return False
                self._progress.wait(POLL_SECONDS)
        return True

    def wait_until_seen(self, positions: Mapping[tuple[str, int], int], seconds: float) -> None:
        """Wait until the effect of these offsets of the data topics has been read, `seconds` at most: an offset that
        holds no message, or one that is not among its key's newest, is never seen."""
        deadline = time.monotonic() + seconds
        with self._progress:
            while any(self._seen.get(at, -1) < offset for at, offset in positions.items()):
                left = deadline - time.monotonic()
                if left <= 0 or self._stopping.is_set():
                    return
                self._progress.wait(min(left, POLL_SECONDS))

    def seen(self) -> Mapping[tuple[str, int], int]:
        """Data topic and partition -> highest offset whose effect has been read here."""
        return dict(self._seen)

    def _run(self) -> None:
        try:
            reader = self._bus.reader([self._changelog_topic, self._rejected_topic])
            try:
                while not self._stopping.is_set():
                    self._take(reader.poll(POLL_SECONDS))
            finally:
                reader.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, someone has to know that the tables stand still
            if not self._stopping.is_set():
                self._on_failure(error)

    def _take(self, records: list[Record]) -> None:
        if not records:
            return
        changes = [record for record in records if record.topic == self._changelog_topic]
        rejected = [record for record in records if record.topic == self._rejected_topic]
        if changes:
            self._take_changes(changes)
        if rejected:
            self._take_rejected([orjson.loads(record.value or b"{}") for record in rejected])

    def _take_changes(self, records: list[Record]) -> None:
        with self._lock:
            change = self._store.take((record.key or b"", record.value or b"") for record in records)
            if change is not None:
                self._note_positions(change.new)
                if self._watcher is not None:
                    self._watcher.changed(change)
        with self._progress:
            for record in records:
                self._read_until[record.partition] = record.offset + 1
            self._progress.notify_all()

    def _take_rejected(self, rejected: list[Rejected]) -> None:
        for record in rejected:
            self._note_position(str(record["topic"]), int(str(record["partition"])), int(str(record["offset"])))
        self._on_rejected(rejected)

    def _note_positions(self, records: pl.DataFrame) -> None:
        for side, topic in self._data_topics.items():
            newest = records[side].list.first().struct
            for partition, offset in zip(newest.field("p").to_list(), newest.field("o").to_list(), strict=True):
                if partition is not None:
                    self._note_position(topic, partition, offset)

    def _note_position(self, topic: str, partition: int, offset: int) -> None:
        if offset > self._seen.get((topic, partition), -1):
            self._seen[topic, partition] = offset
