"""Turnout and its peers on the same messages, in turn, on this machine: `make bench`, or `make bench-<scenario>`.

`python -m bench.suite --help`. Starts, installs and ends everything by itself.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.child import Child
from bench.command import run, say
from bench.latency import at_least_1
from bench.machine import load_average, this_machine
from bench.picture import draw
from bench.results import Results, show
from bench.rig import GRACE_SECONDS, kafka
from bench.scenarios import backlog, freshness, memory, start, viewers
from bench.stage import Stage
from bench.systems import System, systems, without_variants
from turnout.descendants import end_descendants
from turnout.errors import TurnoutError
from turnout.java import JavaParts, java_parts


@dataclass(frozen=True)
class Scenario:
    question: str
    measure: Callable[[Stage], None]
    rounds: int = 3
    variants: bool = False
    """Whether it makes a difference how often a system looks for what is new."""


SCENARIOS = {
    "freshness": Scenario("Message sent → its row seen", freshness.freshness, variants=True),
    "sustained": Scenario("The highest rate that is kept up with", freshness.sustained, variants=True),
    "backlog": Scenario("A backlog until the last row is right", backlog.backlog),
    "start": Scenario("Start of the process → rows", start.start),
    "hot": Scenario("A backlog with hot keys until the last row is right", backlog.hot),
    "growth": Scenario("A backlog by its number of keys", backlog.growth),
    "viewers": Scenario("Message sent → its row seen, with viewers", viewers.viewers, variants=True),
    "memory": Scenario("Memory of all processes", memory.memory, rounds=1),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run(lambda console: _run(options, console))


def _run(options: argparse.Namespace, console: Console) -> int:
    parts = java_parts(partial(say, console))
    chosen = _chosen(systems(parts.spark), options.systems)
    for name in options.scenarios or SCENARIOS:
        scenario = SCENARIOS[name]
        rounds = options.rounds or (1 if options.quick else scenario.rounds)
        its_systems = chosen if scenario.variants or options.systems else without_variants(chosen)
        results = Results(name, scenario.question, this_machine(parts), load_average(), options.quick)
        if options.more:
            results.go_on()
        measure(results, scenario, its_systems, parts, rounds, console)
        show(results, console)
        console.print(f"Also in {results.write()} and {draw(results)}")
    return 0


def measure(
    results: Results, scenario: Scenario, chosen: list[System], parts: JavaParts, rounds: int, console: Console
) -> None:
    """So many rounds of one scenario, with a broker of its own."""
    with tempfile.TemporaryDirectory(prefix="turnout-bench-") as directory, ExitStack() as stack:
        stack.callback(end_descendants, GRACE_SECONDS)
        tell = partial(say, console)
        broker = stack.enter_context(kafka(Path(directory), parts, tell))
        producer = stack.enter_context(Child("bench.producer", broker.bootstrap))
        scenario.measure(Stage(broker, producer, Path(directory), chosen, rounds, tell, results))


def _chosen(known: list[System], names: str | None) -> list[System]:
    if names is None:
        return known
    by_name = {system.name: system for system in known}
    if unknown := [name for name in names.split(",") if name not in by_name]:
        raise TurnoutError(f"There is no system {', '.join(unknown)}; there are {', '.join(by_name)}.")
    return [by_name[name] for name in names.split(",")]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.suite", description=__doc__.split("\n")[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)} (all)")
    parser.add_argument("--systems", metavar="NAME,…", help="only these")
    parser.add_argument("--rounds", type=at_least_1, help="how often each, by turns (by the scenario; 1 if quick)")
    parser.add_argument("--more", action="store_true", help="add to the rounds that are recorded")
    parser.add_argument("--quick", action="store_true", help="small, to try whether it runs: no figures to quote")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.scenarios if name not in SCENARIOS]:
        parser.error(f"there is no scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
