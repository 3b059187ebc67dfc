"""Ends pipelines and removes what they leave, in the background.

Spark may take seconds to stop a query, and the bus may be down: nobody who switches should wait for that. What cannot
be removed now is tried again, until it is gone; what is left when the process ends is swept by the next start.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from turnout.errors import TurnoutError

RETRY_SECONDS = 5.0
POLL_SECONDS = 0.1

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chore:
    """Stop something, then delete what is left of it."""

    stop: Callable[[], None] | None
    delete: Callable[[], None] | None
    done: str
    """What there is to say when all of it is done."""
    pipeline: str | None = None
    """The id of the one that it is about."""
    again: bool = False
    """It was tried before."""
    told: bool = False
    """That it fails was said before."""

    def say_done(self) -> None:
        log.info(self.done, extra={"pipeline": self.pipeline} if self.pipeline else None)


class Cleanup:
    """One chore at a time, in order, on a thread that is there as long as there are any."""

    def __init__(self, may_delete: Callable[[], bool] = lambda: True) -> None:
        """`may_delete`: is all of it still ours to delete? If not, it waits until it is."""
        self._may_delete = may_delete
        self._new: deque[Chore] = deque()
        self._left: list[Chore] = []  # stopped, but not deleted yet
        self._running = 0  # how many are to be stopped and are not yet
        self._open = 0  # how many were not tried yet
        self._changed = threading.Condition()
        self._at_work = False

    def add(self, chore: Chore) -> None:
        with self._changed:
            self._new.append(chore)
            self._running += chore.stop is not None
            self._open += 1
            self._changed.notify_all()
            if not self._at_work:
                self._at_work = True
                threading.Thread(target=self._run, name="cleanup", daemon=True).start()

    def wait_until_stopped(self, given_up: Callable[[], bool]) -> None:
        """Wait until everything that was to be stopped is stopped, or until given up."""
        with self._changed:
            while self._running and not given_up():
                self._changed.wait(POLL_SECONDS)

    def finish(self, seconds: float) -> None:
        """Wait until everything was tried, if that takes no longer."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._open and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _run(self) -> None:
        while (chore := self._next()) is not None:
            self._do(chore)
            with self._changed:
                self._open -= not chore.again
                self._changed.notify_all()

    def _next(self) -> Chore | None:
        """The next chore; when there is nothing new for a while, one that is left from before; None if all is done."""
        with self._changed:
            while not self._new:
                if not self._left:
                    self._at_work = False
                    return None
                if not self._changed.wait(RETRY_SECONDS):
                    self._new, self._left = deque(self._left), []
            return self._new.popleft()

    def _do(self, chore: Chore) -> None:
        if chore.stop is not None:
            self._stop(chore.stop)
        if chore.delete is None:
            chore.say_done()
            return
        told = chore.told
        try:
            if self._may_delete():
                chore.delete()
                chore.say_done()
                return
        except TurnoutError as error:
            if not told:  # say it once
                log.warning("What a pipeline left cannot be cleaned up yet, trying again: %s", error)
            told = True
        except Exception as error:  # a defect, but builds wait for this thread
            if not told:
                log.exception("What a pipeline left cannot be cleaned up yet, trying again: unexpected: %s", error)
            told = True
        self._left.append(replace(chore, stop=None, again=True, told=told))

    def _stop(self, stop: Callable[[], None]) -> None:
        try:
            stop()
        except TurnoutError as error:
            log.warning("A pipeline was not stopped in an orderly way: %s", error)
        except Exception as error:
            log.exception("A pipeline was not stopped in an orderly way: unexpected: %s", error)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
