"""What a pipeline needs to go on after a crash: a small file in the state directory, or a record on the bus."""

import hashlib
import json
import logging
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter, ValidationError

from turnout.bus.topics import DEFAULT_PREFIX, BusTopics
from turnout.kafka.client import Offsets
from turnout.pipeline.manifest_store import ManifestStore
from turnout.schema import JoinSchema, JoinType, Topics

STATE_FORMAT = 3
"""Another one for another query: Spark cannot go on from the state of a different one."""

_UNKNOWN = Topics("unknown", "unknown")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    generation: int
    join: JoinType


@dataclass(frozen=True)
class Manifest:
    id: str
    topics: Topics
    # Where each data topic is read from: topic -> partition -> offset. "latest" is resolved once, here: Spark would
    # resolve it anew after a crash before its first commit, and messages would fall through.
    starts: Mapping[str, Mapping[str, int]]
    # Topic -> Kafka's id of it: one that is deleted and created anew has another, and its offsets begin again.
    topic_ids: Mapping[str, str]
    fingerprint: str
    shown: Shown | None = None
    """How it was shown last; None: never. Only a pipeline that was shown is resumed."""
    prefix: str = DEFAULT_PREFIX
    """What its topics' names begin with: that of the configuration when it was made."""
    shuffle: int = 1
    """Tasks that group by key: fixed for the life of a checkpoint."""

    @property
    def changelog_topic(self) -> str:
        return BusTopics(self.prefix).changelog(self.id)

    @property
    def rejected_topic(self) -> str:
        return BusTopics(self.prefix).rejected(self.id)


_MANIFEST = TypeAdapter(Manifest)


class Manifests:
    def __init__(self, store: ManifestStore, prefix: str = DEFAULT_PREFIX) -> None:
        self._store, self._prefix = store, prefix
        self._warned: set[str] = set()
        self._condemned: set[str] = set()

    def new(
        self,
        topics: Topics,
        starts: Mapping[str, Offsets],
        topic_ids: Mapping[str, str],
        schema: JoinSchema,
        shuffle: int = 1,
    ) -> Manifest:
        texts = {topic: {str(partition): offset for partition, offset in at.items()} for topic, at in starts.items()}
        manifest = Manifest(
            uuid.uuid4().hex[:12], topics, texts, topic_ids, fingerprint(schema), None, self._prefix, shuffle
        )
        self._write(manifest)
        return manifest

    def mark_shown(self, manifest: Manifest, shown: Shown) -> None:
        """From now on a restart resumes this pipeline; one that was never shown is swept away."""
        self._write(replace(manifest, shown=shown))

    def condemn(self, manifest: Manifest) -> None:
        """It is about to be deleted, whenever that succeeds: from now on nobody goes on from it."""
        self._condemned.add(manifest.id)

    def shown(self, wanted: str) -> list[Manifest]:
        """All pipelines of this fingerprint that were shown and may be shown again, the last shown first."""
        found = [it for it in self.all() if it.shown is not None and it.fingerprint == wanted]
        kept = [manifest for manifest in found if manifest.id not in self._condemned]
        return sorted(kept, key=lambda it: it.shown.generation if it.shown else 0, reverse=True)

    def ids(self) -> list[str]:
        """Of all pipelines that are there."""
        return self._store.ids()

    def all(self) -> Iterator[Manifest]:
        """Every pipeline that is there. One whose manifest cannot be read was never shown, as far as anybody knows: it
        is not resumed, and a sweep can still clean it up, because its topics are named after its id."""
        for pipeline in self.ids():
            yield self._read(pipeline)

    def delete(self, manifest: Manifest) -> None:
        self._store.delete(manifest.id)
        self._condemned.discard(manifest.id)

    def _read(self, pipeline: str) -> Manifest:
        content = self._store.read(pipeline)
        if content is None:
            return self._unreadable(pipeline, "it is not there")
        try:
            manifest = _MANIFEST.validate_json(content, strict=True)
        except ValidationError as error:
            problem = error.errors()[0]
            return self._unreadable(pipeline, f"{'.'.join(map(str, problem['loc']))} {problem['msg']}".strip())
        if manifest.id != pipeline:
            return self._unreadable(pipeline, f"it is the one of pipeline {manifest.id}")
        return manifest

    def _unreadable(self, pipeline: str, why: str) -> Manifest:
        if pipeline not in self._warned:
            place = self._store.place(pipeline)
            log.warning("A pipeline cannot be resumed, because of its manifest %s: %s", place, why)
            self._warned.add(pipeline)
        return Manifest(pipeline, _UNKNOWN, {}, {}, "", prefix=self._prefix)

    def _write(self, manifest: Manifest) -> None:
        self._store.write(manifest.id, json.dumps(asdict(manifest), indent=2).encode())


def fingerprint(schema: JoinSchema) -> str:
    """Changes whenever a checkpoint could no longer be read: other columns, another key, another `keep`."""
    parts = [(table.name, list(table.columns.items()), table.keep) for table in (schema.left, schema.right)]
    return hashlib.sha256(json.dumps([STATE_FORMAT, parts, schema.key]).encode()).hexdigest()[:16]
