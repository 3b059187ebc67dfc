"""How much memory do all its processes hold while messages come, and does it grow?

An hour is long, and memory does not depend on who else is busy: all systems read the same topics side by side.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from bench import producer
from bench.results import Figure
from bench.stage import Running, Stage, Topics
from bench.systems import System

RATE, MINUTES, KEYS = 1_000, 60, 100_000
QUICK_RATE, QUICK_MINUTES, QUICK_KEYS = 200, 1, 500
SAMPLES = 6
"""Phases of equal length, and a figure after each."""

SETTLE_SECONDS = 120.0
"""Within so long after the last message all keys have to be there: who does not hold the rows needs no memory."""


def memory(stage: Stage) -> None:
    rate, minutes, keys = (QUICK_RATE, QUICK_MINUTES, QUICK_KEYS) if stage.quick else (RATE, MINUTES, KEYS)
    topics = stage.topics()
    with ExitStack() as stack:
        systems = _started(stage, stack, topics)
        count = int(rate * minutes * 60 / SAMPLES)
        for number in range(SAMPLES):
            minute = (number + 1) * minutes / SAMPLES
            stage.say(f"{rate:,} messages a second until minute {minute:.2g} …")
            file = str(stage.directory / "sent.arrow")
            question = producer.Question(
                keys=keys, topics=topics, first=number * count, count=count, rate=rate, file=file
            )
            stage.producer.ask({**question})
            _note(stage, systems, f"{rate:,} messages a second", Figure(f"after {minute:.2g} min", "MB"), keys)
    stage.results.rounds += 1


def _started(stage: Stage, stack: ExitStack, topics: Topics) -> Sequence[tuple[System, Running]]:
    started: list[tuple[System, Running]] = []
    for system in stage.systems:
        if system.only is not None:
            stage.failing(system)("keeps every row for ever: it would hold something else than the others")
            continue
        with stage.trying(system, "start"):
            running = stack.enter_context(stage.running(system.by_itself))
            running.begin(topics, with_rows=False)  # to note all that comes would take memory itself
            started.append((system, running))
    return started


def _note(stage: Stage, systems: Sequence[tuple[System, Running]], case: str, figure: Figure, keys: int) -> None:
    for system, running in systems:
        with stage.trying(system, figure.name):
            running.until_rows(keys, SETTLE_SECONDS)
            stage.results.add(case, system.name, figure, running.memory_mb())
