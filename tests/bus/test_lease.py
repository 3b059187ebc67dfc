"""The lease as a game of several that read the same log, each at its own pace."""

import threading
from dataclasses import dataclass, field
from typing import Self, cast

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given
from pydantic import TypeAdapter

from tests.waiting import until
from turnout.bus.lease import LEASE_SECONDS, RETURN_SECONDS, Act, Entry, Lease, Tenure
from turnout.bus.topics import BusTopics
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Record

ACTORS = ("a", "b", "c")
SECONDS = 30.0


def entry(act: Act, term: int, holder: str) -> Entry:
    return Entry(act, term, holder, f"host {holder}", "owner")


def after(*entries: Entry) -> Tenure:
    tenure = Tenure()
    for one in entries:
        tenure = tenure.after(one)
    return tenure


def test_of_several_claims_of_a_term_the_first_counts() -> None:
    tenure = after(entry(Act.CLAIM, 1, "a"), entry(Act.CLAIM, 1, "b"))
    assert (tenure.term, tenure.holder, tenure.name) == (1, "a", "host a")


def test_a_newer_term_takes_the_lease_from_one_that_was_silent_and_it_does_not_get_it_back_by_renewing() -> None:
    tenure = after(entry(Act.CLAIM, 1, "a"), entry(Act.CLAIM, 2, "b"), entry(Act.RENEW, 1, "a"))
    assert (tenure.term, tenure.holder) == (2, "b")


def test_who_lets_go_leaves_it_to_the_next_term() -> None:
    released = after(entry(Act.CLAIM, 1, "a"), entry(Act.RELEASE, 1, "a"))
    assert (released.term, released.holder) == (1, None)
    assert released.after(entry(Act.CLAIM, 2, "b")).holder == "b"
    assert after(entry(Act.CLAIM, 1, "a"), entry(Act.RELEASE, 1, "b")).holder == "a", "not by another one"


def test_who_begins_to_read_late_learns_from_the_next_renewal_who_leads() -> None:
    assert after(entry(Act.CLAIM, 7, "b")).term == 7, "whether it was the first of its term is not known"
    assert after(entry(Act.CLAIM, 7, "b"), entry(Act.RENEW, 7, "a")).holder == "a"


@dataclass
class Actor:
    """Claims and renews by what it has read so far, as a process would that is frozen now and then."""

    name: str
    read: int = 0
    tenure: Tenure = field(default_factory=Tenure)
    held: set[int] = field(default_factory=set)

    def take(self, log: list[Entry], count: int) -> None:
        for one in log[self.read : self.read + count]:
            self.tenure = self.tenure.after(one)
            self.read += 1
            if self.tenure.holder == self.name:
                self.held.add(self.tenure.term)

    def write(self, act: Act) -> Entry | None:
        if act is Act.CLAIM and self.tenure.holder != self.name:
            return entry(act, self.tenure.term + 1, self.name)
        leads = self.tenure.holder == self.name
        return entry(act, self.tenure.term, self.name) if act is not Act.CLAIM and leads else None


Step = tuple[int, Act | int]
steps = st.lists(st.tuples(st.integers(0, len(ACTORS) - 1), st.sampled_from(list(Act)) | st.integers(1, 5)))


def played(steps: list[Step]) -> tuple[list[Entry], list[Actor]]:
    """All that was written, and all have read it."""
    log: list[Entry] = []
    actors = [Actor(name) for name in ACTORS]
    for number, step in steps:
        actor = actors[number]
        if isinstance(step, int) and not isinstance(step, Act):
            actor.take(log, step)
        elif (written := actor.write(Act(step))) is not None:
            log.append(written)
    for actor in actors:
        actor.take(log, len(log))
    return log, actors


@given(steps)
def test_no_two_ever_hold_the_same_term_and_in_the_end_all_agree(steps: list[Step]) -> None:
    _, actors = played(steps)
    held = [term for actor in actors for term in actor.held]
    assert len(held) == len(set(held))
    assert len({actor.tenure for actor in actors}) == 1


@given(steps, st.integers(0, 50))
def test_what_compaction_leaves_tells_the_same_term_and_the_next_renewal_who_leads(steps: list[Step], cut: int) -> None:
    log, _ = played(steps)
    left = {one.key: number for number, one in enumerate(log[:cut])}
    compacted = [log[number] for number in sorted(left.values())] + log[cut:]
    whole, summary = after(*log), after(*compacted)
    assert summary.term == whole.term
    if whole.holder is not None:
        assert summary.after(entry(Act.RENEW, whole.term, whole.holder)).holder == whole.holder


class Bus:
    """A topic that several read, each at its own pace; while it is away nothing comes, and what is sent waits."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.readers = self.asked = 0
        self.credentials = object()
        self.is_there = threading.Event()
        self.is_there.set()
        self.now = 100.0
        self.open: list[BusReader] = []

    def cluster(self) -> Cluster:
        return cast(Cluster, self)

    def missing(self, _: list[str]) -> list[str]:
        return []

    def publisher(self) -> "Bus":
        return self

    def publish(self, topic: str, value: bytes, key: bytes) -> None:
        if not self.is_there.wait(SECONDS):
            raise KafkaError("no answer")
        self.records.append(Record(topic, 0, len(self.records), 0, key, value))

    def end_offsets(self, _: str, __: float = 10.0) -> dict[int, int]:
        self.asked += 1
        if not self.is_there.is_set():
            raise KafkaError("no answer")
        return {0: len(self.records)}

    def reader(self, _: list[str]) -> "BusReader":
        self.readers += 1
        self.open.append(reader := BusReader(self))
        return reader

    def until_all_have_read(self) -> None:
        """What is there now, and have done what follows from it."""
        polls = {reader: reader.polls for reader in list(self.open)}
        for reader, count in polls.items():
            until(lambda r=reader, n=count: r.polls > n + 1 or r not in self.open, "all read on")  # type: ignore[misc]

    def entries(self) -> list[tuple[str, int, str]]:
        found = [orjson.loads(record.value or b"") for record in self.records]
        return [(one["act"], one["term"], one["name"]) for one in found]

    def claims(self) -> list[tuple[int, str]]:
        return [(term, name) for act, term, name in self.entries() if act == Act.CLAIM]


class BusReader:
    def __init__(self, bus: Bus) -> None:
        self._bus, self._read = bus, 0
        self.polls = 0

    def poll(self, _: float) -> list[Record]:
        self.polls += 1
        threading.Event().wait(0.002)  # as a topic in which nothing comes
        if not self._bus.is_there.is_set():
            return []
        news = self._bus.records[self._read :]
        self._read += len(news)
        return news

    def reached(self, _: str, ends: dict[int, int]) -> bool:
        return self._read >= ends[0]

    def close(self) -> None:
        self._bus.open.remove(self)


@dataclass
class Candidate:
    bus: Bus
    name: str
    held: threading.Event = field(default_factory=threading.Event)
    lost: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lease = Lease(
            self.bus.cluster(),
            BusTopics(),
            self.name,
            "owner",
            self.held.set,
            self.lost.append,
            clock=lambda: self.bus.now,
        )

    def __enter__(self) -> Self:
        self.lease.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bus.is_there.set()
        self.lease.stop()

    def passes(self, seconds: float) -> None:
        """As much time, in which the leader renews as often as it should."""
        for _ in range(int(seconds)):
            renewals = len(self.bus.records)
            self.bus.now += 1.0
            until(lambda renewals=renewals: len(self.bus.records) > renewals, "the leader renews")  # type: ignore[misc]
            self.bus.until_all_have_read()


@pytest.fixture
def bus() -> Bus:
    return Bus()


def test_one_leads_as_long_as_it_renews_and_the_other_when_it_is_silent(bus: Bus) -> None:
    with Candidate(bus, "second") as second:
        with Candidate(bus, "first") as first:
            until(lambda: first.held.is_set() or second.held.is_set(), "one of them leads")
            leader, other = (first, second) if first.held.is_set() else (second, first)
            leader.passes(3 * LEASE_SECONDS)
            assert not other.held.is_set()
        until(second.held.is_set, "the one that is left leads, since the other has let go")
    assert [term for term, _ in bus.claims()] == sorted({term for term, _ in bus.claims()})


def test_a_bus_that_was_away_takes_the_lease_from_nobody(bus: Bus) -> None:
    with Candidate(bus, "leader") as leader:
        until(leader.held.is_set, "it leads")
        with Candidate(bus, "other") as other:
            while other.lease.leader is None:  # what was there when it began to read is no sign of life
                leader.passes(1)
            bus.is_there.clear()
            for _ in range(10):
                bus.now += 1.0
                asked = bus.asked
                until(lambda asked=asked: bus.asked > asked, "the other one asks in vain")  # type: ignore[misc]
            bus.is_there.set()
            leader.passes(3 * RETURN_SECONDS)
            assert bus.claims() == [(1, "leader")]
            assert not leader.lost


def test_terms_go_on_when_all_that_is_left_is_what_compaction_leaves(bus: Bus) -> None:
    for number in range(3):
        with Candidate(bus, f"leader {number}") as leader:
            until(leader.held.is_set, "it leads")
            leader.passes(2)
    last = {record.key: record for record in bus.records}
    bus.records = list(last.values())
    with Candidate(bus, "next") as following:
        until(following.held.is_set, "it leads")
        assert following.lease.term == 4


def test_another_login_opens_the_reader_anew_and_takes_the_lease_from_nobody(bus: Bus) -> None:
    with Candidate(bus, "leader") as leader:
        until(leader.held.is_set, "it leads")
        readers = bus.readers
        bus.credentials = object()
        until(lambda: bus.readers > readers, "it reads with the new login")
        leader.passes(LEASE_SECONDS)
        assert leader.lease.term == 1
        assert not leader.lost


def test_a_leader_is_sure_only_as_long_as_nobody_can_have_taken_over(bus: Bus) -> None:
    with Candidate(bus, "leader") as leader:
        until(lambda: leader.lease.is_sure, "it has read its own claim")
        leader.passes(2 * LEASE_SECONDS)
        until(lambda: leader.lease.is_sure, "it has read its own renewal")
        bus.is_there.clear()
        bus.now += LEASE_SECONDS
        assert not leader.lease.is_sure
        bus.is_there.set()
        until(lambda: leader.lease.is_sure, "it has read a renewal again")


def test_a_leader_that_finds_that_another_one_leads_is_told_so(bus: Bus) -> None:
    with Candidate(bus, "leader") as leader:
        until(leader.held.is_set, "it leads")
        other = Entry(Act.CLAIM, 2, "other", "another host", "owner")
        bus.publish("lease", TypeAdapter(Entry).dump_json(other), other.key)
        until(lambda: leader.lost == ["another host"], "it hears of it")
        assert not leader.lease.is_sure
