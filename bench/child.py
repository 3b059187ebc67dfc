"""Processes of the benchmark's own: a question in a line of JSON on stdin, an answer in a line on a pipe of its own.

Not on stdout: what is measured writes there as it likes. A child ends at once when its stdin does, and so with its
parent, however that ends.
"""

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from turnout.descendants import descendants
from turnout.errors import TurnoutError

CHECKOUT = Path(__file__).parents[1]
ANSWERS = "BENCH_ANSWERS"
"""The environment variable with the number of the pipe for answers."""

FAILURE = "failure"
"""What an answer has that is none."""

STOP_SECONDS = 5
READ_BYTES = 1 << 16
POLL_SECONDS = 0.05


class TooSlow(TurnoutError):
    """No answer within the time that there is."""


class Child:
    """A module of this package, run as a process, with this Python or another one."""

    def __init__(self, module: str, *arguments: object, python: Path | None = None, log: Path | None = None) -> None:
        """`log` takes what it writes to stdout and stderr, which else go where the parent's go."""
        self._module, self._log = module, log
        self._answers, theirs = os.pipe()
        self._unread = b""
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if log else 2
        self._process = subprocess.Popen(
            [python or sys.executable, "-m", module, *map(str, arguments)],
            cwd=CHECKOUT,
            env={**os.environ, ANSWERS: str(theirs)},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=(theirs,),
            start_new_session=True,  # Ctrl-C is for the parent, who then ends its children in order
        )
        os.close(theirs)
        if log:
            os.close(output)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def family(self) -> list[int]:
        """It, and whatever it has started."""
        return [self.pid, *descendants(self.pid)]

    def ask(self, question: Mapping[str, object], seconds: float | None = None) -> dict[str, Any]:
        """Waits for the answer, so long at most, or as long as it takes."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answer: dict[str, Any] = json.loads(self._line(seconds))
        if FAILURE in answer:
            raise TurnoutError(f"{self._module}: {answer[FAILURE]}")
        return answer

    def kill(self) -> None:
        """At once, as by `kill -9`, with whatever it has started."""
        while self._process.poll() is None or descendants(self.pid):
            for pid in reversed(self.family):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        os.close(self._answers)

    def _line(self, seconds: float | None) -> bytes:
        deadline = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._unread:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._answers], [], [], left)[0]:
                raise TooSlow(f"no answer within {seconds:g} s")
            piece = os.read(self._answers, READ_BYTES)
            if not piece:
                raise self._ended()
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _ended(self) -> TurnoutError:
        if self._log is None:
            return TurnoutError(f"the process {self._module} has ended; what it said stands above")
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return TurnoutError(f"the process {self._module} has ended: {said[-1] if said else 'it said nothing'}")


def answer_questions(answer: Callable[[Any], Mapping[str, object]]) -> NoReturn:
    """The child's side: answers until the parent is done or gone."""
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_questions, args=(questions,), name="questions", daemon=True).start()
    with os.fdopen(int(os.environ[ANSWERS]), "wb", buffering=0) as answers:
        while True:
            answers.write(json.dumps(_answer(answer, json.loads(questions.get()))).encode() + b"\n")


def _answer(answer: Callable[[Any], Mapping[str, object]], question: object) -> Mapping[str, object]:
    try:
        return answer(question)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to tell
        traceback.print_exc(file=sys.__stderr__)  # some systems take Python's own for themselves
        return {FAILURE: f"{type(error).__name__}: {error}".splitlines()[0]}


def _read_questions(questions: "queue.SimpleQueue[bytes]") -> None:
    # Without a buffer: Python locks that of sys.stdin when it ends, for which this thread would have to let go of it.
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        for line in stdin:
            questions.put(line)
    os._exit(0)  # nothing that is under way is of use to anyone
