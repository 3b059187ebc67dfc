"""A command in a terminal: what a person sees on the screen."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

from tests.waiting import until

REPO = Path(__file__).parent.parent.parent
SECONDS = 30.0
"""For a command to show something, on a machine that is busy with other things."""


class Screen:
    def __init__(self, arguments: tuple[str, ...], width: int, height: int) -> None:
        self.written = b""
        self._screen = pyte.Screen(width, height)
        self._lock = threading.Lock()
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnout.cli", *arguments],
            cwd=REPO,
            env={**os.environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def lines(self) -> list[str]:
        """Those with something in them."""
        with self._lock:
            return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until_shown(self, *texts: str) -> None:
        def shown() -> bool:
            assert self.process.poll() is None, f"it ended:\n{self.text}"
            return all(text in self.text for text in texts)

        try:
            until(shown, f"it shows {texts}", SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def ctrl_c(self) -> None:
        """It ends at once, in order."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(SECONDS) == 0
        self._reader.join(SECONDS)
        assert b"Traceback" not in self.written

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(SECONDS)
        os.close(self._mine)

    def _read(self) -> None:
        stream = pyte.ByteStream(self._screen)
        try:
            while part := os.read(self._mine, 65536):
                with self._lock:
                    self.written += part
                    stream.feed(part)
        except OSError:  # the other end is closed
            return


@contextmanager
def on_screen(*arguments: str, width: int = 100, height: int = 30) -> Iterator[Screen]:
    screen = Screen(arguments, width, height)
    try:
        yield screen
    finally:
        screen.close()
