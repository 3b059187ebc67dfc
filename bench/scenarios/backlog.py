"""How long does a backlog take until the last row is right? By partitions, by the number of keys, with hot keys."""

from bench.peers.peer import Check
from bench.results import Figure
from bench.stage import Stage, Topics
from bench.systems import System
from bench.workload import Workload

MESSAGES, KEYS = 1_000_000, 100_000
QUICK_MESSAGES, QUICK_KEYS = 20_000, 2_000
SMALL, SMALL_MESSAGES, SMALL_KEYS = "a small one", 200_000, 20_000
PARTITIONS = (1, 4)
GROWTH = (10_000, 100_000, 1_000_000)
QUICK_GROWTH = (500, 5_000)
LIMIT_SECONDS = 600.0

FIRST = Figure("first read", "msg/s", fewer_is_better=False)
WARM = Figure("second read", "msg/s", fewer_is_better=False)
MEMORY = Figure("memory after it", "MB")


def backlog(stage: Stage) -> None:
    workload = Workload(QUICK_MESSAGES, QUICK_KEYS) if stage.quick else Workload(MESSAGES, KEYS)
    cases = {f"{partitions} partition{'s' * (partitions > 1)}": (workload, partitions) for partitions in PARTITIONS}
    _read_all(stage, cases, twice=True)


def growth(stage: Stage) -> None:
    messages = QUICK_MESSAGES if stage.quick else MESSAGES
    workloads = [Workload(messages, keys) for keys in (QUICK_GROWTH if stage.quick else GROWTH)]
    _read_all(stage, {f"{workload.keys:,} keys": (workload, 1) for workload in workloads}, twice=False)


def hot(stage: Stage) -> None:
    workload = Workload(QUICK_MESSAGES, QUICK_KEYS, hot=True) if stage.quick else Workload(MESSAGES, KEYS, hot=True)
    _read_all(stage, {"1 % of the keys have half of the messages": (workload, 1)}, twice=False)


def small(stage: Stage) -> None:
    """As much as takes a minute or two with everything."""
    workload = Workload(QUICK_MESSAGES, QUICK_KEYS) if stage.quick else Workload(SMALL_MESSAGES, SMALL_KEYS)
    _read_all(stage, {SMALL: (workload, 1)}, twice=False)


def _read_all(stage: Stage, cases: dict[str, tuple[Workload, int]], *, twice: bool) -> None:
    topics = {}
    for case, (workload, partitions) in cases.items():
        stage.say(f"Producing {workload.messages:,} messages on {workload.keys:,} keys: {case} …")
        topics[case] = stage.topics(partitions)
        workload.produce(stage.bootstrap, *topics[case])
    oracles = {
        (case, every_pair): workload.oracle(every_pair=every_pair)
        for case, (workload, _) in cases.items()
        for every_pair in {system.every_pair for system in stage.systems}
    }
    for system in stage.turns():
        for case, (workload, _) in cases.items():
            with stage.trying(system, f"backlog, {case}"):
                expected = oracles[case, system.every_pair]
                _read(stage, system, case, topics[case], workload.messages, expected, twice=twice)


def _read(
    stage: Stage, system: System, case: str, topics: Topics, messages: int, expected: Check, *, twice: bool
) -> None:
    with stage.running(system) as running:

        def seconds() -> float:
            return running.until_right(expected, running.begin(topics, with_rows=False), LIMIT_SECONDS)

        stage.results.add(case, system.name, FIRST, messages / seconds())
        stage.results.add(case, system.name, MEMORY, running.memory_mb())
        if twice and system.begins_again:
            running.end()
            stage.results.add(case, system.name, WARM, messages / seconds())
