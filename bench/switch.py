"""How long a switch takes: from the control message to the swap, and what viewers see of it.

`make bench-switch`, or `python -m bench.switch --help`. Starts and ends everything by itself.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from rich.console import Console

from bench.command import run, say
from bench.latency import at_least_1
from bench.load import Load
from bench.machine import load_average, this_machine
from bench.rig import HOST, Rig, running
from bench.switch_report import Report, Scenario, show, write_json
from bench.switches import Pair, Switcher, Viewer, fill
from turnout.schema import JoinType

RESULT = Path(__file__).parent / "results" / "switch.json"
PAIRS = [Pair(f"users_{number}", f"accounts_{number}") for number in range(4)]
"""Two may linger: with four, none is left to go back to, and every switch is a build."""

WARM_UP = 5
Switch = Callable[[Pair, JoinType], float]
BUDGETS = {"topics": 1.5, "join type": 1.0}
"""Seconds, for two cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # the viewer stays until the server ends, which it tells
    return run(lambda console: _report(options, console))


def _report(options: argparse.Namespace, console: Console) -> int:
    report = _measure(options, partial(say, console))
    show(report, console)
    write_json(report, RESULT)
    console.print(f"Also in {RESULT}")
    return 0 if report.is_without_gap else 1


def _measure(options: argparse.Namespace, say: Callable[[str], None]) -> Report:
    load_before = load_average()
    large = Pair("users_large", "accounts_large")
    with tempfile.TemporaryDirectory(prefix="turnout-bench-") as directory, ExitStack() as stack:
        overrides = {f"tables.{table}.start": "earliest" for table in ("users", "accounts")}
        rig = stack.enter_context(running(Path(directory), 1, say, overrides))
        say("Filling topics …")
        for pair in PAIRS:
            fill(rig.broker.bootstrap, pair, options.backlog)
        fill(rig.broker.bootstrap, large, options.rows)
        switcher = Switcher(rig.service, rig.broker.bootstrap)
        say(f"Warming up with {WARM_UP} switches …")
        turns = cycle(PAIRS)
        _topics(switcher.to, turns, WARM_UP)
        viewer = Viewer(f"http://{HOST}:{rig.port}", rig.service.tables.names.joined)
        return Report(
            this_machine(rig.parts), load_before, _scenarios(options, rig, switcher, viewer, turns, large, say)
        )


def _scenarios(
    options: argparse.Namespace,
    rig: Rig,
    switcher: Switcher,
    viewer: Viewer,
    turns: Iterator[Pair],
    large: Pair,
    say: Callable[[str], None],
) -> list[Scenario]:
    scenarios: list[Scenario] = []

    def switch(pair: Pair, join: JoinType) -> float:
        seconds = switcher.to(pair, join)
        viewer.wait_for(switcher.generation)  # the next switch begins when this one is over for everybody
        return seconds

    def scenario(name: str, what: str, switches: Callable[[], list[float]]) -> None:
        say(f"{name} …")
        viewer.begin()
        seconds = switches()
        scenarios.append(Scenario(name, BUDGETS[what], seconds, viewer.end()))

    small = f"{options.backlog:,} messages a topic"
    scenario(f"topics, {small}", "topics", lambda: _topics(switch, turns, options.switches))
    with Load(rig.broker.bootstrap, PAIRS, options.rate):
        name = f"topics, {small}, {options.rate:,} messages a second meanwhile"
        scenario(name, "topics", lambda: _topics(switch, turns, options.switches))
    switch(large, JoinType.LEFT)
    scenario(f"join type, {options.rows:,} rows", "join type", lambda: _joins(switch, large, options.switches))
    with Load(rig.broker.bootstrap, [large], options.rate):
        name = f"join type, {options.rows:,} rows, {options.rate:,} messages a second meanwhile"
        scenario(name, "join type", lambda: _joins(switch, large, options.switches))
    return scenarios


def _topics(switch: Switch, pairs: Iterator[Pair], count: int) -> list[float]:
    return [switch(pair, JoinType.LEFT) for pair in islice(pairs, count)]


def _joins(switch: Switch, pair: Pair, count: int) -> list[float]:
    # Two that show all rows, so that each switch has all the work.
    return [switch(pair, (JoinType.INNER, JoinType.LEFT)[number % 2]) for number in range(count)]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.switch", description=__doc__.split("\n")[0])
    parser.add_argument("--switches", type=at_least_1, default=50, help="of each kind (%(default)s)")
    parser.add_argument("--backlog", type=at_least_1, default=500, help="messages in each topic (%(default)s)")
    parser.add_argument("--rate", type=at_least_1, default=200, help="messages a second, under load (%(default)s)")
    parser.add_argument("--rows", type=at_least_1, default=100_000, help="of the large table (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
