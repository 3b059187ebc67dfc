import threading
from collections.abc import Callable

from tests.waiting import until
from turnout.changelog.progress import Progress

CHANGELOG, REJECTED = "changelog", "rejected"
USERS = ("users", 0)


def never() -> bool:
    return False


class Waiting:
    """Somebody who waits on a thread of his own."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=wait, daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        self._thread.join(0.2)
        return not self._thread.is_alive()


def test_nothing_to_wait_for_is_no_wait() -> None:
    progress = Progress()
    progress.wait_until_read(CHANGELOG, {}, never)
    progress.wait_until_read(CHANGELOG, {0: 0}, never)
    progress.wait_until_worked({}, never)


def test_waiting_until_the_changelog_is_read() -> None:
    progress = Progress()
    waiting = Waiting(lambda: progress.wait_until_read(CHANGELOG, {0: 2}, never))
    progress.note((CHANGELOG, 0), 0, USERS, 7)
    progress.note((REJECTED, 0), 1, USERS, 8)
    progress.tell()
    assert not waiting.over
    progress.note((CHANGELOG, 0), 1, USERS, 9)
    progress.tell()
    until(lambda: waiting.over, "it is read")


def test_work_of_an_earlier_run_does_not_count() -> None:
    progress = Progress()
    progress.mark(CHANGELOG, {0: 10})
    progress.mark(REJECTED, {0: 5})
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7}, never))
    progress.note((CHANGELOG, 0), 9, USERS, 7)
    progress.note((REJECTED, 0), 4, USERS, 8)
    progress.tell()
    assert not waiting.over
    assert progress.seen() == {USERS: 8}, "it was seen, all the same"
    progress.note((REJECTED, 0), 5, USERS, 7)
    progress.tell()
    until(lambda: waiting.over, "it was worked on again")


def test_every_partition_has_to_be_worked_on() -> None:
    progress = Progress()
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7, ("users", 1): 3}, never))
    progress.note((CHANGELOG, 0), 0, USERS, 9)
    progress.tell()
    assert not waiting.over
    progress.note((CHANGELOG, 0), 1, ("users", 1), 3)
    progress.note((CHANGELOG, 0), 2, ("users", 1), 2)
    progress.tell()
    until(lambda: waiting.over, "both were")
    assert progress.seen() == {USERS: 9, ("users", 1): 3}


def test_a_wait_can_be_given_up_and_ends_with_the_reader() -> None:
    progress, given_up = Progress(), threading.Event()
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7}, given_up.is_set))
    assert not waiting.over
    given_up.set()
    until(lambda: waiting.over, "it is given up")
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7}, never))
    assert not waiting.over
    progress.end()
    until(lambda: waiting.over, "the reader has ended")
