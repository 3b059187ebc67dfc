"""How much memory do all its processes hold while messages come, and does it grow?"""

from bench.cpu import CpuMeter
from bench.messages import Plan
from bench.phases import Run
from bench.results import Figure
from bench.scenarios.freshness import KEEP, keeps_up
from bench.stage import Stage

RATE, MINUTES, KEYS = 1_000, 60, 100_000
QUICK_RATE, QUICK_MINUTES, QUICK_KEYS = 200, 1, 1_000
SAMPLES = 6
"""Phases of equal length, and a figure after each."""


def memory(stage: Stage) -> None:
    rate, minutes, keys = (QUICK_RATE, QUICK_MINUTES, QUICK_KEYS) if stage.quick else (RATE, MINUTES, KEYS)
    for system in stage.turns():
        with stage.trying(system, "memory"), stage.running(system.by_itself) as running:
            topics = stage.topics()
            running.begin(topics, with_rows=True)
            run = Run(Plan(keys), KEEP, stage.producer, running.table, None, CpuMeter({}), stage.directory, topics)
            for number in range(1, SAMPLES + 1):
                keeps_up(run.phase(rate, minutes * 60 / SAMPLES))  # who does not hold the rows needs no memory
                figure = Figure(f"after {number * minutes / SAMPLES:.2g} min", "MB")
                stage.results.add(f"{rate:,} messages a second", system.name, figure, running.memory_mb())
