"""Who leads: of all Turnouts that share a bus and a prefix, one runs the pipelines. The others stand by.

The lease is a topic of one partition, and its order is the truth. Whoever leads renews the lease every second. Once
nobody has for a while, each of those that stand by claims the next term; of several claims of a term the first one in
the topic counts. A leader that reads that there is a newer term, because it was frozen or cut off, has to end.

No clocks are compared: each counts by its own how long it has read nothing from the leader. Only time in which the bus
answers counts: one that is away takes the lease from nobody, and when it is back, whoever leads has time to say so.

The topic is compacted. What is left of it tells which term it is, and the next renewal who leads.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from turnout.bus.compacted import COMPACTED
from turnout.bus.topics import BusTopics
from turnout.errors import KafkaError
from turnout.kafka.client import BROKERS_DEFAULT, Cluster, Reader, Record

RENEW_SECONDS = 1.0
LEASE_SECONDS = 4.0
"""Without a renewal, until others claim it: a few that come late are no reason, and a takeover is to be done in ten."""

POLL_SECONDS = 0.1
RETRY_SECONDS = STOP_SECONDS = 1.0

ASK_SECONDS, ANSWER_SECONDS = 1.0, 2.0
"""Who stands by asks so often whether there is more to be read; a bus that needs longer to answer is away."""

RETURN_SECONDS = 15.0
"""When the bus is back: clients look for it again after up to ten seconds, and whoever leads begins to read anew."""

_TOPIC = {**COMPACTED, "segment.ms": "3600000"}
"""An hour's renewals are read at every start. The last ones stay for ever: terms may not begin again, since whoever has
read of a newer one (turnout.bus.bulletin) does not listen to an older one."""

log = logging.getLogger(__name__)


class Act(StrEnum):
    CLAIM = "claim"
    RENEW = "renew"
    RELEASE = "release"


@dataclass(frozen=True)
class Entry:
    act: Act
    term: int
    holder: str
    """One process, from its start to its end."""
    name: str
    """Of the holder, for people."""
    owner: str
    """The id of its home: who is to take over goes on from there."""
    number: int = 0
    """Of those that its holder has sent."""

    @property
    def key(self) -> bytes:
        """By which the topic is compacted: no term is forgotten."""
        return f"{self.act} {self.term}".encode() if self.act is Act.CLAIM else str(self.act).encode()


_ENTRY = TypeAdapter(Entry)


@dataclass(frozen=True)
class Tenure:
    """Who leads, by all entries so far."""

    term: int = 0
    holder: str | None = None
    name: str = ""
    owner: str = ""

    def after(self, entry: Entry) -> "Tenure":
        claimed = entry.act is Act.CLAIM and entry.term > self.term
        # One that renews has read that its claim was the first. Where earlier entries are gone, that is news.
        renewed = entry.act is Act.RENEW and entry.term >= self.term
        if claimed or renewed:
            return Tenure(entry.term, entry.holder, entry.name, entry.owner)
        released = entry.act is Act.RELEASE and (entry.term, entry.holder) == (self.term, self.holder)
        return Tenure(self.term) if released else self


class Lease:
    """One thread: knows who leads, and claims the lease if it is a candidate and nobody does."""

    def __init__(
        self,
        bus: Cluster,
        topics: BusTopics,
        name: str,
        owner: str = "",
        on_held: Callable[[], None] | None = None,
        on_lost: Callable[[str], None] | None = None,
        replication: int = BROKERS_DEFAULT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A candidate has `on_held`, called once, when it leads; and `on_lost`, with the name of who leads instead."""
        self._bus, self._topic, self._replication = bus, topics.lease, replication
        self._name, self._owner = name, owner
        self._on_held, self._on_lost, self._clock = on_held, on_lost, clock
        self._publisher = bus.publisher()
        self._holder = uuid.uuid4().hex
        self._tenure = Tenure()
        self._sign = clock()  # when something was last read of whoever leads, or the reading began
        self._alive = False  # is that of now, and not of what was there before?
        self._asked = 0.0
        self._away = False  # did the bus not answer, and nothing was heard of who leads since?
        self._sent: dict[int, float] = {}  # number of an entry of ours that was not read yet -> when it was sent
        self._number = 0
        self._renewed = self._sure_until = 0.0
        self._claimed = 0  # the term
        self._held = False
        self.trouble: str | None = None
        """Why nobody can be told to lead, if so."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let go of it, so that others need not wait; but do not wait for a bus that does not answer."""
        self._stopping.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    @property
    def leader(self) -> Tenure | None:
        """Who leads, and has been heard to; None if nobody has."""
        tenure = self._tenure
        return tenure if self._alive and not self._is_free else None

    @property
    def term(self) -> int:
        return self._tenure.term

    @property
    def is_sure(self) -> bool:
        """Does this one lead, and can nobody else by now? Others count from when they read what it has sent, which is
        later."""
        return self._held and self._clock() < self._sure_until

    @property
    def _is_candidate(self) -> bool:
        return self._on_held is not None

    @property
    def _is_free(self) -> bool:
        return self._tenure.holder is None or self._clock() - self._sign >= self._patience

    @property
    def _patience(self) -> float:
        return RETURN_SECONDS if self._away else LEASE_SECONDS

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except KafkaError as error:
                if self.trouble is None:  # once, not every second
                    log.warning("Who leads cannot be told, trying again: %s", error)
                self.trouble = f"who leads cannot be told: {error}"
                self._note_absence()
                self._stopping.wait(RETRY_SECONDS)
            except Exception:  # a defect, but a leader that no longer reads would not know when to end
                log.exception("Who leads cannot be told, trying again")
                self._stopping.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """Read and act until it is lost, somebody stops it, or there is another login to the bus."""
        if self._bus.missing([self._topic]):
            if not self._is_candidate:  # nobody has led yet
                self._stopping.wait(RETRY_SECONDS)
                return
            self._bus.create_topics([self._topic], 1, _TOPIC, self._replication)
        credentials = self._bus.credentials
        ends = self._bus.end_offsets(self._topic)
        with closing(self._bus.reader([self._topic])) as reader:
            self.trouble = None
            self._sign = self._clock()
            while not self._stopping.is_set() and self._bus.credentials is credentials:
                caught_up = reader.reached(self._topic, ends)
                self._read(reader.poll(POLL_SECONDS), are_news=caught_up)
                if caught_up:
                    self._act(reader)
            if self._held and self._stopping.is_set():
                self._publish(Act.RELEASE, self._tenure.term)

    def _read(self, records: Iterable[Record], *, are_news: bool) -> None:
        for record in records:
            entry = _parsed(record)
            if entry is None:
                continue
            self._tenure = self._tenure.after(entry)
            if entry.holder == self._tenure.holder:
                self._sign, self._alive, self._away = self._clock(), are_news, self._away and not are_news
                if (sent := self._sent.get(entry.number)) is not None and entry.holder == self._holder:
                    self._sure_until = sent + LEASE_SECONDS
                    self._sent = {number: at for number, at in self._sent.items() if number > entry.number}

    def _act(self, reader: Reader) -> None:
        ours = self._tenure.holder == self._holder
        if self._held:
            if not ours:
                self._lose()
            elif self._clock() - self._renewed >= RENEW_SECONDS:
                self._publish(Act.RENEW, self._tenure.term)
        elif ours:
            self._hold()
        elif self._is_candidate and self._may_claim(reader):
            self._publish(Act.CLAIM, self._tenure.term + 1)
            self._claimed = self._tenure.term + 1

    def _may_claim(self, reader: Reader) -> bool:
        """Does nobody lead, as far as the bus says? That is asked all the time, in order to notice when it is away."""
        if not self._is_free and self._clock() - self._asked < ASK_SECONDS:
            return False
        return self._has_read_all(reader) and self._is_free and self._claimed <= self._tenure.term

    def _has_read_all(self, reader: Reader) -> bool:
        """As far as the bus says, which may be away."""
        self._asked = self._clock()
        try:
            ends = self._bus.end_offsets(self._topic, ANSWER_SECONDS)
        except KafkaError:
            self._note_absence()
            return False
        return reader.reached(self._topic, ends)

    def _note_absence(self) -> None:
        """Of the bus: it is for whoever leads to speak first when it is back."""
        self._sign, self._away = self._clock(), True

    def _hold(self) -> None:
        self._held = True
        log.info("This Turnout leads, term %d", self._tenure.term)
        if self._on_held is not None:
            self._on_held()

    def _lose(self) -> None:
        self._held = False
        self._stopping.set()
        if self._on_lost is not None:
            self._on_lost(self._tenure.name)

    def _publish(self, act: Act, term: int) -> None:
        self._renewed = self._clock()
        self._number += 1
        self._sent[self._number] = self._renewed
        entry = Entry(act, term, self._holder, self._name, self._owner, self._number)
        self._publisher.publish(self._topic, _ENTRY.dump_json(entry), entry.key)


def _parsed(record: Record) -> Entry | None:
    try:
        return _ENTRY.validate_json(record.value or b"")
    except ValidationError:
        log.warning("%s/%d offset %d is not of a lease: ignored", record.topic, record.partition, record.offset)
        return None
