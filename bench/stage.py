"""Where systems are measured in turn: one broker, one producer, fresh topics, a start and an end for each of them."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.child import Child, TooSlow
from bench.cpu import resident_mb
from bench.environments import HOME
from bench.peers.peer import LATEST, Check, Join
from bench.phases import Client, Observer, asking
from bench.results import Results
from bench.seen import Seen, now_us
from bench.systems import Program, System
from turnout.errors import TurnoutError
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

START_SECONDS = 240.0
"""Until a process answers. Half a minute is usual on a machine that is busy."""

ANSWER_SECONDS = 240.0
POLL_SECONDS = 0.1
QUIET_US = 1_000_000
"""A table that has not changed for so long is worth a look whether it is right."""

Topics = tuple[str, str]


@dataclass
class Running:
    """A system that runs."""

    system: System
    child: Child
    about: dict[str, Any]
    spawned_us: int
    directory: Path
    say: Callable[[str], None]
    fail: Callable[[str], None]
    """Takes what goes wrong and is no reason to stop."""

    def begin(self, topics: Topics, *, with_rows: bool) -> int:
        """Joins these topics from their beginning on; when it began to."""
        left, right = topics
        question = {"do": "begin", "left": left, "right": right, "with_rows": with_rows}
        return int(self.child.ask(question, ANSWER_SECONDS)["began_us"])

    def end(self) -> None:
        self.child.ask({"do": "end"}, ANSWER_SECONDS)

    @property
    def table(self) -> Observer:
        return asking(self.child, self.directory, do="seen")

    @contextmanager
    def client(self) -> Iterator[Client | None]:
        """A remote client, where there is such a thing."""
        if self.system.remote is None:
            yield None
            return
        with ExitStack() as stack:
            try:
                child = stack.enter_context(self.beside(self.system.remote(self.about), "client"))
            except TurnoutError as error:
                self.fail(f"remote client: {error}")
                yield None
            else:
                yield until_it_fails(asking(child, self.directory), self.fail)

    def beside(self, program: Program, role: str) -> Child:
        """A process that has to do with it."""
        log = HOME / "logs" / f"{self.system.name}-{role}.log"
        return Child(program.module, *program.arguments, python=program.python(self.say), log=log)

    def until_right(self, expected: Check, began_us: int, seconds: float) -> float:
        """Seconds until the joined table was what it has to be."""
        deadline, looked_at, found = began_us + int(seconds * 1e6), 0, Check(rows=0, checksum=0)
        while True:
            progress = self.child.ask({"do": "progress"}, ANSWER_SECONDS)
            last_us, now = int(progress["last_us"]), int(progress["now_us"])
            if last_us > looked_at and now - last_us > QUIET_US:
                looked_at = last_us
                answer = self.child.ask({"do": "check"}, ANSWER_SECONDS)
                found = Check(rows=answer["rows"], checksum=answer["checksum"])
                if found == expected:
                    return (self._last_update_us() - began_us) / 1e6
            if now > deadline:
                raise TooSlow(f"not right after {seconds:.0f} s: {found}, expected {expected}")
            time.sleep(POLL_SECONDS)

    def _last_update_us(self) -> int:
        """Of a table that is right: what it was looked at for may be told a moment later than it can be seen."""
        while True:
            time.sleep(QUIET_US / 1e6)
            progress = self.child.ask({"do": "progress"}, ANSWER_SECONDS)
            if int(progress["now_us"]) - int(progress["last_us"]) > QUIET_US:
                return int(progress["last_us"])

    def until_rows(self, count: int, seconds: float) -> None:
        """Until the joined table has so many."""
        deadline = time.monotonic() + seconds
        while (rows := self.child.ask({"do": "check"}, ANSWER_SECONDS)["rows"]) != count:
            if time.monotonic() > deadline:
                raise TooSlow(f"{rows:,} rows after {seconds:.0f} s, expected {count:,}")
            time.sleep(POLL_SECONDS)

    def memory_mb(self) -> float:
        """Of all its processes: they descend from the one that was started. The broker with the topics does not."""
        return resident_mb(self.child.family)


@dataclass
class Stage:
    broker: EmbeddedBroker
    producer: Child
    directory: Path
    systems: list[System]
    rounds: int
    say: Callable[[str], None]
    results: Results
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @property
    def quick(self) -> bool:
        return self.results.quick

    def topics(self, partitions: int = 1) -> Topics:
        """Two that nobody has seen before."""
        number = next(self._numbers)
        left, right = f"bench-{number}-users", f"bench-{number}-accounts"
        Cluster({"bootstrap.servers": self.bootstrap}).create_topics([left, right], partitions)
        return left, right

    def new_home(self, system: System) -> Path:
        """A directory for what it keeps."""
        directory = self.directory / f"{system.name}-{next(self._numbers)}"
        directory.mkdir()
        return directory

    def turns(self) -> Iterator[System]:
        """All systems, as often as there are rounds; every other round in the opposite order."""
        for left in reversed(range(self.rounds)):
            number = self.results.rounds
            self.say(f"Round {number + 1} of {number + 1 + left}")
            systems = [system for system in self.systems if number == 0 or not system.slow]
            yield from reversed(systems) if number % 2 else systems
            self.results.rounds += 1

    @contextmanager
    def trying(self, system: System, what: str) -> Iterator[None]:
        """What goes wrong with one system is told in the results, and is no reason to stop."""
        self.say(f"{system.name}: {what} …")
        try:
            yield
        except TurnoutError as error:
            self.failing(system)(f"{what}: {error}")

    def failing(self, system: System) -> Callable[[str], None]:
        """Tells what goes wrong with it, now and in the results."""

        def fail(reason: str) -> None:
            self.say(f"{system.name}: {reason}")
            self.results.fail(system.name, reason)

        return fail

    @contextmanager
    def running(
        self, system: System, *at_once: str, join: Join = LATEST, home: Path | None = None
    ) -> Iterator[Running]:
        """From its start until it is killed. `at_once` it begins with these: see `bench.peers.peer.run`."""
        directory = home or self.new_home(system)
        program, log = system.program, HOME / "logs" / f"{system.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        python = program.python(self.say)
        spawned = now_us()
        arguments = (self.bootstrap, directory, *system.shows(join).arguments, *program.arguments, *at_once)
        with ExitStack() as stack:
            child = stack.enter_context(Child(program.module, *arguments, python=python, log=log))
            stack.callback(child.kill)  # it has nothing to lose
            about = child.ask({"do": "about"}, START_SECONDS)
            self.results.systems[system.name] = f"{about['version']} ({about['settings']})"
            yield Running(system, child, about, spawned, self.directory, self.say, self.failing(system))


def until_it_fails(client: Observer, fail: Callable[[str], None]) -> Client:
    """A client that has failed is not asked again: the figures of the table are worth having without it."""
    failed = False

    def seen(last_left: int, last_right: int) -> Seen | None:
        nonlocal failed
        if failed:
            return None
        try:
            return client(last_left, last_right)
        except TurnoutError as error:
            failed = True
            fail(f"remote client: {error}")
            return None

    return seen
