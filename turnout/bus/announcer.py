"""Tells on the bus what this Turnout shows, while it leads."""

import logging
import queue
import threading
from collections.abc import Iterable, Sequence

from turnout.bus.bulletin import LARGEST_BYTES, LARGEST_ENTRY_BYTES, TOPIC, Begin, Entry, Row, Wire, written
from turnout.bus.topics import BusTopics
from turnout.errors import KafkaError
from turnout.kafka.client import BROKERS_DEFAULT, Cluster
from turnout.tables.delta import ROW, Delta
from turnout.tables.registry import Event, Registry
from turnout.tables.system import SHOWN_VALUE_BYTES, cut

RETRY_SECONDS = STOP_SECONDS = 1.0

log = logging.getLogger(__name__)


class Announcer:
    """One thread: publishes all entries in their order; of what it has not got rid of yet, the last of each key."""

    def __init__(
        self, bus: Cluster, topics: BusTopics, name: str, term: int, replication: int = BROKERS_DEFAULT
    ) -> None:
        self._bus, self._topic, self._term, self._replication = bus, topics.bulletin, term, replication
        self._publisher = bus.publisher(LARGEST_BYTES)
        self._news: queue.SimpleQueue[Sequence[Entry] | None] = queue.SimpleQueue()
        self._pending: dict[bytes, bytes | None] = {}
        self._cut: set[bytes] = set()  # keys of entries that were too large
        self._made = self._failed = self._ending = False
        self._thread = threading.Thread(target=self._run, name="announcer", daemon=True)
        self.tell(Begin(name))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What has been told by now is published, if the bus answers."""
        self._news.put(None)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def tell(self, *entries: Entry) -> None:
        self._news.put(entries)

    def follow(self, registry: Registry, table: str) -> None:
        """Tell the rows of a table, and each change from there on."""

        def note(event: Event) -> None:
            self.tell(*_rows(table, event.delta))

        with registry.at_once():
            rows = registry.subscribe(table, note).rows
            self.tell(*_rows(table, Delta(rows, rows.get_column(ROW).clear())))

    def _run(self) -> None:
        while not self._ending:
            try:
                self._take()
                self._publish()
            except Exception:  # a defect; but those who follow must not stand still without a word
                if not self._failed:
                    log.exception("Other servers cannot be told what is shown, for an unexpected reason, trying again")
                self._failed, self._made = True, False

    def _take(self) -> None:
        """All that there is to tell. It waits for the first, but not for long if something is left to be published."""
        try:
            self._note(self._news.get(timeout=RETRY_SECONDS if self._pending else None))
            while True:
                self._note(self._news.get_nowait())
        except queue.Empty:
            return

    def _note(self, entries: Sequence[Entry] | None) -> None:
        if entries is None:
            self._ending = True
            return
        for entry in entries:
            try:
                wire = self._fitting(entry)
            except Exception:  # a defect; but the others can be told
                log.exception("Other servers are not told of one thing, for an unexpected reason")
                continue
            if wire is not None:
                key, value = wire
                self._pending.pop(key, None)  # what is told again is told last
                self._pending[key] = value

    def _fitting(self, entry: Entry) -> Wire | None:
        """One that is too large would keep all others from being told: a row's texts are cut."""
        wire = written(entry, self._term)
        if _size(wire) <= LARGEST_ENTRY_BYTES:
            return wire
        shorter = written(_shortened(entry), self._term)
        fits = _size(shorter) <= LARGEST_ENTRY_BYTES
        if wire[0] not in self._cut:  # a row is told each time that it changes
            self._cut.add(wire[0])
            what = f"show the first {SHOWN_VALUE_BYTES} bytes of its texts" if fits else "are not told of it"
            log.warning(
                "%s takes %d bytes, more than the %d that can be told: other servers %s",
                *(_named(entry), _size(wire), LARGEST_ENTRY_BYTES, what),
            )
        return shorter if fits else None

    def _publish(self) -> None:
        try:
            if not self._made:
                self._bus.create_topics([self._topic], 1, TOPIC, self._replication)
                self._made = True
            self._publisher.publish_all(self._topic, list(self._pending.items()))
            self._pending.clear()
            self._failed = False
        except KafkaError as error:
            if not self._failed:  # once, not every second
                log.warning("Other servers cannot be told what is shown, trying again: %s", error)
            self._failed, self._made = True, False


def _size(wire: Wire) -> int:
    return sum(len(part or b"") for part in wire)


def _shortened(entry: Entry) -> Entry:
    if not isinstance(entry, Row) or entry.values is None:
        return entry
    values = {name: cut(value) if isinstance(value, str) else value for name, value in entry.values.items()}
    return Row(entry.table, entry.id, values)


def _named(entry: Entry) -> str:
    """For people."""
    return f"Row {entry.id} of {entry.table}" if isinstance(entry, Row) else f"What is told as {type(entry).__name__}"


def _rows(table: str, delta: Delta) -> Iterable[Row]:
    for row in delta.upserts.iter_rows(named=True):
        id_ = row.pop(ROW)
        yield Row(table, id_, row)
    for id_ in delta.removes:
        yield Row(table, id_, None)
