"""Shows what another Turnout leads to: the tables without Spark, and without an orchestrator of their own."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing

from turnout.bus.bulletin import Begin, Entry, Row, Showing, Undo, foreign, read
from turnout.bus.bulletin_reader import BulletinReader
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.config import Config
from turnout.errors import KafkaError, TurnoutError
from turnout.followed import Followed, FollowedPipeline
from turnout.kafka.client import Cluster, Record
from turnout.orchestrator.clerk import Clerk
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.moves import Moves
from turnout.orchestrator.preview import Preview, Work
from turnout.orchestrator.states import State
from turnout.pipeline.manifest import fingerprint
from turnout.tables.public import STATUS_ROW, PublicTables

POLL_SECONDS = 0.1
RETRY_SECONDS = 2.0
STOP_SECONDS = 2.0
"""For its thread to end: nobody waits for a bus that does not answer."""

UNEXPECTED = "what another Turnout leads to is not followed, because of a defect in this one: see its log"
NOBODY_LEADS = (
    "no Turnout leads: the rows stay as they are until one does. Start `turnout run` with this bus and changelog.prefix"
)

log = logging.getLogger(__name__)


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
        self._topic_id: str | None = None
        self._term = 0  # of the leader that is listened to
        self._heard = 0  # the offset of the next entry that has not been taken note of
        self._judged = 0  # that of the next one that has never been read: of those before it nobody is warned again
        self._waiting: deque[Entry] = deque()
        self._live: Followed | None = None
        self._next: FollowedPipeline | None = None
        self._ending: FollowedPipeline | None = None
        self._undo: Desired | None = None
        self._copies: dict[str, dict[str, Mapping[str, object]]] = {}  # table -> rows that have come
        self._anew = False  # are those all of them?
        self._status: Mapping[str, object] | None = None  # as the leader tells it
        self._failed: str | None = None  # why it could not follow when it last tried
        self._waits_for: str | None = None  # why there is nothing to follow yet
        self._unheard: str | None = None  # why nothing is heard of the leader
        self._stopping = threading.Event()
        self._acting = threading.Lock()
        """Held by whoever changes the tables, or starts something; not while the bus is asked."""
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """From here on it does nothing to the tables, and starts nothing: not even once the bus answers a thread that
        could not be waited for."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        with self._acting:
            left = [self._next, self._ending, self._live.pipeline if self._live is not None else None]
        for pipeline in left:
            if pipeline is not None:
                pipeline.stop()

    # -- what is known about what is shown: as an orchestrator would answer

    @property
    def live(self) -> Followed | None:
        return self._live

    @property
    def healthy(self) -> bool:
        """Does somebody run the pipeline?"""
        return self._live is not None and self._is_led() and self._trouble is None

    @property
    def _trouble(self) -> str | None:
        """Here, or between here and the leader: also with a pipeline, as long as it is shown or to be shown."""
        read = [self._next, self._live.pipeline if self._live is not None else None]
        troubles = [self._failed, self._waits_for, self._unheard, *(one.trouble for one in read if one is not None)]
        return next((trouble for trouble in troubles if trouble is not None), None)

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
        while not self._stopping.is_set():
            try:
                if self._is_there_anything_to_follow():
                    self._follow()
            except TurnoutError as error:
                if str(error) != self._failed:  # once, not every two seconds
                    log.error("What another Turnout leads to cannot be followed, trying again: %s", error)
                self._fail(str(error))
            except Exception as error:  # a defect; but the tables must not stand still without a word
                why = f"{UNEXPECTED} ({type(error).__name__})"
                if why != self._failed:
                    log.exception("What another Turnout leads to cannot be followed, trying again")
                self._begin_anew()  # some of what was heard may be lost
                self._fail(why)

    def _fail(self, why: str) -> None:
        self._failed = why
        try:
            self._tell_status()
        except Exception:  # it may be this that fails
            log.exception("The status cannot be told")
        self._stopping.wait(RETRY_SECONDS)

    def _begin_anew(self) -> None:
        self._waiting.clear()
        self._term = self._heard = 0

    def _is_there_anything_to_follow(self) -> bool:
        """Where nobody has led yet there is not, which is no error."""
        if not self._bus.missing([self._topic]):
            self._waits_for = None
            return True
        nobody = f"no Turnout has led on this bus with the prefix {self._config.changelog.prefix!r} yet"
        if self._waits_for is None:
            log.info("Waiting: %s", nobody)
        self._failed, self._waits_for = None, f"{nobody}: start `turnout run` with the same configuration"
        self._tell_status()
        self._stopping.wait(RETRY_SECONDS)
        return False

    def _follow(self) -> None:
        """Until somebody stops it, or the topic or the login is no longer the same."""
        with closing(BulletinReader(self._bus, self._topic)) as reader:
            if reader.topic_id != self._topic_id:  # offsets begin again
                self._begin_anew()
                self._topic_id, self._judged = reader.topic_id, 0
            while not self._stopping.is_set() and not reader.is_over:
                for record in reader.poll(POLL_SECONDS):
                    self._listen(record)
                self._unheard = reader.trouble
                # Not before: of what was shown and told meanwhile, only the last counts.
                if reader.caught_up:
                    self._take()
                    self._failed = None
                self._tell_status()

    def _listen(self, record: Record) -> None:
        """But not to a leader that another has taken over from, whatever it still has to say."""
        if record.offset < self._heard:  # a reader that was opened anew begins at the beginning
            return
        is_news = record.offset >= self._judged
        self._heard, self._judged = record.offset + 1, max(self._judged, record.offset + 1)
        told = read(record, is_news=is_news)
        if told is None or told[0] < self._term:
            return
        self._term, entry = told
        if isinstance(entry, Row) and (fitting := self._fitting(entry)) is not None:
            self._waiting.append(fitting)
        elif not isinstance(entry, Row):
            self._waiting.append(entry)
        elif is_news:
            log.warning(
                "%s/%d offset %d, %s %s, is no row of that table as this server has it: ignored. If another version of "
                "Turnout leads, give this server the same",
                *(record.topic, record.partition, record.offset, entry.table, entry.id),
            )

    def _fitting(self, row: Row) -> Row | None:
        """As the table here takes it: the leader may be of another version."""
        if row.values is None or row.table not in self._tables.about_turnout:
            return row  # nothing is put anywhere
        values = self._tables.fitting(row.table, row.values)
        return None if values is None else Row(row.table, row.id, values)

    def _take(self) -> None:
        try:
            while self._waiting and not self._stopping.is_set() and self._taken(self._waiting[0]):
                self._waiting.popleft()
        finally:
            self._drop_next()
        self._put_rows()
        self._mend()

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
                self._copy(table, copies.get(table, {}), anew=anew)

    def _copy(self, table: str, rows: Mapping[str, Mapping[str, object]], *, anew: bool = False) -> None:
        with self._acting:
            if not self._stopping.is_set():
                self._tables.copy(table, rows, anew=anew)

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
        if self._next is not None and self._next.lost:
            self._end_next()
            self._stopping.wait(RETRY_SECONDS)
        elif self._next is not None and self._next.id != showing.pipeline:
            self._end_next()
        return self._next or self._started(showing)

    def _started(self, showing: Showing) -> FollowedPipeline:
        pipeline = FollowedPipeline(showing, self._bus, self._tables, self._config, self._intake)
        with self._acting:
            if not self._stopping.is_set():  # while the bus was asked
                self._next = pipeline
                pipeline.start()
        return pipeline

    def _drop_next(self) -> None:
        """One that is not to be shown after all: the leader went back to what is shown, or on to something else."""
        wanted = {entry.pipeline for entry in self._waiting if isinstance(entry, Showing)}
        if self._live is not None and self._live.pipeline.lost:
            wanted.add(self._live.pipeline.id)
        if self._next is not None and self._next.id not in wanted:
            self._end_next()

    def _end_next(self) -> None:
        self._ending, self._next = self._next, None
        self._end()

    def _end(self) -> None:
        if self._ending is not None:
            self._ending.stop()
            self._ending = None

    def _show(self, showing: Showing, pipeline: FollowedPipeline) -> None:
        with self._acting:
            if self._stopping.is_set():
                return
            self._tables.show(showing.generation, pipeline, showing.desired)
            if self._live is not None and self._live.pipeline is not pipeline:
                self._ending = self._live.pipeline
            self._live = Followed(showing, pipeline)
            if pipeline is self._next:
                self._next = None
        log.info("Showing generation %d: %s", showing.generation, showing.desired)
        self._end()

    def _mend(self) -> None:
        """Read what is shown anew, if it can no longer be read as it was and nothing else is to come."""
        if self._live is not None and self._live.pipeline.lost and not self._waiting:
            self._shown(self._live.showing)

    def _tell_status(self) -> None:
        """As the leader tells it, unless something is wrong between it and here."""
        if self._status is None:  # nobody has said anything yet
            self._tell_why_nothing_is_shown()
            return
        row, trouble = self._status, self._trouble or (None if self._is_led() else NOBODY_LEADS)
        if trouble is not None:
            row = {**row, "state": str(State.DEGRADED), "message": trouble}
        if row != self._tables.status_row():
            self._copy(self._tables.names.status, {STATUS_ROW: row})

    def _tell_why_nothing_is_shown(self) -> None:
        row, trouble = self._tables.status_row(), self._trouble
        if trouble is not None and row["message"] != trouble:
            self._copy(self._tables.names.status, {STATUS_ROW: {**row, "message": trouble}})
