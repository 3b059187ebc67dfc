"""Whether Turnout has become slower: a small backlog, as a ratio to a plain Spark script on the same machine.

`make bench-smoke`; exits with 1 when the ratio has fallen by more than a third below the recorded one. `--record` takes
what is measured now as the ratio to hold.

Both read the same messages by turns, each turn gives a ratio, and the median of them counts. So it depends little on
the machine, on what else it does, and on a turn that was disturbed or (the first one) cold.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.command import run, say
from bench.machine import load_average, this_machine
from bench.peers.peer import LATEST
from bench.results import RESULTS, Figure, Results, show
from bench.stage import Stage
from bench.suite import Scenario, measure
from bench.systems import plain_spark, turnout
from bench.workload import Workload
from turnout.errors import TurnoutError
from turnout.java import java_parts

RECORD = RESULTS / "smoke.json"
WORST = 2 / 3
"""Of the recorded ratio."""

OURS, THEIRS = "turnout", "pyspark"
WORKLOAD, QUICK_WORKLOAD = Workload(messages=100_000, keys=20_000), Workload(messages=20_000, keys=2_000)
SPARK_PARTITIONS = 4
"""With the 200 that are Spark's default, one turn takes longer than all of this may."""

TURNS, QUICK_TURNS = 5, 1
"""Two of five may be disturbed."""

LIMIT_SECONDS = 120.0
CASE = "by turns"
READ = Figure("read", "msg/s", fewer_is_better=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.smoke", description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="this is the ratio to hold from now on")
    parser.add_argument("--quick", action="store_true", help="smaller still, and nothing to compare: does it run?")
    options = parser.parse_args(arguments)
    return run(lambda console: _smoke(console, record=options.record, quick=options.quick))


def by_turns(stage: Stage) -> None:
    """Both run all the time, since their starts take longer than the reading."""
    workload = QUICK_WORKLOAD if stage.quick else WORKLOAD
    expected = {system.name: workload.oracle(system.shows(LATEST)) for system in stage.systems}
    with ExitStack() as stack:
        both = [stack.enter_context(stage.running(system)) for system in stage.systems]
        for turn in range(1, stage.rounds + 1):
            stage.say(f"Turn {turn} of {stage.rounds} …")
            topics = stage.topics()  # fresh ones: nobody has anything left of them
            workload.produce(stage.bootstrap, *topics)
            for running in both:
                began_us = running.begin(topics, with_rows=False)
                seconds = running.until_right(expected[running.system.name], began_us, LIMIT_SECONDS)
                stage.results.add(CASE, running.system.name, READ, workload.messages / seconds)
                running.end()
            stage.results.rounds += 1


def ratio_of(results: Results) -> float:
    """How many times as fast, in the median of the turns."""
    return statistics.median(ratios_of(results))


def ratios_of(results: Results) -> list[float]:
    ours, theirs = (results.values.get(CASE, {}).get(name, {}).get(READ.name, []) for name in (OURS, THEIRS))
    if not ours or len(ours) != len(theirs):
        raise TurnoutError("There is no ratio: one of the two has not come to an end.")
    return [our / their for our, their in zip(ours, theirs, strict=True)]


def recorded_in(file: Path) -> float:
    try:
        ratio = float(json.loads(file.read_text())["ratio"])
    except FileNotFoundError:
        raise TurnoutError(f"There is no {file} to compare with: make one with --record, on a quiet machine.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TurnoutError(f"{file} holds no ratio ({error!r}): make it anew with --record.") from None
    if ratio <= 0:
        raise TurnoutError(f"{file} holds the ratio {ratio}, which nothing can fall below: make it anew with --record.")
    return ratio


def holds(ratio: float, recorded: float) -> bool:
    """Whether it has fallen by a third at most."""
    return ratio >= recorded * WORST


def _smoke(console: Console, *, record: bool, quick: bool) -> int:
    recorded = None if record or quick else recorded_in(RECORD)  # before minutes of measuring
    parts = java_parts(partial(say, console))
    both = [turnout(), plain_spark(parts.spark, SPARK_PARTITIONS)]
    scenario = Scenario("A small backlog until the last row is right", by_turns)
    results = Results("smoke", scenario.question, this_machine(parts), load_average(), quick)
    measure(results, scenario, both, parts, QUICK_TURNS if quick else TURNS, console)
    show(results, console)
    ratio = ratio_of(results)
    console.print(f"By turns: {', '.join(f'{turn:.2f}' for turn in ratios_of(results))} times as fast.")
    if recorded is not None:
        return _judge(ratio, recorded, console)
    console.print(f"In the median: {ratio:.2f} times as fast.")
    if record:
        _record(ratio, results, RECORD)
        console.print(f"That is recorded in {RECORD}.")
    return 0


def _judge(ratio: float, recorded: float, console: Console) -> int:
    least = recorded * WORST
    told = f"{ratio:.2f} times in the median; recorded are {recorded:.2f}, at least {least:.2f} have to be."
    if holds(ratio, recorded):
        console.print(f"Still as fast as it was: {told}")
        return 0
    console.print(f"Turnout has become slower: {told}", style="red", markup=False)
    return 1


def _record(ratio: float, results: Results, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    rates = {name: results.median(CASE, name, READ.name) for name in (OURS, THEIRS)}
    file.write_text(json.dumps({"ratio": round(ratio, 3), **rates}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
