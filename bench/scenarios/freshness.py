"""How old is a row when it is seen, at given rates? And which rate can be kept up with?"""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.budgets import SUSTAINED_P99_MS
from bench.cpu import CpuMeter
from bench.messages import Plan
from bench.phases import Phase, Run
from bench.results import Figure
from bench.stage import Running, Stage
from bench.systems import System
from turnout.errors import TurnoutError

KEEP = 1
WARM_UP_RATE = 2_000
WARM_UP_SECONDS = 40.0
CLIENT_RATE, CLIENT_SECONDS = 50, 2.0
"""Not counted either, while a client that has just come takes over the rows that are there."""

RATES, SECONDS, KEYS = (50, 2_000, 10_000), 15.0, 10_000
QUICK_RATES, QUICK_SECONDS, QUICK_KEYS = (50, 500), 4.0, 500

CLIMB = (500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 12_500, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000)
QUICK_CLIMB = (100, 500, 1_000)
ACHIEVED = 0.95
"""Of the rate that was asked for: below, it is the producer that is at its end."""

HIGHEST = Figure(f"highest rate with p99 ≤ {SUSTAINED_P99_MS:g} ms", "msg/s", fewer_is_better=False)
P99_THERE = Figure("p99 there", "ms")
P99_NEXT = Figure("p99 at the next step", "ms")
CORES = Figure("cores", "busy")


def freshness(stage: Stage) -> None:
    rates, seconds = (QUICK_RATES, QUICK_SECONDS) if stage.quick else (RATES, SECONDS)
    for system in stage.turns():
        with stage.trying(system, "freshness"), warm(stage, system) as (run, _):
            for rate in rates:
                phase = run.phase(rate, seconds)
                note(stage, f"{rate:,} messages a second", system, phase)
                keeps_up(phase)


def sustained(stage: Stage) -> None:
    climb, seconds = (QUICK_CLIMB, QUICK_SECONDS) if stage.quick else (CLIMB, SECONDS)
    for system in stage.turns():
        with stage.trying(system, "sustained rate"), warm(stage, system) as (run, _):
            highest, there, beyond = 0, None, None
            for rate in climb:
                phase = run.phase(rate, seconds)
                p99 = phase.live_table.p99
                if phase.sent_per_second < ACHIEVED * rate:
                    stage.say(f"The producer sends no more than {phase.sent_per_second:,.0f} messages a second.")
                    break
                if p99 is None or p99 > SUSTAINED_P99_MS or phase.live_table.lost:
                    beyond = p99
                    break
                highest, there = rate, p99
            for figure, value in ((HIGHEST, highest), (P99_THERE, there), (P99_NEXT, beyond)):
                stage.results.add("live table", system.name, figure, value)


@contextmanager
def warm(stage: Stage, system: System) -> Iterator[tuple[Run, Running]]:
    """The system, its client if it has one, and messages on all keys behind it."""
    plan = Plan(QUICK_KEYS if stage.quick else KEYS)
    topics = stage.topics()
    with stage.running(system) as running:
        running.begin(topics, with_rows=True)
        cpu = CpuMeter({system.name: running.child.family})
        run = Run(plan, KEEP, stage.producer, running.table, None, cpu, stage.directory, topics)
        # At least until every key has rows on both sides: from then on each message shows.
        seconds = max(0.0 if stage.quick else WARM_UP_SECONDS, plan.round / WARM_UP_RATE)
        keeps_up(run.phase(WARM_UP_RATE, seconds))
        # It comes after that: Deephaven's client fails while the joined table grows fast.
        with running.client() as run.client:
            run.phase(CLIENT_RATE, CLIENT_SECONDS)
            yield run, running


def note(stage: Stage, case: str, system: System, phase: Phase) -> None:
    for observer, figures in (("table", phase.live_table), ("client", phase.remote_client)):
        if figures is None:
            continue
        if figures.lost:
            # Times of what is left would flatter it.
            lost = f"{figures.lost:,} of {phase.sent:,} messages, which nothing newer has superseded"
            stage.failing(system)(f"{case}: the {observer} was not told in time of {lost}")
            continue
        for name, value in (("p50", figures.p50), ("p99", figures.p99), ("max", figures.max)):
            stage.results.add(case, system.name, Figure(f"{observer} {name}", "ms"), value)
        if figures.superseded:
            stage.results.add(case, system.name, Figure(f"{observer} superseded", "messages"), figures.superseded)
    if phase.cores:
        stage.results.add(case, system.name, CORES, phase.cores[system.name])


def keeps_up(phase: Phase) -> None:
    """Else there is no point in sending more to this table. A remote client is no reason to stop: see `note`."""
    lost = phase.live_table.lost
    if lost:
        raise TurnoutError(f"{lost:,} of {phase.sent:,} messages at {phase.rate:,} a second were not shown in time")
