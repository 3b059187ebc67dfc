"""How a long-running command ends: on Ctrl-C and SIGTERM, in order, in time, and with nothing left behind."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import FrameType, TracebackType
from typing import NoReturn, Self

from turnout.descendants import end_descendants, kill_descendants

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, `kill`, and a terminal that was closed."""

ORDERLY_SECONDS = 2.0
"""For stopping the parts one after the other; usually half of it is enough. Whatever is cut short here resumes at the
next start as after a crash."""

GRACE_SECONDS = 0.7
"""For children that are left after that, between SIGTERM and SIGKILL."""

LATEST_SECONDS = 4.5
"""After the signal, whatever hangs: Turnout promises to be gone in five."""

INTERRUPTED = 130
"""What shells call a command that Ctrl-C ended, without more ado."""


class Ending:
    """A context: what is handed to `callback` is called when it ends, the last first; then all children are gone.

    A signal to stop raises KeyboardInterrupt in the main thread, or calls what `gently` was given; the process then
    ends with this context, with exit code 0. A second signal ends everything at once.
    """

    def __init__(self, on_asked: Callable[[], None]) -> None:
        """`on_asked` is called when somebody asks to stop, on another thread, before anything is stopped."""
        self._on_asked = on_asked
        self._asked, self._told = threading.Event(), threading.Event()
        self._over = False
        self._gently: Callable[[], None] | None = None
        self._parts = ExitStack()

    def callback(self, stop: Callable[[], None]) -> None:
        self._parts.callback(stop)

    def gently(self, stop: Callable[[], None]) -> None:
        """What a signal does from here on, instead of interrupting the main thread."""
        self._gently = stop

    def __enter__(self) -> Self:
        # Started now: a handler may interrupt anything, so it must not start threads or print.
        threading.Thread(target=self._watch, name="ending", daemon=True).start()
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        threading.excepthook = self._on_thread_error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.gently(lambda: None)  # this must not be interrupted, whatever led here
        if self._asked.is_set():
            self._told.wait()
        stopper = threading.Thread(target=self._parts.close, name="stop", daemon=True)
        stopper.start()
        stopper.join(ORDERLY_SECONDS)
        self._over = True
        end_descendants(GRACE_SECONDS)
        if self._asked.is_set():
            _exit(0)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - handlers get both
        if self._asked.is_set():
            kill_descendants()
            _exit(INTERRUPTED)
        self._asked.set()
        if self._gently is None:
            raise KeyboardInterrupt
        self._gently()

    def _on_thread_error(self, error: threading.ExceptHookArgs) -> None:
        # Whoever is still at work when the children are ended, because the time is up, loses whom they talk to. And
        # Polars raises KeyboardInterrupt in any thread that Ctrl-C finds at work there.
        if self._over or (self._asked.is_set() and issubclass(error.exc_type, KeyboardInterrupt)):
            return
        threading.__excepthook__(error)

    def _watch(self) -> None:
        self._asked.wait()
        latest = time.monotonic() + LATEST_SECONDS
        self._on_asked()
        self._told.set()
        time.sleep(max(0.0, latest - time.monotonic()))
        kill_descendants()
        _exit(0)


def _exit(code: int) -> NoReturn:
    """Not `sys.exit`: it would wait for threads, which have nothing left to do."""
    with suppress(OSError, RuntimeError):  # nobody reads any more; or a handler has interrupted a write
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
