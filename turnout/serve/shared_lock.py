"""A lock that many hold at once, or one alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Many may share it at any time but while one has it alone, of whom there is one only."""

    def __init__(self) -> None:
        self._sharing = 0
        self._taken = False
        self._changed = threading.Condition()

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._taken)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Once all who share it have let go; whoever comes then waits."""
        with self._changed:
            self._taken = True
            self._changed.wait_for(lambda: not self._sharing)
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()
