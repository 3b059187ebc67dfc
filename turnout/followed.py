"""A pipeline that runs elsewhere: its changelog is read here, and nothing about it is changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from turnout.behind import ReadPipeline
from turnout.bus.bulletin import Showing
from turnout.changelog.intake import Intake
from turnout.changelog.reader import ChangelogReader
from turnout.config import Config
from turnout.kafka.client import Cluster, Offsets
from turnout.kafka.topic_watch import TopicWatch
from turnout.schema import Topics
from turnout.tables.public import PublicTables


class _Health:
    """What its reader and its watch say, on threads of their own. It knows neither the pipeline nor the follower: a
    circle would keep all that was read in memory (turnout.service freezes what Python's collector would look at)."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self.loss: str | None = None
        self.trouble: str | None = None

    def lose(self, error: Exception) -> None:
        self.loss = f"the changelog of pipeline {self._pipeline} cannot be read any more: {error}"

    def note(self, trouble: str | None) -> None:
        self.trouble = trouble


class FollowedPipeline(ReadPipeline):
    def __init__(self, showing: Showing, bus: Cluster, tables: PublicTables, config: Config, intake: Intake) -> None:
        self.showing, self._health = showing, _Health(showing.pipeline)
        topics = [showing.changelog_topic, showing.rejected_topic]
        self.changelog = ChangelogReader(
            bus,
            showing.changelog_topic,
            showing.rejected_topic,
            {"l": showing.topics.left, "r": showing.topics.right},
            config.join_schema(),
            tables.rejected,
            self._health.lose,
            intake,
        )
        self._ends = bus.end_offsets(showing.changelog_topic)
        self._watch = TopicWatch(bus, bus.credentials, bus.states(topics), self._health.lose, self._health.note)

    @property
    def id(self) -> str:
        return self.showing.pipeline

    @property
    def topics(self) -> Topics:
        return self.showing.topics

    @property
    def starts(self) -> Mapping[str, Mapping[str, int]]:
        return self.showing.starts

    @property
    def lost(self) -> bool:
        """It can no longer be read as it was."""
        return self._health.loss is not None

    @property
    def trouble(self) -> str | None:
        """Why it is not read, or may soon not be."""
        return self._health.loss or self._health.trouble

    @property
    def is_read(self) -> bool:
        """Has all been read that was there when this began?"""
        return self.changelog.progress.has_read(self.showing.changelog_topic, self._ends)

    def committed(self) -> Mapping[str, Offsets]:
        """Only whoever runs it knows."""
        return {}

    def start(self) -> None:
        self.changelog.start()
        self._watch.start()

    def stop(self) -> None:
        self._watch.stop()
        self.changelog.stop()


@dataclass(frozen=True)
class Followed:
    """What is shown."""

    showing: Showing
    pipeline: FollowedPipeline
