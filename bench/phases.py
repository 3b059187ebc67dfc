"""Phases of a run: messages at one rate, until all of them have been seen by both observers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bench import client, producer
from bench.child import Child
from bench.cpu import CpuMeter
from bench.figures import Figures, figures, sent_per_second
from bench.machine import load_average
from bench.messages import Plan
from bench.recorder import Recorder
from bench.seen import Seen, collect

BOTH_SIDES = 2
"""The fewest messages of a phase: one on either side."""


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
    remote_client: Figures


@dataclass
class Run:
    """A producer and two observers. Messages are numbered through all phases."""

    plan: Plan
    keep: int
    producer: Child
    recorder: Recorder
    client: Child
    cpu: CpuMeter
    directory: Path
    next_number: int = 0

    def phase(self, rate: int, seconds: float) -> Phase:
        self.cpu.start()
        sent = self._send(rate, max(BOTH_SIDES, round(rate * seconds)))
        load = load_average()
        last_left, last_right = (_last(sent.filter(side)) for side in (~pl.col("right"), pl.col("right")))
        in_table = collect(self.recorder.take, last_left, last_right)
        cores, cpu_us = self.cpu.cores(), self.cpu.microseconds_per(sent.height)
        at_client = self._seen_by_client(last_left, last_right)
        return Phase(
            rate=rate,
            seconds=seconds,
            sent=sent.height,
            sent_per_second=sent_per_second(sent),
            load_average=load,
            cores=cores,
            cpu_us_per_message=cpu_us,
            live_table=figures(sent, in_table, self.keep),
            remote_client=figures(sent, at_client, self.keep),
        )

    def _send(self, rate: int, count: int) -> pl.DataFrame:
        first, file = self.next_number, self._file("sent")
        self.next_number += count
        self.producer.ask({**producer.Question(first=first, count=count, rate=rate, file=file)})
        return self.plan.sent(first, _read(file)["stamp"])

    def _seen_by_client(self, last_left: int, last_right: int) -> Seen:
        file = self._file("seen")
        question = client.Question(last_left=last_left, last_right=last_right, file=file)
        answer = self.client.ask({**question})
        return Seen(_read(file), answer["updates"], answer["rows"], answer["snapshots"])

    def _file(self, name: str) -> str:
        return str(self.directory / f"{name}.arrow")


def _last(sent: pl.DataFrame) -> int:
    return int(sent["stamp"][-1]) if sent.height else 0


def _read(file: str) -> pl.DataFrame:
    # As bytes: a file that is mapped into memory must not change, and the next phase writes to the same one.
    return pl.read_ipc(Path(file).read_bytes())
