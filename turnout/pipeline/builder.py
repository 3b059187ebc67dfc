"""Builds pipelines: from topics to a query that runs and a changelog that has been read."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from turnout.bus.claims import Claimant, Claims
from turnout.bus.home import home_of
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.changelog.reader import ChangelogReader, Rejected
from turnout.changelog.topic import CHANGELOG_TOPIC
from turnout.config import Config, Trigger
from turnout.kafka.client import Cluster, Offsets
from turnout.kafka.security import for_java
from turnout.kafka.topic_watch import TopicWatch
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import BuildEvent, Remembered
from turnout.pipeline.build import PipelineBuild
from turnout.pipeline.checkpoint import Location, committed
from turnout.pipeline.cleanup import Chore, Cleanup
from turnout.pipeline.hadoop_path import HadoopPath
from turnout.pipeline.manifest import Manifest, Manifests
from turnout.pipeline.manifest_files import ManifestFiles
from turnout.pipeline.manifest_store import store_of
from turnout.pipeline.pipeline import KafkaOptions, Pipeline
from turnout.pipeline.plan import Plan, Planner
from turnout.pipeline.running import Leavings, RunningPipeline
from turnout.pipeline.session import SHUFFLE_PARTITIONS, is_local
from turnout.pipeline.slots import Need, shuffle_partitions, slots_of, wait_for_slots
from turnout.schema import Topics

# Real-time mode writes a record for each message, micro-batches one for each key: they are faster for a long backlog,
# but take seconds to begin and to end. At this length both take about as long.
SHORT_BACKLOG = 5_000


class PipelineBuilder:
    def __init__(
        self,
        config: Config,
        spark: Callable[[], SparkSession],
        data: Cluster,
        bus: Cluster,
        on_rejected: Callable[[list[Rejected]], None],
        intake: Intake | None = None,
        may_delete: Callable[[], bool] = lambda: True,
    ) -> None:
        """On a bus that others may use too, its topics are claimed before they are made. `may_delete`: can nobody else
        go on from what pipelines leave?"""
        self.session, self._data, self._bus = spark, data, bus
        self._on_rejected, self._intake = on_rejected, intake or Intake()
        self._schema, self._trigger = config.join_schema(), config.spark.trigger
        self._files = ManifestFiles(config.state_dir)
        self._manifests = Manifests(store_of(config, bus), config.changelog.prefix)
        self._manifests.ids()  # if they are on the bus: nothing begins before it is known what there was
        self._changelog = config.changelog
        self._leavings = Leavings(self._manifests, bus, self._checkpoint)
        self._claimant: Claimant | None = None
        if config.bus:
            claims = Claims(bus, BusTopics(config.changelog.prefix), config.changelog.replication)
            self._claimant = Claimant(claims, home_of(config), self._manifests.ids)
            self._claimant.start()
        self._options()  # what Spark cannot use is said before anything is built
        self._last: PipelineBuild | None = None
        self._spark_config = config.spark
        self.planner = Planner(config, data, bus, self._manifests, self._shuffle, self._checkpoint)
        self.cleanup = Cleanup(may_delete)

    # -- for the orchestrator

    def missing(self, topics: Sequence[str]) -> list[str]:
        return self._data.missing(topics)

    def remembered(self) -> Remembered | None:
        for manifest in self.planner.shown():
            if manifest.shown is not None:
                return Remembered(Desired(manifest.topics, manifest.shown.join), manifest.shown.generation)
        return None

    def sweep(self, keep: Collection[Topics]) -> None:
        kept = {manifest.topics: manifest.id for manifest in reversed(self.planner.shown()) if manifest.topics in keep}
        for manifest in self._manifests.all():
            if manifest.id not in kept.values():
                self.delete(manifest, f"Cleaned up pipeline {manifest.id} on {manifest.topics}, left by an earlier run")

    def build(self, number: int, topics: Topics, report: Callable[[BuildEvent], None]) -> PipelineBuild:
        self._last = PipelineBuild(number, topics, report, self, self._last)
        self._last.start()
        return self._last

    def close(self, seconds: float) -> None:
        """Wait until all that was stopped has stopped, if that takes no longer."""
        if self._last is not None:
            self._last.join(seconds)
        self.cleanup.finish(seconds)
        if self._claimant is not None:
            self._claimant.stop()

    # -- for a build

    def wait_for_slots(self, topics: Topics, given_up: Callable[[], bool]) -> None:
        """Until Spark can run all tasks of a pipeline on these topics at once."""
        if self._trigger is not Trigger.REALTIME:
            return
        found = self._data.states([topics.left, topics.right])
        sources = {topic: len(state.partitions) for topic, state in found.items()}
        earlier = self.planner.resumable(topics)
        need = Need(sources, earlier.shuffle if earlier is not None else self._least_shuffle)
        local = is_local(self._spark_config.master)
        wait_for_slots(need, lambda: slots_of(self.session()), given_up, time.sleep, local=local)

    @property
    def _least_shuffle(self) -> int:
        return int(self._spark_config.conf.get(SHUFFLE_PARTITIONS, 1))

    def _shuffle(self, sources: Mapping[str, int]) -> int:
        """On one machine one task is enough, and each takes a slot; what the user has said is what counts."""
        if is_local(self._spark_config.master) or SHUFFLE_PARTITIONS in self._spark_config.conf:
            return self._least_shuffle
        slots = slots_of(self.session())
        if self._trigger is not Trigger.REALTIME:  # its tasks take turns: what runs just now says nothing
            slots = replace(slots, taken=0)
        return shuffle_partitions(sources, slots)

    def prepare(
        self, plan: Plan, on_lost: Callable[[Exception], None], on_trouble: Callable[[str, str | None], None]
    ) -> RunningPipeline:
        """Everything but the running query."""
        manifest, bus_topics = plan.manifest, [plan.manifest.changelog_topic, plan.manifest.rejected_topic]
        if self._claimant is not None:
            self._claimant.claim()
        changelog = self._changelog
        self._bus.create_topics(bus_topics, changelog.partitions, CHANGELOG_TOPIC, changelog.replication)
        data, bus = self._data.credentials, self._bus.credentials
        reader = ChangelogReader(
            self._bus,
            manifest.changelog_topic,
            manifest.rejected_topic,
            {"l": manifest.topics.left, "r": manifest.topics.right},
            self._schema,
            self._on_rejected,
            on_lost,
            self._intake,
        )
        checkpoint = self._checkpoint(manifest)
        query = Pipeline(self.session(), plan, str(checkpoint), self._schema, self._options(), self._trigger)
        watches = [
            TopicWatch(self._data, data, plan.topics, on_lost, partial(on_trouble, "data")),
            TopicWatch(self._bus, bus, self._bus.states(bus_topics), on_lost, partial(on_trouble, "bus")),
        ]
        return RunningPipeline(plan, query, reader, watches, self._leavings, self.cleanup)

    def _options(self) -> KafkaOptions:
        """For Spark, by the logins as they are now."""
        return KafkaOptions(for_java(self._data.credentials.properties), for_java(self._bus.credentials.properties))

    def is_far_behind(self, backlog: int, manifest: Manifest) -> bool:
        return backlog > (SHORT_BACKLOG if self.tells_how_far(manifest) else 0)

    def tells_how_far(self, manifest: Manifest) -> bool:
        """Does the live query write a record for each message, in their order? Micro-batches write one for each key,
        and of several tasks one may be behind another: then it is their commit that tells."""
        return self._trigger is Trigger.REALTIME and manifest.shuffle == 1

    def ends(self, manifest: Manifest) -> dict[str, Offsets]:
        return {topic: self._data.end_offsets(topic) for topic in (manifest.topics.left, manifest.topics.right)}

    def last_messages(
        self, positions: Mapping[str, Offsets], ends: Mapping[str, Offsets]
    ) -> dict[tuple[str, int], int]:
        """Topic and partition -> the last message between these positions and ends, if there is one."""
        return {
            (topic, partition): offset
            for topic, its_ends in ends.items()
            for partition, offset in self._data.last_messages(topic, positions[topic], its_ends).items()
        }

    def committed(self, manifest: Manifest) -> Mapping[str, Offsets]:
        return committed(self._checkpoint(manifest))

    def _checkpoint(self, manifest: Manifest) -> Location:
        url = self._spark_config.checkpoints
        if not url:
            return self._files.checkpoint(manifest.id)
        return HadoopPath(url, self.session) / f"{manifest.prefix}{manifest.id}"

    def bus_ends(self, manifest: Manifest) -> dict[str, Offsets]:
        return {topic: self._bus.end_offsets(topic) for topic in (manifest.changelog_topic, manifest.rejected_topic)}

    def delete(self, manifest: Manifest, done: str) -> None:
        self._leavings.condemn(manifest)
        self.cleanup.add(Chore(None, lambda: self._leavings.delete(manifest), done, manifest.id))
