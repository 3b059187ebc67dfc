"""How long from the start of a process to the first joined row, and to all of them after it was killed?"""

from bench.peers.peer import LATEST, ROWS, TIMES
from bench.results import Figure
from bench.scenarios.backlog import KEYS, LIMIT_SECONDS, MESSAGES, QUICK_KEYS, QUICK_MESSAGES
from bench.stage import Stage, Topics
from bench.systems import System
from bench.workload import Workload
from turnout.errors import TurnoutError

FEW = Workload(messages=200, keys=20)
FIRST_ROW = Figure("process started → first joined row", "s")
COMPLETE = Figure("process started → all rows", "s")
COMPLETE_AGAIN = Figure("the same after kill -9", "s")


def start(stage: Stage) -> None:
    much = Workload(QUICK_MESSAGES, QUICK_KEYS) if stage.quick else Workload(MESSAGES, KEYS)
    few_topics, much_topics = stage.topics(), stage.topics()
    FEW.produce(stage.bootstrap, *few_topics)
    stage.say(f"Producing {much.messages:,} messages …")
    much.produce(stage.bootstrap, *much_topics)
    for system in stage.turns():
        with stage.trying(system, "cold start"):
            seconds = _first_row(stage, system.by_itself, few_topics)
            stage.results.add("cold, topics with a few messages", system.name, FIRST_ROW, seconds)
        with stage.trying(system, "start after kill -9"):
            _killed(stage, system.by_itself, much, much_topics)


def _first_row(stage: Stage, system: System, topics: Topics) -> float:
    with stage.running(system, *topics, ROWS) as running:
        numbers = FEW.recorded()
        last_left, last_right = (int(numbers.filter(right=side)["number"][-1]) for side in (False, True))
        seen = running.table(last_left, last_right)
        # A message of the right side shows only in a row that is joined.
        right = set(numbers.filter(right=True)["number"])
        joined = [arrived for number, arrived in seen.first.items() if number in right]
        if not joined:
            raise TurnoutError("no joined row was shown")
        return (min(joined) - running.spawned_us) / 1e6


def _killed(stage: Stage, system: System, workload: Workload, topics: Topics) -> None:
    case = f"topics with {workload.messages:,} messages"
    expected = workload.oracle(system.shows(LATEST))
    home = stage.new_home(system)
    for figure in (COMPLETE, COMPLETE_AGAIN):
        with stage.running(system, *topics, TIMES, home=home) as running:  # which ends by a kill
            seconds = running.until_right(expected, running.spawned_us, LIMIT_SECONDS)
            stage.results.add(case, system.name, figure, seconds)
