"""What a pipeline needs to go on after a crash: a small file beside its checkpoint."""

import hashlib
import json
import logging
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from turnout.bus.topics import DEFAULT_PREFIX, PIPELINE_ID, BusTopics
from turnout.errors import TurnoutError
from turnout.kafka.client import Offsets
from turnout.schema import JoinSchema, JoinType, Topics

STATE_FORMAT = 3
"""Another one for another query: Spark cannot go on from the state of a different one."""

_FILE = "manifest.json"
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
    """The pipelines' directories below the state directory."""

    def __init__(self, state_dir: Path, prefix: str = DEFAULT_PREFIX) -> None:
        self._root, self._prefix = state_dir / "pipelines", prefix
        self._warned: set[Path] = set()
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
        directories = sorted(self._root.glob("*"))
        return [it.name for it in directories if PIPELINE_ID.fullmatch(it.name) and it.is_dir()]

    def all(self) -> Iterator[Manifest]:
        """Every pipeline that is there. One whose manifest cannot be read was never shown, as far as anybody knows: it
        is not resumed, and a sweep can still clean it up, because its topics are named after its directory."""
        for name in self.ids():
            yield self._read(self._root / name)

    def _read(self, directory: Path) -> Manifest:
        path = directory / _FILE
        try:
            manifest = _MANIFEST.validate_json(path.read_bytes(), strict=True)
        except FileNotFoundError:
            return self._unreadable(path, "it is not there")
        except ValidationError as error:
            problem = error.errors()[0]
            return self._unreadable(path, f"{'.'.join(map(str, problem['loc']))} {problem['msg']}".strip())
        except OSError as error:
            raise TurnoutError(f"{path} cannot be read: {error.strerror}. Make it readable, or remove it.") from None
        if manifest.id != directory.name:
            return self._unreadable(path, f"it is the one of pipeline {manifest.id}")
        return manifest

    def _unreadable(self, path: Path, why: str) -> Manifest:
        if path not in self._warned:
            log.warning("A pipeline cannot be resumed, because of its manifest %s: %s", path, why)
            self._warned.add(path)
        return Manifest(path.parent.name, _UNKNOWN, {}, {}, "", prefix=self._prefix)

    def checkpoint(self, manifest: Manifest) -> Path:
        return (self._root / manifest.id / "checkpoint").absolute()

    def delete(self, manifest: Manifest) -> None:
        shutil.rmtree(self._root / manifest.id, ignore_errors=True)
        self._condemned.discard(manifest.id)

    def _write(self, manifest: Manifest) -> None:
        directory = self._root / manifest.id
        part = directory / f"{_FILE}.part"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with part.open("w") as file:
                json.dump(asdict(manifest), file, indent=2)
                file.flush()
                os.fsync(file.fileno())
            part.replace(directory / _FILE)
        except OSError as error:
            shutil.rmtree(directory if manifest.shown is None else part, ignore_errors=True)
            raise TurnoutError(
                f"the state directory cannot be written: {directory / _FILE}: {error.strerror}. Make room or make it"
                " writable, or choose another `state_dir`."
            ) from None


def fingerprint(schema: JoinSchema) -> str:
    """Changes whenever a checkpoint could no longer be read: other columns, another key, another `keep`."""
    parts = [(table.name, list(table.columns.items()), table.keep) for table in (schema.left, schema.right)]
    return hashlib.sha256(json.dumps([STATE_FORMAT, parts, schema.key]).encode()).hexdigest()[:16]
