"""How the pipeline on some topics is to begin: anew, or from where an earlier one got to."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from turnout.config import Config, Start
from turnout.kafka.client import Cluster, Offsets
from turnout.kafka.topic_state import TopicState
from turnout.pipeline.checkpoint import Location, clear_uncommitted, committed
from turnout.pipeline.manifest import Manifest, Manifests, fingerprint
from turnout.schema import Topics

RESUME_TRIES = 2
"""How often a checkpoint may fail before it is given up: the first time may have had another reason."""

FROM_THE_BEGINNING = -2
"""As Spark has it. A partition that was added later is read from its beginning."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    manifest: Manifest
    resumed: bool
    """From a checkpoint and a changelog that are there already."""
    topics: Mapping[str, TopicState]
    positions: Mapping[str, Offsets]
    """Where each topic is read on."""
    data_lost: bool
    """Kafka has deleted messages before they were read, and that has been said."""

    def starts(self, topic: str) -> dict[str, int]:
        """Where the query begins if it has not committed anything; Spark wants to know it of every partition."""
        known = self.manifest.starts[topic]
        return {str(part): known.get(str(part), FROM_THE_BEGINNING) for part in self.topics[topic].partitions}


class Planner:
    def __init__(
        self,
        config: Config,
        data: Cluster,
        bus: Cluster,
        manifests: Manifests,
        shuffle: Callable[[Mapping[str, int]], int],
        checkpoint: Callable[[Manifest], Location],
    ) -> None:
        """`shuffle`: how many tasks are to group by key, by the topics' numbers of partitions. `checkpoint`: where that
        of a pipeline is."""
        self._data, self._bus, self._manifests, self._shuffle = data, bus, manifests, shuffle
        self._checkpoint = checkpoint
        self._schema = config.join_schema()
        self._left, self._right = config.tables[config.join.left], config.tables[config.join.right]
        self._failures: Counter[str] = Counter()

    def plan(self, topics: Topics) -> Plan:
        """Decide, and write the manifest of what is new."""
        found = self._data.states([topics.left, topics.right])
        earlier = self.resumable(topics)
        if earlier is None:
            starts = {topic: self._start(topic, start) for topic, start in self._starts(topics).items()}
            return self._new(topics, found, starts)
        if why := self._useless(earlier, found):
            log.warning("Pipeline %s on %s is built anew from where it began: %s", earlier.id, topics, why)
            return self._new(topics, found, self._first_positions(earlier, found))
        return self._resumed(earlier, found)

    def resumable(self, topics: Topics) -> Manifest | None:
        """What was shown of these topics last, if it can be shown again."""
        for manifest in self.shown():
            if manifest.topics == topics:
                # Its rows can only be shown again from its changelog: a bus that lost it is a new beginning.
                return None if self._bus.missing([manifest.changelog_topic]) else manifest
        return None

    def shown(self) -> list[Manifest]:
        """All pipelines that were shown and are of the same configuration, the last shown first."""
        return self._manifests.shown(fingerprint(self._schema))

    def failed(self, plan: Plan) -> None:
        """A query did not get going by this plan."""
        if plan.resumed:
            self._failures[plan.manifest.id] += 1

    def succeeded(self, plan: Plan) -> None:
        self._failures.pop(plan.manifest.id, None)

    def _useless(self, earlier: Manifest, found: Mapping[str, TopicState]) -> str | None:
        """Why its checkpoint cannot be gone on from, if so."""
        for topic, state in found.items():
            if earlier.topic_ids.get(topic) != state.id:
                return f"topic {topic!r} was deleted and created anew"
        if self._failures[earlier.id] >= RESUME_TRIES:
            return f"its checkpoint failed {RESUME_TRIES} times"
        return None

    def _new(self, topics: Topics, found: Mapping[str, TopicState], starts: Mapping[str, Offsets]) -> Plan:
        ids = {topic: state.id for topic, state in found.items()}
        shuffle = self._shuffle({topic: len(state.partitions) for topic, state in found.items()})
        manifest = self._manifests.new(topics, starts, ids, self._schema, shuffle)
        return Plan(manifest, False, found, starts, False)

    def _resumed(self, manifest: Manifest, found: Mapping[str, TopicState]) -> Plan:
        log.info("Resuming pipeline %s on %s", manifest.id, manifest.topics)
        checkpoint = self._checkpoint(manifest)
        clear_uncommitted(checkpoint)
        starts = {topic: _offsets(at) for topic, at in manifest.starts.items()}
        positions = {**starts, **committed(checkpoint)}
        # Not a generator: each topic's loss is said.
        lost = [topic for topic in found if self._said_lost(topic, positions[topic])]
        return Plan(manifest, True, found, positions, bool(lost))

    def _first_positions(self, earlier: Manifest, found: Mapping[str, TopicState]) -> dict[str, Offsets]:
        """Where it began, as far as Kafka still has that; all of a topic that is another one now."""
        starts: dict[str, Offsets] = {}
        for topic, state in found.items():
            first = self._data.start_offsets(topic)
            if earlier.topic_ids.get(topic) == state.id:
                began = _offsets(earlier.starts[topic])
                self._said_lost(topic, began, first)
                first = {partition: max(offset, began.get(partition, 0)) for partition, offset in first.items()}
            starts[topic] = first
        return starts

    def _said_lost(self, topic: str, positions: Offsets, first: Offsets | None = None) -> bool:
        lost = False
        for partition, offset in (first or self._data.start_offsets(topic)).items():
            if offset > positions.get(partition, offset):
                lost = True
                log.warning(
                    "Kafka no longer has offsets %d to %d of %s/%d, which were not read yet: they are lost. Give the"
                    " topic a longer retention, or `tables.….start: latest`.",
                    positions[partition],
                    offset - 1,
                    topic,
                    partition,
                )
        return lost

    def _start(self, topic: str, start: Start) -> Offsets:
        return self._data.start_offsets(topic) if start is Start.EARLIEST else self._data.end_offsets(topic)

    def _starts(self, topics: Topics) -> dict[str, Start]:
        return {topics.left: self._left.start, topics.right: self._right.start}


def _offsets(texts: Mapping[str, int]) -> dict[int, int]:
    """A manifest is JSON, where a key is text."""
    return {int(partition): offset for partition, offset in texts.items()}
