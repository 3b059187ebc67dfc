"""Taking over from a leader, among fakes."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.following import Following
from tests.orchestrator.fakes import World
from tests.tables.test_public import LEFT, Pipeline
from tests.waiting import until
from turnout.bus.lease import Tenure
from turnout.config import load
from turnout.follower import Follower
from turnout.kafka import topic_watch
from turnout.service import Service

A = "a" * 12


class FakeLease:
    """Somebody leads, until the test says that this one does."""

    term = 2
    trouble = None

    def __init__(self, *args: Any) -> None:
        _bus, _topics, _name, self._owner, self.held, *_ = args
        self.leader = Tenure(1, "another", "another", self._owner)

    held: Callable[[], None]

    def start(self) -> None: ...

    def stop(self) -> None: ...


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[FakeLease]:
    monkeypatch.setattr(topic_watch, "ASK_SECONDS", 0.02)
    made: list[FakeLease] = []

    def lease(*args: Any) -> FakeLease:
        made.append(FakeLease(*args))
        return made[-1]

    monkeypatch.setattr("turnout.shared_bus.Lease", lease)
    return made


class FakeLeading:
    """What leads and shows nothing yet."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.begins = threading.Event()
        self.rehearsed = threading.Event()

    def rehearse(self, *_: object) -> None:
        self.rehearsed.set()

    def start(self, *_: object) -> object:
        self.begins.set()
        self.go_on.wait()
        return World().orchestrator


class TakingOver:
    """A service that stands by."""

    def __init__(self, leases: list[FakeLease], directory: Path) -> None:
        self.following, self.leases, self.leading = Following(), leases, FakeLeading()
        config = load(None, env={"TURNOUT_BUS__BOOTSTRAP__SERVERS": "bus:9092", "TURNOUT_STATE_DIR": str(directory)})
        self.service = Service(config, may_lead=False)
        self.tables = self.service.tables
        self.service._leading = cast(Any, self.leading)
        bus = self.following.bus.cluster
        self._thread = threading.Thread(target=self.service._begin, args=(bus, bus, bus), daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def users(self) -> list[object]:
        return self.tables.registry.snapshot("users_ui").rows["userId"].to_list()

    def lead(self) -> None:
        self.leases[-1].held()
        until(self.leading.begins.is_set, "it takes over")

    def end(self) -> None:
        self.leading.go_on.set()
        self.service._stopping.set()
        self._thread.join()
        if self.service._shared is not None:
            self.service._shared.stop()


@pytest.fixture
def taking_over(leases: list[FakeLease], tmp_path: Path) -> Iterator[TakingOver]:
    it = TakingOver(leases, tmp_path)
    yield it
    it.end()


def test_who_takes_over_is_ready_all_the_time_and_keeps_nothing_of_the_follower(taking_over: TakingOver) -> None:
    it = taking_over
    it.following.pipeline(A, "u1")
    it.following.begin()
    it.following.tell(it.following.showing(1, A))
    it.begin()
    until(lambda: it.users() == ["u1"], "it follows")
    until(it.leading.rehearsed.is_set, "it knows what is shown")
    service = it.service
    assert (service.ready, service.leads) == (True, False)
    it.lead()
    assert (service.ready, service.leads) == (True, False)
    follower = weakref.ref(cast(Follower, service._conductor))
    store = weakref.ref(cast(Any, service._conductor).live.pipeline.changelog._store)
    gc.collect()
    gc.freeze()  # as the service does
    gc.disable()
    try:
        it.leading.go_on.set()
        until(lambda: service.leads, "it leads")
        assert service.ready, "the rows of the leader before are still shown"
        assert it.users() == ["u1"]
        until(lambda: follower() is None, "the follower is let go of")
        it.tables.show(2, Pipeline(), LEFT)  # its own first generation
        until(lambda: store() is None, "and what it has read")
    finally:
        gc.enable()
        gc.unfreeze()


def test_who_takes_over_with_nothing_to_show_is_not_ready_before_it_has(taking_over: TakingOver) -> None:
    it = taking_over
    it.following.begin()
    it.begin()
    until(lambda: it.service._conductor is not None, "it follows")
    it.lead()
    assert not it.service.ready
    it.leading.go_on.set()
    until(lambda: it.service.leads, "it leads")
    assert not it.service.ready
