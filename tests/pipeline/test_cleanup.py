import threading
import time
from collections.abc import Callable

import pytest

from tests.waiting import until
from turnout.errors import KafkaError
from turnout.pipeline import cleanup
from turnout.pipeline.cleanup import Chore, Cleanup


class Work:
    """Steps that are noted, and that fail or wait as told."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fail_times: dict[str, int] = {}
        self.failure: type[Exception] = KafkaError
        self.gate = threading.Event()
        self.gate.set()

    def step(self, name: str) -> Callable[[], None]:
        def do() -> None:
            assert self.gate.wait(10)
            if self.fail_times.get(name, 0):
                self.fail_times[name] -= 1
                raise self.failure(f"{name} fails")
            self.done.append(name)

        return do

    def chore(self, name: str) -> Chore:
        return Chore(self.step(f"stop {name}"), self.step(f"delete {name}"), f"{name} is gone")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.setattr(cleanup, "RETRY_SECONDS", 0.05)
    return Work()


def threads() -> int:
    return sum(thread.name == "cleanup" for thread in threading.enumerate())


def test_chores_are_done_in_order_and_no_thread_is_left(work: Work) -> None:
    chores = Cleanup()
    for name in ("a", "b"):
        chores.add(work.chore(name))
    chores.finish(10)
    assert work.done == ["stop a", "delete a", "stop b", "delete b"]
    until(lambda: threads() == 0, "the thread ends")
    chores.add(Chore(work.step("stop c"), None, "c is stopped"))
    chores.finish(10)
    assert work.done[-1] == "stop c"


def test_what_cannot_be_deleted_is_tried_again_and_said_once(work: Work, caplog: pytest.LogCaptureFixture) -> None:
    work.fail_times["delete a"] = 3
    chores = Cleanup()
    chores.add(work.chore("a"))
    chores.add(work.chore("b"))
    until(lambda: "delete a" in work.done, "it is deleted in the end")
    assert work.done == ["stop a", "stop b", "delete b", "delete a"], "others do not wait for it"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "What a pipeline left cannot be cleaned up yet, trying again: delete a fails"
    ]
    until(lambda: threads() == 0, "the thread ends")


@pytest.mark.parametrize("failure", [KafkaError, AttributeError])
def test_what_does_not_stop_in_order_is_deleted_all_the_same(work: Work, failure: type[Exception]) -> None:
    work.fail_times["stop a"], work.failure = 1, failure
    chores = Cleanup()
    chores.add(work.chore("a"))
    until(lambda: "delete a" in work.done, "it is deleted")
    chores.finish(10)
    assert work.done == ["delete a"]
    until(lambda: threads() == 0, "the thread ends")


def test_an_error_that_nobody_thought_of_is_told_and_holds_up_no_build(
    work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    """As where Spark's process is gone in the middle of a call."""
    work.fail_times["delete a"], work.failure = 2, AttributeError
    chores = Cleanup()
    chores.add(work.chore("a"))
    chores.add(work.chore("b"))
    deadline = time.monotonic() + 10
    chores.wait_until_stopped(lambda: time.monotonic() > deadline)
    assert time.monotonic() < deadline, "a build waited in vain"
    until(lambda: "delete a" in work.done, "it is deleted in the end")
    [told] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert told.exc_info is not None, "with where it happened"
    assert "trying again: unexpected: delete a fails" in told.getMessage()
    until(lambda: threads() == 0, "the thread ends")


def test_nothing_is_deleted_while_another_one_may_have_taken_over(work: Work, caplog: pytest.LogCaptureFixture) -> None:
    sure = threading.Event()
    chores = Cleanup(sure.is_set)
    chores.add(work.chore("a"))
    chores.finish(10)
    assert work.done == ["stop a"]
    sure.set()
    until(lambda: work.done == ["stop a", "delete a"], "it is deleted when nobody can have")
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    until(lambda: threads() == 0, "the thread ends")


def test_waiting_is_for_stops_not_for_deletions(work: Work) -> None:
    work.fail_times["delete a"] = 10**9
    chores = Cleanup()
    work.gate.clear()
    chores.add(work.chore("a"))
    given_up = iter([False, True])
    chores.wait_until_stopped(lambda: next(given_up))
    assert work.done == [], "given up before it was stopped"
    work.gate.set()
    chores.wait_until_stopped(lambda: False)
    assert work.done == ["stop a"]
    work.fail_times.clear()
    until(lambda: threads() == 0, "the thread ends")
