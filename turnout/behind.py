"""How far the tables are behind the topics of a pipeline."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress

from turnout.changelog.reader import ChangelogReader
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Offsets
from turnout.schema import Topics
from turnout.staleness import Look

LAG_SECONDS = 2.0
"""For Kafka to tell where a topic ends: with one that does not answer, the status is wanted all the more."""


class ReadPipeline(ABC):
    """A pipeline whose changelog is read here, wherever it runs."""

    changelog: ChangelogReader

    @property
    @abstractmethod
    def topics(self) -> Topics: ...

    @property
    @abstractmethod
    def starts(self) -> Mapping[str, Mapping[str, int]]:
        """Data topic -> partition, as text, -> where it began to read."""

    @abstractmethod
    def committed(self) -> Mapping[str, Offsets]:
        """What its query has committed; nothing if that is unknown."""


class Behind:
    def __init__(self, data: Cluster, pipeline: ReadPipeline) -> None:
        self._data, self._pipeline = data, pipeline
        self.topics = (pipeline.topics.left, pipeline.topics.right)

    def lag(self, topic: str) -> int:
        """Offsets that are not in the tables yet."""
        ends = self._data.end_offsets(topic, LAG_SECONDS)
        following = self._following(topic, ends)
        return sum(max(0, end - following[partition]) for partition, end in ends.items())

    def look(self, topic: str, lag: int | None) -> Look:
        return Look(lag, self._seen(topic))

    def read(self, topic: str) -> int:
        """Offsets that have come into the tables since the pipeline began with the topic, over restarts too."""
        starts = self._starts(topic)
        return sum(max(0, seen + 1 - starts.get(partition, 0)) for partition, seen in self._seen(topic).items())

    def is_unread(self, topic: str) -> bool:
        """Is there a message among the offsets that are not in the tables yet? Nobody knows: then there may be."""
        with suppress(KafkaError):
            ends = self._data.end_offsets(topic, LAG_SECONDS)
            following = self._following(topic, ends)
            # Micro-batches tell one message for each key alone; but what they commit is in the tables, or soon will be.
            committed = self._pipeline.committed().get(topic, {})
            starts = {part: max(offset, committed.get(part, 0)) for part, offset in following.items()}
            return bool(self._data.last_messages(topic, starts, ends))
        return True

    def _following(self, topic: str, ends: Offsets) -> Offsets:
        """Partition -> the next offset to come."""
        seen, starts = self._seen(topic), self._starts(topic)
        return {part: max(seen.get(part, -1) + 1, starts.get(part, 0)) for part in ends}

    def _seen(self, topic: str) -> Offsets:
        seen = self._pipeline.changelog.progress.seen()
        return {partition: offset for (its_topic, partition), offset in seen.items() if its_topic == topic}

    def _starts(self, topic: str) -> Offsets:
        return {int(partition): offset for partition, offset in self._pipeline.starts[topic].items()}
