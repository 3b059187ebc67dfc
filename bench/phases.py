"""Phases of a run: messages at one rate, until all of them have been seen by all observers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bench import producer, seen
from bench.child import Child
from bench.cpu import CpuMeter
from bench.figures import Figures, figures, sent_per_second
from bench.machine import load_average
from bench.messages import LEFT_TOPIC, RIGHT_TOPIC, Plan
from bench.seen import Seen

BOTH_SIDES = 2
"""The fewest messages of a phase: one on either side."""

ANSWER_SECONDS = 60
"""Beyond the time that an observer may wait for messages: to look through what it has noted."""

Observer = Callable[[int, int], Seen]
"""What it has seen, when it has the last left and the last right message, by their stamps."""

Client = Callable[[int, int], Seen | None]
"""The same of a remote one; nothing when it has failed."""


@dataclass(frozen=True)
class Phase:
    """What came out of a phase."""

    rate: int
    seconds: float
    sent: int
    sent_per_second: float
    load_average: float
    cores: Mapping[str, float]
    """How many each process kept busy, until the live table had everything."""
    cpu_us_per_message: Mapping[str, float]
    """The same by message: what more messages a second would cost."""
    live_table: Figures
    remote_client: Figures | None


@dataclass
class Run:
    """A producer and its observers. Messages are numbered through all phases."""

    plan: Plan
    keep: int
    producer: Child
    table: Observer
    client: Client | None
    cpu: CpuMeter
    directory: Path
    topics: tuple[str, str] = (LEFT_TOPIC, RIGHT_TOPIC)
    next_number: int = 0

    def phase(self, rate: int, seconds: float) -> Phase:
        self.cpu.start()
        sent = self._send(rate, max(BOTH_SIDES, round(rate * seconds)))
        load = load_average()
        last = [_last(sent.filter(side)) for side in (~pl.col("right"), pl.col("right"))]
        in_table = self.table(*last)
        cores, cpu_us = self.cpu.cores(), self.cpu.microseconds_per(sent.height)
        return Phase(
            rate=rate,
            seconds=seconds,
            sent=sent.height,
            sent_per_second=sent_per_second(sent),
            load_average=load,
            cores=cores,
            cpu_us_per_message=cpu_us,
            live_table=figures(sent, in_table, self.keep),
            remote_client=self._remote_client(sent, last),
        )

    def _remote_client(self, sent: pl.DataFrame, last: list[int]) -> Figures | None:
        in_client = self.client(*last) if self.client else None
        return figures(sent, in_client, self.keep) if in_client else None

    def _send(self, rate: int, count: int) -> pl.DataFrame:
        first, file = self.next_number, self.directory / "sent.arrow"
        self.next_number += count
        question = producer.Question(
            keys=self.plan.keys, topics=self.topics, first=first, count=count, rate=rate, file=str(file)
        )
        self.producer.ask({**question})
        # As bytes: a file that is mapped into memory must not change, and the next phase writes to the same one.
        return self.plan.sent(first, pl.read_ipc(file.read_bytes())["stamp"])


def asking(child: Child, directory: Path, **more: object) -> Observer:
    """The observer that answers in another process; `more` goes with each question."""

    def ask(last_left: int, last_right: int) -> Seen:
        file = directory / f"seen-{child.pid}"
        question = seen.Question(last_left=last_left, last_right=last_right, file=str(file))
        return Seen.read(file, child.ask({**question, **more}, seen.LONGEST_SECONDS + ANSWER_SECONDS))

    return ask


def _last(sent: pl.DataFrame) -> int:
    return int(sent["stamp"][-1]) if sent.height else 0
