"""How long does a backlog take until the last row is right? By partitions, by the number of keys, with hot keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.peers.peer import LATEST, Check, Join
from bench.results import Figure
from bench.stage import Stage, Topics
from bench.systems import System
from bench.workload import Workload

MESSAGES, KEYS = 1_000_000, 100_000
QUICK_MESSAGES, QUICK_KEYS = 20_000, 2_000
PARTITIONS = (1, 4)
GROWTH = (10_000, 100_000, 1_000_000)
QUICK_GROWTH = (500, 5_000)
KEEP = 100
"""Turnout's default."""

PAIRS_MESSAGES, PAIRS_KEYS = 100_000, 10_000
"""A million pairs of hot keys' newest rows. Of the whole backlog there would be ten, which are more than tables to be
looked at have."""

LIMIT_SECONDS = 600.0

FIRST = Figure("first read", "msg/s", fewer_is_better=False)
WARM = Figure("second read", "msg/s", fewer_is_better=False)
MEMORY = Figure("memory after it", "MB")


@dataclass(frozen=True)
class Case:
    workload: Workload
    partitions: int = 1
    join: Join = LATEST


def backlog(stage: Stage) -> None:
    workload = Workload(QUICK_MESSAGES, QUICK_KEYS) if stage.quick else Workload(MESSAGES, KEYS)
    cases = {f"{partitions} partition{'s' * (partitions > 1)}": Case(workload, partitions) for partitions in PARTITIONS}
    _read_all(stage, cases, twice=True)


def growth(stage: Stage) -> None:
    messages = QUICK_MESSAGES if stage.quick else MESSAGES
    workloads = [Workload(messages, keys) for keys in (QUICK_GROWTH if stage.quick else GROWTH)]
    _read_all(stage, {f"{workload.keys:,} keys": Case(workload) for workload in workloads}, twice=False)


def hot(stage: Stage) -> None:
    """1 % of the keys have half of the messages."""
    few = Workload(QUICK_MESSAGES, QUICK_KEYS, hot=True)
    much = few if stage.quick else Workload(MESSAGES, KEYS, hot=True)
    pairs = few if stage.quick else Workload(PAIRS_MESSAGES, PAIRS_KEYS, hot=True)
    cases = {
        "the latest row of a key with the latest": Case(much),
        f"the newest {KEEP} of a key with the latest": Case(much, join=Join(KEEP)),
        f"the newest {KEEP} of a key with the newest {KEEP}": Case(pairs, join=Join(KEEP, inner=True)),
    }
    _read_all(stage, cases, twice=False)


def _read_all(stage: Stage, cases: Mapping[str, Case], *, twice: bool) -> None:
    # A second time for the second read, of topics that nobody has read before.
    topics = {case: [_produced(stage, name, case) for _ in range(1 + twice)] for name, case in cases.items()}
    oracles: dict[tuple[Workload, Join], Check] = {}
    for system in stage.turns():
        for name, case in cases.items():
            if same := the_same_as(system, name, cases):
                stage.failing(system)(f"{name}: knows no such join; what it does is measured as: {same}")
                continue
            with stage.trying(system, name):
                wanted = case.workload, system.shows(case.join)
                if wanted not in oracles:
                    oracles[wanted] = case.workload.oracle(system.shows(case.join))
                _read(stage, system, name, case, topics[case], oracles[wanted])


def _produced(stage: Stage, name: str, case: Case) -> Topics:
    stage.say(f"Producing {case.workload.messages:,} messages on {case.workload.keys:,} keys: {name} …")
    topics = stage.topics(case.partitions)
    case.workload.produce(stage.bootstrap, *topics)
    return topics


def the_same_as(system: System, name: str, cases: Mapping[str, Case]) -> str | None:
    """The case before this one in which the system does exactly the same, because it knows one join only."""
    case = cases[name]
    for earlier, other in cases.items():
        if earlier == name:
            return None
        alike = (other.workload, other.partitions) == (case.workload, case.partitions)
        if alike and system.shows(other.join) == system.shows(case.join):
            return earlier
    return None


def _read(stage: Stage, system: System, name: str, case: Case, topics: Sequence[Topics], expected: Check) -> None:
    messages = case.workload.messages
    # By itself: its memory is that of everything that a user would have to start.
    with stage.running(system.by_itself, join=case.join) as running:

        def seconds(of: Topics) -> float:
            return running.until_right(expected, running.begin(of, with_rows=False), LIMIT_SECONDS)

        first, *second = topics
        stage.results.add(name, system.name, FIRST, messages / seconds(first))
        stage.results.add(name, system.name, MEMORY, running.memory_mb())
        for again in second if system.begins_again else ():
            running.end()
            stage.results.add(name, system.name, WARM, messages / seconds(again))
