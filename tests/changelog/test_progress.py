import threading
from collections.abc import Callable, Mapping, Sequence

from tests.waiting import until
from turnout.changelog.progress import Position, Progress
from turnout.kafka.client import Record

CHANGELOG, REJECTED = "changelog", "rejected"
USERS = ("users", 0)


def never() -> bool:
    return False


def read(progress: Progress, topic: str, came: Mapping[int, tuple[Position, int]]) -> None:
    """Records of a topic of the bus come together: offset -> the message that one was written for."""

    def worked_on(records: Sequence[Record]) -> Mapping[Position, int]:
        messages = [came[record.offset] for record in records]
        return {at: max(offset for where, offset in messages if where == at) for at, _ in messages}

    progress.note([Record(topic, 0, offset, 0, None, None) for offset in came], worked_on)


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
    read(progress, CHANGELOG, {0: (USERS, 7)})
    read(progress, REJECTED, {1: (USERS, 8)})
    assert not waiting.over
    read(progress, CHANGELOG, {1: (USERS, 9)})
    until(lambda: waiting.over, "it is read")


def test_work_of_an_earlier_run_does_not_count() -> None:
    progress = Progress()
    progress.mark(CHANGELOG, {0: 10})
    progress.mark(REJECTED, {0: 5})
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7}, never))
    read(progress, CHANGELOG, {9: (USERS, 7)})
    read(progress, REJECTED, {4: (USERS, 8)})
    assert not waiting.over
    assert progress.seen() == {USERS: 8}, "it was seen, all the same"
    read(progress, REJECTED, {5: (USERS, 7)})
    until(lambda: waiting.over, "it was worked on again")


def test_of_records_that_come_together_those_of_an_earlier_run_do_not_count() -> None:
    progress = Progress()
    progress.mark(CHANGELOG, {0: 10})
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7}, never))
    read(progress, CHANGELOG, {9: (USERS, 7), 10: (USERS, 6), 11: (("users", 1), 9)})
    assert not waiting.over
    assert progress.seen() == {USERS: 7, ("users", 1): 9}
    read(progress, CHANGELOG, {12: (USERS, 7)})
    until(lambda: waiting.over, "it was worked on again")


def test_every_partition_has_to_be_worked_on() -> None:
    progress = Progress()
    waiting = Waiting(lambda: progress.wait_until_worked({USERS: 7, ("users", 1): 3}, never))
    read(progress, CHANGELOG, {0: (USERS, 9)})
    assert not waiting.over
    read(progress, CHANGELOG, {1: (("users", 1), 3)})
    read(progress, CHANGELOG, {2: (("users", 1), 2)})
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
