"""Reads the control topic: first all that is in it, then what comes."""

import logging
import threading
from collections.abc import Callable

from turnout.control.message import ControlMessage
from turnout.errors import KafkaError, TopicMissing
from turnout.kafka.client import Cluster, Offsets, Reader, Record

POLL_SECONDS = 0.1  # how long stopping may take; a message that comes is read at once
RETRY_SECONDS = 2.0

log = logging.getLogger(__name__)


class ControlListener:
    """One thread. Hands over the history once, even if there is none, and then each message."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        on_history: Callable[[list[ControlMessage]], None],
        on_message: Callable[[ControlMessage], None],
    ) -> None:
        self._cluster, self._topic = cluster, topic
        self._on_history, self._on_message = on_history, on_message
        self._history_told = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        last = ""
        while not self._stopping.is_set():
            try:
                self._follow()
            except KafkaError as error:
                if str(error) != last:  # once, not every two seconds
                    log.error("Control messages cannot be read, will try again: %s", error)
                last = str(error)
                if isinstance(error, TopicMissing):
                    self._tell_history([])  # nobody can have sent any: go on with the configuration
                self._stopping.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        ends = self._cluster.end_offsets(self._topic)
        reader = self._cluster.reader([self._topic])
        try:
            if not self._history_told:
                self._tell_history(self._history(reader, ends))
            while not self._stopping.is_set():
                for record in reader.poll(POLL_SECONDS):
                    self._on_message(_message(record))
        finally:
            reader.close()

    def _history(self, reader: Reader, ends: Offsets) -> list[ControlMessage]:
        starts = self._cluster.start_offsets(self._topic)
        awaited = {partition: end for partition, end in ends.items() if end > starts[partition]}
        messages: list[ControlMessage] = []
        while not reader.reached(self._topic, awaited) and not self._stopping.is_set():
            messages += [_message(record) for record in reader.poll(POLL_SECONDS)]
        # Partitions come as they please; the order in which people sent is that of time.
        return sorted(messages, key=lambda message: (message.timestamp_ms, message.offset, message.partition))

    def _tell_history(self, messages: list[ControlMessage]) -> None:
        if not self._history_told:
            self._history_told = True
            self._on_history(messages)


def _message(record: Record) -> ControlMessage:
    return ControlMessage(record.partition, record.offset, record.timestamp_ms, record.value or b"")
