"""What happens in the topics of a cluster: how many messages, how many of late, and when the last one came."""

import time
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from turnout.kafka.client import Cluster, Found

OF_LATE_SECONDS = 60.0
"""What a rate is taken over."""

MOST_PARTITIONS = 2_000
"""Of more than these only the names are told: each question is asked for each partition."""


@dataclass(frozen=True)
class Activity:
    name: str
    partitions: int
    messages: int | None = None
    """None, here and below: unknown, for example because the topic may not be read."""
    per_second: float | None = None
    newest_ms: int | None = None
    """None also where there is no message."""


def activities(cluster: Cluster) -> list[Activity]:
    """All topics that can be seen, but for Kafka's own."""
    topics = {name: count for name, count in sorted(cluster.topics().items()) if not name.startswith("__")}
    if sum(topics.values()) > MOST_PARTITIONS:
        return [Activity(name, count) for name, count in topics.items()]
    parts = [(name, part) for name, count in topics.items() for part in range(count)]
    answers = _Answers(
        start=cluster.find(parts, OffsetSpec.earliest()),
        end=cluster.find(parts, OffsetSpec.latest()),
        of_late=cluster.find(parts, OffsetSpec.for_timestamp(int((time.time() - OF_LATE_SECONDS) * 1000))),
        newest=cluster.newest(parts),
    )
    return [answers.activity(name, count) for name, count in topics.items()]


@dataclass(frozen=True)
class _Answers:
    """What the brokers say about each partition; nothing about one that they do not let us ask about."""

    start: Found
    end: Found
    of_late: Found
    newest: Found

    def activity(self, topic: str, count: int) -> Activity:
        parts = [(topic, part) for part in range(count)]
        if not all(part in self.end and part in self.start and part in self.of_late for part in parts):
            return Activity(topic, count)
        ends = {part: self.end[part].offset for part in parts}
        recent = sum(ends[part] - at for part in parts if (at := self.of_late[part].offset) >= 0)
        times = [self.newest[part].timestamp_ms for part in parts if part in self.newest]
        return Activity(
            topic,
            count,
            sum(ends[part] - self.start[part].offset for part in parts),
            recent / OF_LATE_SECONDS,
            max((time for time in times if time >= 0), default=None),
        )
