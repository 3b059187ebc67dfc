"""A bus in memory: topics whose records are put by hand, and what a test does to those who read them."""

import threading
from collections.abc import Mapping, Sequence
from typing import cast

from turnout.bus.bulletin import LARGEST_BYTES
from turnout.errors import KafkaError, TopicMissing
from turnout.kafka.client import Cluster, Offsets, Record
from turnout.kafka.topic_state import TopicState


class FakeReader:
    def __init__(self, bus: "FakeBus", topics: Sequence[str]) -> None:
        self.topics, self.closed = tuple(topics), False
        self._bus, self._next = bus, dict.fromkeys(topics, 0)
        self.trouble = bus.reading_refused

    def poll(self, _seconds: float) -> list[Record]:
        found: list[Record] = []
        if self.trouble is None:
            for topic in self.topics:
                if topic not in self._bus.held:
                    found += self._bus.records(topic)[self._next[topic] :]
                    self._next[topic] += sum(record.topic == topic for record in found)
        if not found:
            threading.Event().wait(0.005)  # as a real one does, but not for as long
        return found

    def reached(self, topic: str, ends: Offsets) -> bool:
        return self._next[topic] >= ends[0]

    def close(self) -> None:
        self.closed = True


class FakePublisher:
    def __init__(self, bus: "FakeBus") -> None:
        self._bus = bus

    def publish_all(self, topic: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        if self._bus.failure is not None:
            raise self._bus.failure
        if any(len(key) + len(value or b"") >= LARGEST_BYTES for key, value in records):
            raise KafkaError("Message size too large")
        for key, value in records:
            self._bus.put(topic, key, value)


class FakeBus:
    """Each topic has one partition."""

    bootstrap = "bus:9092"

    def __init__(self) -> None:
        self._topics: dict[str, list[Record]] = {}
        self._ids: dict[str, str] = {}
        self.readers: list[FakeReader] = []
        self.held: set[str] = set()
        """Topics of which nothing comes."""
        self.credentials: object = object()
        self.login_trouble: str | None = None
        self.reading_refused: str | None = None
        """Why readers that are opened from now on get nothing."""
        self.failure: Exception | None = None
        """Of every question, and of what is published."""
        self.defect: Exception | None = None
        """When it is asked where a topic ends."""
        self.answers = threading.Event()
        self.answers.set()
        self.unanswered: set[str] = set()
        """Threads that wait for an answer."""

    @property
    def cluster(self) -> Cluster:
        return cast(Cluster, self)

    def put(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        records = self._topics[topic]
        records.append(Record(topic, 0, len(records), 0, key, value, list(headers) or ()))

    def records(self, topic: str) -> list[Record]:
        return self._topics.get(topic, [])

    def create_topics(self, names: Sequence[str], *_: object) -> None:
        for name in names:
            if name not in self._topics:
                self._topics[name], self._ids[name] = [], f"{name} {len(self._ids)}"

    def delete_topics(self, names: Sequence[str]) -> None:
        for name in names:
            del self._topics[name]

    def open(self, topic: str) -> int:
        """How many read it."""
        return sum(topic in reader.topics and not reader.closed for reader in self.readers)

    def describe(self, topics: Sequence[str], *_: object) -> dict[str, TopicState | None]:
        if not self.answers.is_set():
            self.unanswered.add(threading.current_thread().name)
            self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return {name: TopicState(self._ids[name], (0,)) if name in self._topics else None for name in topics}

    def missing(self, names: Sequence[str]) -> list[str]:
        return [name for name, state in self.describe(names).items() if state is None]

    def states(self, topics: Sequence[str], *_: object) -> Mapping[str, TopicState]:
        found = self.describe(topics)
        for name, state in found.items():
            if state is None:
                raise TopicMissing(f"topic {name!r} does not exist")
        return {name: state for name, state in found.items() if state is not None}

    def end_offsets(self, topic: str, *_: object) -> Offsets:
        self.states([topic])
        if self.defect is not None:
            raise self.defect
        return {0: len(self._topics[topic])}

    def reader(self, topics: Sequence[str]) -> FakeReader:
        self.states(topics)
        reader = FakeReader(self, topics)
        self.readers.append(reader)
        return reader

    def publisher(self, *_: object) -> FakePublisher:
        return FakePublisher(self)
