"""A real Apache Kafka broker as a child process: for the demo, for tests, and as the default bus.

One KRaft node on loopback, on free ports, with all it writes in one directory. A guard (guard.py) stands between it
and this process, so that it ends with this process, however that ends.
"""

import base64
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import confluent_kafka
from confluent_kafka.admin import AdminClient

from turnout.class_archive import ClassArchive, class_archive
from turnout.errors import KafkaError
from turnout.java import Java, find_java
from turnout.kafka import guard
from turnout.kafka.broker_config import (
    HOST,
    JVM_FLAGS,
    LOG_DIR,
    LOG_FILE,
    LOGGING,
    LOGGING_FILE,
    PROPERTIES_FILE,
    server_properties,
)

CONSOLE_FILE = "console.log"
"""What the JVM itself says; the broker's own log is LOG_FILE."""

READY_SECONDS = 60.0
"""Two to four are usual. A machine that is also starting Spark on few cores may take a multiple of that."""

STALE_SECONDS = guard.GRACE_SECONDS + 2
"""How long the broker of a killed process may still hold the directory: its guard is stopping it meanwhile."""

POLL_SECONDS = 0.02

PORT_TRIES = 3
"""A free port may be taken by someone else before the broker binds it."""

LASTING_PORTS = range(20_000, 32_000)
"""Below those that systems hand out by themselves: while the broker is down, a client that calls its port could be
given that very port for its own end, talk to itself, and keep the broker from coming back."""

PORT_CANDIDATES = 50
TAIL_LINES = 20

Progress = Callable[[str], None]


def broker_archive(java: Java, jars: Sequence[Path]) -> ClassArchive:
    """Beside the jars."""
    return class_archive(jars[0].parent.parent, "broker", java, jars)


class EmbeddedBroker:
    """`start()`, use `bootstrap`, `stop()`; or as a context manager. May be started again: data and topics are kept,
    and so is the port, because clients know it."""

    def __init__(
        self,
        data_dir: Path,
        jars: Sequence[Path],
        *,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        listeners: Sequence[str] = (),
        jvm_flags: Sequence[str] = (),
    ) -> None:
        """`listeners` are further ones, beside the one without a login: `SASL://127.0.0.1:9093`."""
        self._dir = data_dir.absolute()
        self._jars = tuple(jars)
        self._known_port = port or 0
        self._properties, self._listeners = dict(properties or {}), tuple(listeners)
        self._jvm_flags = tuple(jvm_flags)
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._port = 0

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`."""
        if self._guard is None:
            raise KafkaError(f"The embedded Kafka broker in {self._dir} is not started.")
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int:
        """The broker's own process id."""
        if self._guard is None:
            raise KafkaError(f"The embedded Kafka broker in {self._dir} is not started.")
        return self._pid

    @property
    def alive(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def start(self, progress: Progress | None = None) -> None:
        """Returns when the broker answers."""
        if self.alive:
            return
        self.stop()  # what may be left of one that died
        say = progress or (lambda _: None)
        self._dir.mkdir(parents=True, exist_ok=True)
        self._wait_until_unlocked()
        (self._dir / LOGGING_FILE).write_text(LOGGING)
        if not (self._dir / LOG_DIR).is_dir():
            say("Preparing Kafka's storage …")
            self._format()
        say("Starting Kafka …")
        for _ in range(PORT_TRIES - 1):
            if self._launch_and_wait():
                return
        if not self._launch_and_wait():
            raise KafkaError(self._failure("found its port taken by another process"))

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if it takes too long: the guard does both when its pipe is closed."""
        if self._guard is None:
            return
        process, self._guard = self._guard, None
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(guard.GRACE_SECONDS + 1)
        except subprocess.TimeoutExpired:  # a guard that is itself stopped or stuck
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _format(self) -> None:
        """Gives the storage its cluster id, beside its place and then renamed: half-formatted storage is never used."""
        unfinished = self._dir / "formatting"
        shutil.rmtree(unfinished, ignore_errors=True)
        config = self._write_config({"log.dirs": unfinished.name}, port=0, controller_port=1)
        tool = self._java("kafka.tools.StorageTool", "format", "--cluster-id", _new_cluster_id(), "--config", config)
        done = subprocess.run(tool, cwd=self._dir, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = _indented((done.stdout + done.stderr).splitlines()[-TAIL_LINES:])
            raise KafkaError(f"Kafka's storage in {self._dir} could not be prepared; Kafka said:\n{said}")
        unfinished.rename(self._dir / LOG_DIR)

    def _launch_and_wait(self) -> bool:
        """False if a port was taken in the meantime, which is worth another try."""
        self._port, controller_port = self._choose_ports()
        self._launch(self._write_config({}, self._port, controller_port))
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        if self.alive:
            self._known_port = self._port
            return True
        self.stop()
        log = self._read_log()
        if "Failed to acquire lock" in log:
            raise KafkaError(self._held_by_another())
        if "Address already in use" not in log:
            raise KafkaError(self._failure("ended while it was starting"))
        return False

    def _choose_ports(self) -> tuple[int, int]:
        """For clients and for the controller. Both are held while choosing, so that they differ."""
        with self._held(self._known_port) as one, self._held(0) as other:
            return one.getsockname()[1], other.getsockname()[1]

    def _held(self, port: int) -> socket.socket:
        """A port that is ours for now: the given one, or any."""
        failure: OSError | None = None
        for candidate in [port] if port else random.sample(LASTING_PORTS, PORT_CANDIDATES):
            try:
                return socket.create_server((HOST, candidate))
            except OSError as error:
                failure = error
        raise KafkaError(f"Kafka cannot listen on {HOST}:{port or 'any port'}: {failure and failure.strerror}.")

    def _launch(self, config: str) -> None:
        for name in (LOG_FILE, CONSOLE_FILE):  # so that a failure shows the end of this start, not of the last
            with suppress(FileNotFoundError):
                (self._dir / name).rename(self._dir / f"{name}.last")
        # By its path, without site packages: it starts in 50 ms, whatever the environment.
        command = [sys.executable, "-I", "-S", guard.__file__, *self._java("kafka.Kafka", config)]
        with (self._dir / CONSOLE_FILE).open("wb") as console:
            # The pipe's end here is not inherited by other children (Python opens it so): only our end counts.
            self._guard = subprocess.Popen(
                command,
                cwd=self._dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                start_new_session=True,
            )
        assert self._guard.stdout is not None
        with self._guard.stdout as said:
            self._pid = int(said.readline() or 0)

    def _java(self, main_class: str, *arguments: str) -> list[str]:
        java = find_java()
        class_path = os.pathsep.join(map(str, self._jars))
        flags = [*JVM_FLAGS, *broker_archive(java, self._jars).flags, *self._jvm_flags]
        return [str(java.path), *flags, "-cp", class_path, main_class, *arguments]

    def _write_config(self, extra: Mapping[str, str], port: int, controller_port: int) -> str:
        text = server_properties(port, controller_port, {**self._properties, **extra}, self._listeners)
        (self._dir / PROPERTIES_FILE).write_text(text)
        return PROPERTIES_FILE

    def _wait_until_ready(self) -> None:
        """Returns when the broker answers a request for metadata, or has ended."""
        deadline = time.monotonic() + READY_SECONDS
        while self.alive and time.monotonic() < deadline:
            # librdkafka waits longer and longer between tries and logs each: ask it only once the port is open.
            if _is_open(self._port) and _answers(self.bootstrap):
                return
            time.sleep(POLL_SECONDS)
        if self.alive:
            raise KafkaError(self._failure(f"did not answer on {self.bootstrap} within {READY_SECONDS:.0f} s"))

    def _wait_until_unlocked(self) -> None:
        deadline = time.monotonic() + STALE_SECONDS
        while _is_locked(self._dir / LOG_DIR / ".lock"):
            if time.monotonic() > deadline:
                raise KafkaError(self._held_by_another())
            time.sleep(POLL_SECONDS)

    def _held_by_another(self) -> str:
        return (
            f"Another Kafka broker is using {self._dir}, so this one cannot. Stop the other Turnout that was started "
            "with this directory, or choose another `state_dir`."
        )

    def _failure(self, what: str) -> str:
        tail = _indented(self._read_log().splitlines()[-TAIL_LINES:])
        return f"The embedded Kafka broker {what}. The end of {self._dir / LOG_FILE}:\n{tail}"

    def _read_log(self) -> str:
        """The broker's log; then what the JVM said, which is all there is if it did not get as far as a log."""
        files = [self._dir / LOG_FILE, self._dir / CONSOLE_FILE]
        return "".join(file.read_text(errors="replace") for file in files if file.exists())


def _new_cluster_id() -> str:
    """As Kafka writes ids: 16 bytes in URL-safe base64. The first character must not look like an option."""
    return "T" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _answers(bootstrap: str) -> bool:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        return bool(admin.list_topics(timeout=5).brokers)
    except confluent_kafka.KafkaException:
        return False


def _is_locked(file: Path) -> bool:
    """Whether another process holds Kafka's lock: Java locks with fcntl, so the same call tells."""
    try:
        with file.open("r+b") as handle:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError):  # POSIX allows either answer
        return True
    return False


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
