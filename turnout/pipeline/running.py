"""A pipeline that runs: its query, the reader of its changelog, and those who look after its topics."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from turnout.behind import ReadPipeline
from turnout.changelog.reader import ChangelogReader
from turnout.crash_points import CrashPoint, crash_point
from turnout.errors import BuildFailed
from turnout.kafka.client import Cluster
from turnout.kafka.topic_watch import TopicWatch
from turnout.pipeline.checkpoint import Committed, Location, committed, remove
from turnout.pipeline.cleanup import Chore, Cleanup
from turnout.pipeline.manifest import Manifest, Manifests, Shown
from turnout.pipeline.pipeline import Pipeline
from turnout.pipeline.plan import Plan
from turnout.schema import JoinType, Topics


class Leavings:
    """What pipelines leave on disk and on the bus."""

    def __init__(self, manifests: Manifests, bus: Cluster, checkpoint: Callable[[Manifest], Location]) -> None:
        self._manifests, self._bus, self._checkpoint = manifests, bus, checkpoint

    def delete(self, manifest: Manifest) -> None:
        # The manifest goes last: if deleting the topics fails, the next start finds it and tries again.
        crash_point(CrashPoint.RETIRING)
        self._bus.delete_topics([manifest.changelog_topic, manifest.rejected_topic])
        crash_point(CrashPoint.TOPICS_DELETED)
        remove(self._checkpoint(manifest))
        self._manifests.delete(manifest)
        crash_point(CrashPoint.RETIRED)

    def condemn(self, manifest: Manifest) -> None:
        self._manifests.condemn(manifest)

    def committed(self, manifest: Manifest) -> Committed:
        with suppress(OSError, ValueError, BuildFailed):  # Spark writes and removes these files meanwhile
            return committed(self._checkpoint(manifest))
        return {}

    def mark_shown(self, manifest: Manifest, shown: Shown) -> None:
        self._manifests.mark_shown(manifest, shown)


class RunningPipeline(ReadPipeline):
    def __init__(
        self,
        plan: Plan,
        query: Pipeline,
        changelog: ChangelogReader,
        watches: Sequence[TopicWatch],
        leavings: Leavings,
        cleanup: Cleanup,
    ) -> None:
        self.manifest, self.query, self.changelog = plan.manifest, query, changelog
        self._resumed = plan.resumed
        self._watches, self._leavings, self._cleanup = watches, leavings, cleanup

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def topics(self) -> Topics:
        return self.manifest.topics

    @property
    def starts(self) -> Mapping[str, Mapping[str, int]]:
        return self.manifest.starts

    def start_watching(self) -> None:
        for watch in self._watches:
            watch.start()

    def committed(self) -> Committed:
        """What its query has committed; nothing if that is unknown at this moment."""
        return self._leavings.committed(self.manifest)

    def promote(self, generation: int, join: JoinType) -> None:
        self._leavings.mark_shown(self.manifest, Shown(generation, join))

    def stop(self) -> None:
        self._fall_silent()
        self._cleanup.add(Chore(self._end, None, f"Stopped pipeline {self.id} on {self.topics}", self.id))

    def retire(self) -> None:
        self._fall_silent()
        self._leavings.condemn(self.manifest)
        done = f"Retired pipeline {self.id} on {self.topics}"
        self._cleanup.add(Chore(self._end, lambda: self._leavings.delete(self.manifest), done, self.id))

    def abandon(self) -> None:
        if self._resumed:
            self.stop()
        else:
            self.retire()

    def _fall_silent(self) -> None:
        """From here on nothing that happens to it is news."""
        self.query.expect_end()
        for watch in self._watches:
            watch.stop()

    def _end(self) -> None:
        try:
            self.query.stop()
        finally:
            self.changelog.stop()
