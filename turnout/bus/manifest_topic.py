"""Manifests on the bus, for Turnouts that share no directory: with checkpoints at a URL, nothing else is needed to take
over from another one.

Whoever leads reads them once, and is the only one to change them: from then on it knows them by heart, and asking costs
nothing.
"""

import threading
from collections.abc import Mapping

from turnout.bus.compacted import COMPACTED, last_records
from turnout.bus.topics import PIPELINE_ID, BusTopics
from turnout.kafka.client import BROKERS_DEFAULT, Cluster


class ManifestTopic:
    def __init__(self, bus: Cluster, topics: BusTopics, replication: int = BROKERS_DEFAULT) -> None:
        self._bus, self._topic, self._replication = bus, topics.manifests, replication
        self._publisher = bus.publisher()
        self._lock = threading.Lock()
        self._known: Mapping[str, bytes] | None = None

    def ids(self) -> list[str]:
        return sorted(self._manifests())

    def read(self, pipeline: str) -> bytes | None:
        return self._manifests().get(pipeline)

    def write(self, pipeline: str, manifest: bytes) -> None:
        if self._bus.missing([self._topic]):
            self._bus.create_topics([self._topic], 1, COMPACTED, self._replication)
        self._put(pipeline, manifest)

    def delete(self, pipeline: str) -> None:
        if pipeline in self._manifests():
            self._put(pipeline, None)

    def place(self, pipeline: str) -> str:
        return f"{self._topic}, key {pipeline}"

    def _put(self, pipeline: str, manifest: bytes | None) -> None:
        self._publisher.publish(self._topic, manifest, pipeline.encode())
        self._manifests()
        with self._lock:
            changed = {**(self._known or {}), pipeline: manifest}
            self._known = {name: content for name, content in changed.items() if content is not None}

    def _manifests(self) -> Mapping[str, bytes]:
        with self._lock:
            if self._known is None:
                records = last_records(self._bus, self._topic)
                found = {(record.key or b"").decode(errors="replace"): record.value for record in records}
                self._known = {
                    name: value for name, value in found.items() if value is not None and PIPELINE_ID.fullmatch(name)
                }
            return self._known
