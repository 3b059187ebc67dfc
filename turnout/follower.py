"""Shows what another Turnout leads to: the tables without Spark, and without an orchestrator of their own."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from turnout.behind import ReadPipeline
from turnout.bus.bulletin import Begin, Entry, Row, Showing, Undo, foreign, read
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.changelog.reader import ChangelogReader
from turnout.config import Config
from turnout.errors import KafkaError, TurnoutError
from turnout.kafka.client import Cluster, Offsets, Reader, Record
from turnout.kafka.topic_watch import TopicWatch
from turnout.orchestrator.clerk import Clerk
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.moves import Moves
from turnout.orchestrator.preview import Preview, Work
from turnout.orchestrator.states import State
from turnout.pipeline.manifest import fingerprint
from turnout.schema import Topics
from turnout.tables.public import STATUS_ROW, PublicTables

POLL_SECONDS = 0.1
RETRY_SECONDS = 2.0
STOP_SECONDS = 2.0
"""For its thread to end: nobody waits for a bus that does not answer."""

NOBODY_LEADS = (
    "no Turnout leads: the rows stay as they are until one does. Start `turnout run` with this bus and changelog.prefix"
)

log = logging.getLogger(__name__)


class FollowedPipeline(ReadPipeline):
    """A pipeline that runs elsewhere: its changelog is read, and nothing about it is changed."""

    def __init__(
        self,
        showing: Showing,
        bus: Cluster,
        tables: PublicTables,
        config: Config,
        intake: Intake,
        on_trouble: Callable[[str | None], None],
    ) -> None:
        self.showing, self._on_trouble = showing, on_trouble
        self.lost = False
        """It can no longer be read as it was."""
        topics = [showing.changelog_topic, showing.rejected_topic]
        self.changelog = ChangelogReader(
            bus,
            showing.changelog_topic,
            showing.rejected_topic,
            {"l": showing.topics.left, "r": showing.topics.right},
            config.join_schema(),
            tables.rejected,
            self._lose,
            intake,
        )
        self._ends = bus.end_offsets(showing.changelog_topic)
        self._watch = TopicWatch(bus, bus.credentials, bus.states(topics), self._lose, on_trouble)

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

    def _lose(self, error: Exception) -> None:
        self.lost = True
        self._on_trouble(f"the changelog of pipeline {self.id} cannot be read any more: {error}")


@dataclass(frozen=True)
class Followed:
    """What is shown."""

    showing: Showing
    pipeline: FollowedPipeline


class Follower:
    """One thread. It takes the leader's entries in their order, and waits with what comes after a generation until that
    is shown here too: who reads that a message was applied finds its rows."""

    def __init__(
        self,
        config: Config,
        bus: Cluster,
        data: Cluster,
        tables: PublicTables,
        intake: Intake,
        is_led: Callable[[], bool],
    ) -> None:
        """`is_led`: does anybody lead?"""
        self._config, self._bus, self._data, self._tables, self._intake = config, bus, data, tables, intake
        self._is_led, self._topic = is_led, BusTopics(config.changelog.prefix).bulletin
        self._fingerprint = fingerprint(config.join_schema())
        self.moves = Moves()
        self._term = 0  # of the leader that is listened to
        self._waiting: deque[Entry] = deque()
        self._live: Followed | None = None
        self._next: FollowedPipeline | None = None
        self._undo: Desired | None = None
        self._copies: dict[str, dict[str, Mapping[str, object]]] = {}  # table -> rows that have come
        self._anew = False  # are those all of them?
        self._status: Mapping[str, object] | None = None  # as the leader tells it
        self._trouble: str | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        if self._next is not None:
            self._next.stop()
        if self._live is not None:
            self._live.pipeline.stop()

    # -- what is known about what is shown: as an orchestrator would answer

    @property
    def live(self) -> Followed | None:
        return self._live

    @property
    def healthy(self) -> bool:
        """Does somebody run the pipeline?"""
        return self._live is not None and self._is_led() and self._trouble is None

    @property
    def lingering(self) -> int:
        return 0

    @property
    def previous(self) -> Desired | None:
        return self._undo

    def preview(self, value: bytes) -> Preview:
        """What this control message would come to; which pipelines linger is known to the leader alone."""
        if self._live is None:
            raise KafkaError("Nothing is shown yet: try again in a few seconds")
        current = self._live.showing.desired
        desired, ignored = Clerk(self._tables.fields, self._data.missing).resolve(value, current)
        work = Work.VIEW if desired.topics == current.topics else Work.BUILD
        return Preview(current, desired, Work.NONE if desired == current else work, ignored)

    # -- on its thread

    def _run(self) -> None:
        failed: str | None = None
        while not self._stopping.is_set():
            try:
                if not self._is_there_anything_to_follow():
                    continue
                with closing(self._bus.reader([self._topic])) as reader:
                    self._follow(reader)
            except TurnoutError as error:
                if str(error) != failed:  # once, not every two seconds
                    log.error("What another Turnout leads to cannot be followed, trying again: %s", error)
                failed = str(error)
                self._trouble = failed
                self._tell_status()
                self._stopping.wait(RETRY_SECONDS)

    def _is_there_anything_to_follow(self) -> bool:
        """Where nobody has led yet there is not, which is no error."""
        if not self._bus.missing([self._topic]):
            return True
        nobody = f"no Turnout has led on this bus with the prefix {self._config.changelog.prefix!r} yet"
        trouble = f"{nobody}: start `turnout run` with the same configuration"
        if self._trouble != trouble:
            log.info("Waiting: %s", nobody)
            self._trouble = trouble
            self._tell_status()
        self._stopping.wait(RETRY_SECONDS)
        return False

    def _follow(self, reader: Reader) -> None:
        self._waiting.clear()
        self._term = 0
        self._trouble = None
        while not self._stopping.is_set():
            for record in reader.poll(POLL_SECONDS):
                self._listen(record)
            while self._waiting and self._taken(self._waiting[0]):
                self._waiting.popleft()
            self._put_rows()
            self._mend()
            self._tell_status()

    def _listen(self, record: Record) -> None:
        """But not to a leader that another has taken over from, whatever it still has to say."""
        told = read(record)
        if told is not None and told[0] >= self._term:
            self._term = told[0]
            self._waiting.append(told[1])

    def _taken(self, entry: Entry) -> bool:
        """Has it been dealt with? If not, what comes after it waits too."""
        match entry:
            case Begin():
                log.info("Following %s", entry.leader)
                self._copies, self._anew = {}, True
            case Row(table=self._tables.names.status):
                self._status = entry.values
            case Row():
                if entry.values is not None:  # those that are too many go here by themselves
                    self._copies.setdefault(entry.table, {})[entry.id] = entry.values
            case Undo():
                self._undo = entry.leads_to
            case Showing():
                return self._is_overtaken() or self._shown(entry)
        return True

    def _is_overtaken(self) -> bool:
        """Is there news that makes it pointless to wait for the first one?"""
        return any(isinstance(entry, Begin | Showing) for entry in list(self._waiting)[1:])

    def _put_rows(self) -> None:
        """In one step for each table: also of another leader, whose log takes the place of that before."""
        copies, anew = self._copies, self._anew
        self._copies, self._anew = {}, False
        for table in self._tables.about_turnout:
            if table != self._tables.names.status and (anew or table in copies):
                self._tables.copy(table, copies.get(table, {}), anew=anew)

    def _shown(self, showing: Showing) -> bool:
        if showing.fingerprint != self._fingerprint:
            raise foreign(showing)
        live = self._live
        if live is not None and live.showing == showing and not live.pipeline.lost:
            return True
        if live is not None and live.pipeline.id == showing.pipeline and not live.pipeline.lost:
            pipeline = live.pipeline  # another join type
        else:
            pipeline = self._being_read(showing)
        if pipeline.is_read:
            self._put_rows()
            self._show(showing, pipeline)
        return pipeline.is_read

    def _being_read(self, showing: Showing) -> FollowedPipeline:
        """The pipeline that is to be shown next."""
        if self._next is not None and (self._next.id != showing.pipeline or self._next.lost):
            self._next.stop()
            if self._next.lost:
                self._stopping.wait(RETRY_SECONDS)
            self._next = None
        if self._next is None:
            self._next = FollowedPipeline(
                showing, self._bus, self._tables, self._config, self._intake, self._note_trouble
            )
            self._next.start()
        return self._next

    def _show(self, showing: Showing, pipeline: FollowedPipeline) -> None:
        self._tables.show(showing.generation, pipeline, showing.desired)
        old, self._live = self._live, Followed(showing, pipeline)
        log.info("Showing generation %d: %s", showing.generation, showing.desired)
        if pipeline is self._next:
            self._next = None
            if old is not None:
                old.pipeline.stop()
        self._trouble = None

    def _mend(self) -> None:
        """Read what is shown anew, if it can no longer be read as it was and nothing else is to come."""
        if self._live is not None and self._live.pipeline.lost and not self._waiting:
            self._shown(self._live.showing)

    def _note_trouble(self, trouble: str | None) -> None:
        """On any thread."""
        self._trouble = trouble

    def _tell_status(self) -> None:
        """As the leader tells it, unless something is wrong between it and here."""
        if self._status is None:  # nobody has said anything yet
            self._tell_why_nothing_is_shown()
            return
        row, trouble = self._status, self._trouble or (None if self._is_led() else NOBODY_LEADS)
        if trouble is not None:
            row = {**row, "state": str(State.DEGRADED), "message": trouble}
        if row != self._tables.status_row():
            self._tables.copy(self._tables.names.status, {STATUS_ROW: row})

    def _tell_why_nothing_is_shown(self) -> None:
        row = self._tables.status_row()
        if self._trouble is not None and row["message"] != self._trouble:
            self._tables.copy(self._tables.names.status, {STATUS_ROW: {**row, "message": self._trouble}})
