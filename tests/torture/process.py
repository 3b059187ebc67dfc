"""The service under test: `turnout run`, a process of its own on a port that stays the same."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.processes import is_running
from tests.waiting import until
from turnout.crash_points import VARIABLE
from turnout.descendants import descendants
from turnout.kafka import guard

REPO = Path(__file__).parent.parent.parent
SPARK, BROKER = "org.apache.spark.deploy.SparkSubmit", "kafka.Kafka"
"""The main classes of its children."""

ANSWER_SECONDS = 15.0
STOP_SECONDS = 10.0
"""How long an orderly end may take on a busy machine; five are promised."""

ORPHAN_SECONDS = 10.0
"""Within which the children of a killed service are gone: the guard of its broker gives that three seconds."""

KILLED = 128 + signal.SIGKILL
"""How the guard says it."""


class Unreachable(Exception):
    """The service does not answer, or not as it should."""


class ServiceProcess:
    def __init__(self, directory: Path, port: int, command: str = "run") -> None:
        self.directory, self.port, self._command = directory, port, command
        self.url = f"http://127.0.0.1:{port}"
        self.log = directory / "service.log"
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self.starts = 0

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def start(self, crash_at: str | None = None) -> None:
        """Through the guard that the product uses for its broker: whatever ends the test ends the service too."""
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        if crash_at is not None:
            environment[VARIABLE] = crash_at
        command = [sys.executable, "-m", "turnout.cli", self._command, "-c", "turnout.yaml"]
        with self.log.open("ab") as log:
            log.write(f"--- start {self.starts + 1}{f', to crash at {crash_at}' if crash_at else ''}\n".encode())
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, *command],
                cwd=self.directory,
                env={**environment, "PYTHONPATH": str(REPO)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._guard.stdout is not None
        with self._guard.stdout as said:
            self._pid = int(said.readline())
        self.starts += 1

    def kill(self) -> None:
        """As a crash would end it: its children have to notice by themselves."""
        children = descendants(self._pid)
        os.kill(self._pid, signal.SIGKILL)
        self._ended()
        self._nothing_is_left(children)

    def until_crashed(self, seconds: float) -> bool:
        """Has it ended by itself, and left nothing behind?"""
        children: set[int] = set()
        deadline = time.monotonic() + seconds
        while self.running and time.monotonic() < deadline:
            children.update(descendants(self._pid))
            time.sleep(0.1)
        if self.running:
            return False
        code = self._ended()
        assert code == KILLED, f"the service has ended by itself, with exit code {code}"
        self._nothing_is_left(list(children))
        return True

    def terminate(self) -> int:
        """SIGTERM; its exit code."""
        children = descendants(self._pid)
        os.kill(self._pid, signal.SIGTERM)
        assert self._guard is not None
        try:
            code = self._guard.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the service has not ended {STOP_SECONDS:g} s after SIGTERM") from None
        self._ended()
        self._nothing_is_left(children)
        return code

    def discard(self) -> None:
        """At the end of the test, whatever state it is in."""
        if self._guard is not None:
            with suppress(ProcessLookupError):
                if self.running:
                    os.kill(self._pid, signal.SIGKILL)
            self._ended()

    def java(self, main_class: str) -> list[int]:
        """The Java processes among its descendants that run this class."""
        return [pid for pid in descendants(self._pid) if main_class in _java_arguments(pid)]

    def counts(self) -> dict[str, int]:
        """Of what a leak would make more and more of."""
        own = Path(f"/proc/{self._pid}")
        status = dict(line.split(":", 1) for line in (own / "status").read_text().splitlines() if ":" in line)
        return {"threads": int(status["Threads"]), "files": len(list((own / "fd").iterdir()))}

    # -- over HTTP

    def get(self, path: str) -> Any:
        try:
            answer = httpx.get(self.url + path, timeout=ANSWER_SECONDS)
            return answer.raise_for_status().json()
        except httpx.HTTPError as error:
            raise Unreachable(f"GET {path}: {type(error).__name__} {error}") from None

    def post(self, path: str, body: bytes = b"") -> tuple[int, Mapping[str, Any]]:
        """The answer's status and content. The service waits 30 s for a message's outcome."""
        try:
            answer = httpx.post(self.url + path, content=body, timeout=45)
            return answer.status_code, answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unreachable(f"POST {path}: {type(error).__name__} {error}") from None

    def status(self) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self.get("/api/status")
        return answer

    def table(self, name: str) -> tuple[int, list[dict[str, Any]]]:
        """Its generation and its rows."""
        answer = self.get(f"/api/tables/{name}")
        return answer["generation"], answer["rows"]

    def until_state(self, state: str, mentioning: str, seconds: float) -> None:
        def is_so() -> bool:
            with suppress(Unreachable):
                status = self.status()
                return status["state"] == state and mentioning in status["message"]
            return False

        until(is_so, f"the state is {state!r} with a message about {mentioning!r}", seconds)

    def is_idle(self) -> bool:
        """It shows something, and nothing is under way."""
        try:
            return self.status()["state"] == "live" and self._pipelines() == 1
        except Unreachable:
            return False

    def _pipelines(self) -> int:
        return len(list((self.directory / "state" / "pipelines").glob("*")))

    # -- its end

    def _ended(self) -> int:
        process, self._guard = self._guard, None
        assert process is not None
        code = process.wait(STOP_SECONDS)
        if process.stdin is not None:
            process.stdin.close()
        return code

    def _nothing_is_left(self, children: list[int]) -> None:
        until(lambda: not any(map(is_running, children)), "the children of the service end with it", ORPHAN_SECONDS)


def _java_arguments(pid: int) -> list[str]:
    """None if it is not Java: the guard's command line names the same class."""
    try:
        if Path(f"/proc/{pid}/exe").readlink().name != "java":
            return []
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:  # it has just ended
        return []
