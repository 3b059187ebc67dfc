"""Reads the control topic: first all that is in it, then what comes."""

import logging
import threading
from collections.abc import Callable

from turnout.control.asked import asked_in
from turnout.control.message import ControlMessage
from turnout.errors import KafkaError, TopicMissing
from turnout.kafka.client import Cluster, Offsets, Reader, Record
from turnout.kafka.topic_state import TopicState
from turnout.kafka.topic_watch import TopicWatch

POLL_SECONDS = 0.1  # how long stopping may take; a message that comes is read at once
RETRY_SECONDS = 2.0

log = logging.getLogger(__name__)


class ControlListener:
    """One thread. Hands over the history once, even if there is none, and then each message, once."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        on_history: Callable[[list[ControlMessage]], None],
        on_message: Callable[[ControlMessage], None],
        on_trouble: Callable[[str | None], None],
    ) -> None:
        """`on_trouble` is called with the reason why messages cannot be read, and with None when they can again."""
        self._cluster, self._topic = cluster, topic
        self._on_history, self._on_message, self._on_trouble = on_history, on_message, on_trouble
        self._history_told = False
        self._topic_id: str | None = None
        self._next: dict[int, int] = {}  # partition -> the offset of the next message that is news
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        last: str | None = None
        while not self._stopping.is_set():
            try:
                self._follow()
                last = None
            except KafkaError as error:
                if str(error) != last:  # once, not every two seconds
                    log.error("Control messages cannot be read, will try again: %s", error)
                    self._on_trouble(f"control messages cannot be read: {error}")
                last = str(error)
                if isinstance(error, TopicMissing):
                    self._tell_history([])  # nobody can have sent any: go on with the configuration
                self._stopping.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """Read until somebody stops it, or the topic or the login is no longer the same."""
        state = self._state()
        credentials = self._cluster.credentials
        ends = self._cluster.end_offsets(self._topic)
        changed = threading.Event()
        watch = TopicWatch(self._cluster, credentials, {self._topic: state}, lambda _: changed.set(), self._on_trouble)
        reader = self._cluster.reader([self._topic])
        watch.start()
        try:
            if not self._history_told:
                self._tell_history(self._history(reader, ends))
            self._on_trouble(None)
            while not self._stopping.is_set() and not changed.is_set():
                for message in self._news(reader):
                    self._on_message(message)
        finally:
            watch.stop()
            reader.close()

    def _state(self) -> TopicState:
        state = self._cluster.states([self._topic])[self._topic]
        if state.id != self._topic_id:  # offsets begin again
            self._topic_id, self._next = state.id, {}
        return state

    def _news(self, reader: Reader) -> list[ControlMessage]:
        """What has come; a reader that had to begin anew reads some of it a second time."""
        news = [record for record in reader.poll(POLL_SECONDS) if record.offset >= self._next.get(record.partition, 0)]
        self._next.update({record.partition: record.offset + 1 for record in news})
        return [_message(record) for record in news]

    def _history(self, reader: Reader, ends: Offsets) -> list[ControlMessage]:
        starts = self._cluster.start_offsets(self._topic)
        awaited = {partition: end for partition, end in ends.items() if end > starts[partition]}
        messages: list[ControlMessage] = []
        while not reader.reached(self._topic, awaited) and not self._stopping.is_set():
            messages += self._news(reader)
        # Partitions come as they please; the order in which people sent is that of time.
        return sorted(messages, key=lambda message: (message.timestamp_ms, message.offset, message.partition))

    def _tell_history(self, messages: list[ControlMessage]) -> None:
        if not self._history_told:
            self._history_told = True
            self._on_history(messages)


def _message(record: Record) -> ControlMessage:
    value, asked = record.value or b"", asked_in(record.headers)
    return ControlMessage(record.partition, record.offset, record.timestamp_ms, value, asked)
