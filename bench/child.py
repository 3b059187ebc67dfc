"""Processes of the benchmark's own: a question in a line of JSON on stdin, an answer in a line on stdout.

A child ends at once when its stdin does, and so with its parent, however that ends.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from turnout.errors import TurnoutError

CHECKOUT = Path(__file__).parents[1]
STOP_SECONDS = 5


class Child:
    """A module of this package, run as a process."""

    def __init__(self, module: str, *arguments: object) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the parent, who then ends its children in order
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, question: Mapping[str, object]) -> dict[str, Any]:
        """Waits for the answer, as long as it takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ended(self) -> TurnoutError:
        return TurnoutError(f"the process {self._module} has ended; what it said stands above")


def answer_questions(answer: Callable[[Any], Mapping[str, object]]) -> NoReturn:
    """The child's side: answers until the parent is done or gone."""
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_questions, args=(questions,), name="questions", daemon=True).start()
    while True:
        print(json.dumps(answer(json.loads(questions.get()))), flush=True)


def _read_questions(questions: "queue.SimpleQueue[bytes]") -> None:
    # Without a buffer: Python locks that of sys.stdin when it ends, for which this thread would have to let go of it.
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        for line in stdin:
            questions.put(line)
    os._exit(0)  # nothing that is under way is of use to anyone
