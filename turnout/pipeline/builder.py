"""Builds pipelines: from topics to a query that runs and a changelog that has been read."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from pyspark.sql import SparkSession

from turnout.changelog.reader import ChangelogReader, Rejected
from turnout.config import Config, Start
from turnout.errors import BuildFailed, KafkaError, TurnoutError
from turnout.kafka.broker_config import LARGEST_RECORD_BYTES
from turnout.kafka.client import Cluster
from turnout.kafka.security import for_java
from turnout.orchestrator.parts import BuildEvent, CatchingUp, Died, Failed, Ready
from turnout.pipeline.manifest import Manifest, Manifests, fingerprint
from turnout.pipeline.pipeline import KafkaOptions, Pipeline
from turnout.schema import Topics

CHANGELOG_TOPIC = {
    "cleanup.policy": "compact",  # a record is the whole truth about its key: older ones may go
    "max.message.bytes": str(LARGEST_RECORD_BYTES),
}

# A pipeline that starts at the latest is complete while it is still empty. Where messages have come since, their rows
# are a moment away: waiting for them spares viewers an empty table.
FIRST_ROWS_SECONDS = 2.0

log = logging.getLogger(__name__)


class RunningPipeline:
    """A query and the reader of its changelog."""

    def __init__(self, manifest: Manifest, pipeline: Pipeline, changelog: ChangelogReader, files: "_Files") -> None:
        self.manifest, self.query, self.changelog = manifest, pipeline, changelog
        self._files = files

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def topics(self) -> Topics:
        return self.manifest.topics

    def promote(self) -> None:
        self._files.manifests.mark_live(self.manifest)

    def stop(self) -> None:
        try:
            self.query.stop()
        finally:
            self.changelog.stop()

    def retire(self) -> None:
        try:
            self.stop()
        finally:
            self._files.delete(self.manifest)


class _Files:
    """What a pipeline leaves on disk and on the bus."""

    def __init__(self, manifests: Manifests, bus: Cluster) -> None:
        self.manifests, self.bus = manifests, bus

    def delete(self, manifest: Manifest) -> None:
        # The manifest goes last: if deleting the topics fails, the next start finds it and tries again.
        self.bus.delete_topics([manifest.changelog_topic, manifest.rejected_topic])
        self.manifests.delete(manifest)


class PipelineBuilder:
    def __init__(
        self,
        config: Config,
        spark: "Future[SparkSession]",
        data: Cluster,
        bus: Cluster,
        on_rejected: Callable[[list[Rejected]], None],
    ) -> None:
        self._config, self._spark, self._data, self._bus = config, spark, data, bus
        self._on_rejected = on_rejected
        self._schema = config.join_schema()
        self._manifests = Manifests(config.state_dir)
        self._files = _Files(self._manifests, bus)
        self._kafka = KafkaOptions(for_java(data.properties), for_java(bus.properties))

    def missing(self, topics: Sequence[str]) -> list[str]:
        return self._data.missing(topics)

    def sweep(self, topics: Topics) -> None:
        resumable = self._resumable(topics)
        for manifest in self._manifests.all():
            if resumable is None or manifest.id != resumable.id:
                log.info("Cleaning up pipeline %s on %s, left by an earlier run", manifest.id, manifest.topics)
                self._files.delete(manifest)

    def build(self, number: int, topics: Topics, report: Callable[[BuildEvent], None]) -> "_Build":
        build = _Build(number, topics, report, self)
        build.start()
        return build

    def manifest(self, topics: Topics) -> tuple[Manifest, bool]:
        """The manifest to build by, and whether it is resumed from an earlier run."""
        resumable = self._resumable(topics)
        if resumable is not None:
            log.info("Resuming pipeline %s on %s", resumable.id, topics)
            self._manifests.clear_uncommitted(resumable)
            return resumable, True
        return self._manifests.new(topics, self._starts(topics), self._schema), False

    def prepare(self, manifest: Manifest, on_died: Callable[[Exception], None]) -> RunningPipeline:
        """Everything but the running query."""
        self._bus.create_topics([manifest.changelog_topic, manifest.rejected_topic], config=CHANGELOG_TOPIC)
        reader = ChangelogReader(
            self._bus,
            manifest.changelog_topic,
            manifest.rejected_topic,
            {"l": manifest.topics.left, "r": manifest.topics.right},
            self._schema,
            self._on_rejected,
            on_died,
        )
        checkpoint = self._manifests.checkpoint(manifest)
        pipeline = Pipeline(
            self._spark.result(), manifest, checkpoint, self._schema, self._kafka, self._config.spark.trigger
        )
        return RunningPipeline(manifest, pipeline, reader, self._files)

    def behind(self, manifest: Manifest) -> bool:
        """Does a new pipeline have anything to catch up with? One that starts at the latest has not, however many
        messages have come since its start was resolved: they are its first live ones."""
        earliest = [topic for topic, start in self._start_of(manifest.topics).items() if start is Start.EARLIEST]
        return any(
            end > manifest.starts[topic].get(str(partition), 0)
            for topic in earliest
            for partition, end in self._data.end_offsets(topic).items()
        )

    def arrived(self, manifest: Manifest) -> Mapping[tuple[str, int], int]:
        """Topic and partition -> the last message that has come since the pipeline's start was resolved, if any."""
        return {
            (topic, partition): end - 1
            for topic, starts in manifest.starts.items()
            for partition, end in self._data.end_offsets(topic).items()
            if end > starts.get(str(partition), 0)
        }

    def changelog_ends(self, manifest: Manifest) -> Mapping[int, int]:
        return self._bus.end_offsets(manifest.changelog_topic)

    def discard(self, manifest: Manifest) -> None:
        self._files.delete(manifest)

    def _resumable(self, topics: Topics) -> Manifest | None:
        wanted = fingerprint(self._schema)
        for manifest in self._manifests.all():
            if manifest.live and manifest.topics == topics and manifest.fingerprint == wanted:
                # Its rows can only be shown again from its changelog: a bus that lost it is a new beginning.
                return None if self._bus.missing([manifest.changelog_topic]) else manifest
        return None

    def _starts(self, topics: Topics) -> dict[str, Mapping[int, int]]:
        return {
            topic: self._data.start_offsets(topic) if start is Start.EARLIEST else self._data.end_offsets(topic)
            for topic, start in self._start_of(topics).items()
        }

    def _start_of(self, topics: Topics) -> dict[str, Start]:
        tables, join = self._config.tables, self._config.join
        return {topics.left: tables[join.left].start, topics.right: tables[join.right].start}


class _Build:
    """One attempt, on a thread of its own."""

    def __init__(
        self, number: int, topics: Topics, report: Callable[[BuildEvent], None], builder: PipelineBuilder
    ) -> None:
        self._number, self._topics, self._report, self._builder = number, topics, report, builder
        self._cancelled = threading.Event()
        self._broken: Exception | None = None  # a part that failed before the build was ready
        self._ready = False
        self._thread = threading.Thread(target=self._run, name=f"build {number}", daemon=True)
        self._manifest: Manifest | None = None
        self._resumed = False
        self._running: RunningPipeline | None = None

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self._cancelled.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            running = self._build()
        except TurnoutError as error:
            self._undo()
            self._report(Failed(self._number, str(error)))
        except Exception as error:  # a defect, but the old generation must go on and say so
            log.exception("Building on %s failed in an unexpected way", self._topics)
            self._undo()
            self._report(Failed(self._number, f"unexpected: {error}"))
        else:
            if self._cancelled.is_set():
                self._undo()
            else:
                self._report(Ready(self._number, running))

    def _build(self) -> RunningPipeline:
        builder = self._builder
        manifest, self._resumed = builder.manifest(self._topics)
        self._manifest = manifest
        running = self._running = builder.prepare(manifest, lambda error: self._died(manifest, error))
        running.changelog.start()
        if self._resumed or builder.behind(manifest):
            self._report(CatchingUp(self._number))
            running.query.catch_up(self._given_up)
        if not self._given_up():
            ends = builder.changelog_ends(manifest)
            running.query.go_live(self._given_up)
            running.changelog.wait_until(ends, self._given_up)
            running.changelog.wait_until_seen(builder.arrived(manifest), FIRST_ROWS_SECONDS)
            running.query.watch(lambda error: self._died(manifest, error))
        if self._broken is not None:
            raise BuildFailed(str(self._broken))
        self._ready = True
        return running

    def _given_up(self) -> bool:
        return self._cancelled.is_set() or self._broken is not None

    def _died(self, manifest: Manifest, error: Exception) -> None:
        """Before it is ready it is this build that fails; from then on it is the pipeline that died."""
        if self._ready:
            self._report(Died(manifest.id, str(error)))
        else:
            self._broken = error

    def _undo(self) -> None:
        """Leave nothing behind; a pipeline of an earlier run keeps what it needs for the next attempt."""
        try:
            if self._running is not None:
                self._running.stop()
            if self._manifest is not None and not self._resumed:
                self._builder.discard(self._manifest)
        except (BuildFailed, KafkaError) as error:
            log.error("A failed build on %s could not be cleaned up, the next start will: %s", self._topics, error)
