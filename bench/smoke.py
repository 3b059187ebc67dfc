"""Whether Turnout has become slower: a small backlog, as a ratio to a plain Spark script on the same machine.

`make bench-smoke`; exits with 1 when the ratio has fallen by more than a third below the recorded one. A ratio hardly
depends on the machine, nor on what else it does. `--record` takes what is measured now as the ratio to hold.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial

from rich.console import Console

from bench.command import run, say
from bench.results import RESULTS, show
from bench.scenarios import backlog
from bench.suite import Scenario, measure
from bench.systems import systems
from turnout.errors import TurnoutError
from turnout.java import java_parts

RECORD = RESULTS / "smoke.json"
WORST = 2 / 3
"""Of the recorded ratio."""

OURS, THEIRS = "turnout", "pyspark"
SCENARIO = Scenario("A backlog until the last row is right", backlog.small)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.smoke", description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="this is the ratio to hold from now on")
    parser.add_argument("--quick", action="store_true", help="smaller still, and nothing to compare: does it run?")
    options = parser.parse_args(arguments)
    return run(lambda console: _smoke(console, record=options.record, quick=options.quick))


def _smoke(console: Console, *, record: bool, quick: bool) -> int:
    parts = java_parts(partial(say, console))
    both = [system for system in systems(parts.spark) if system.name in (OURS, THEIRS)]
    results = measure("smoke", SCENARIO, both, parts, 1, quick, console)
    show(results, console)
    ours, theirs = (results.median(backlog.SMALL, name, backlog.FIRST.name) for name in (OURS, THEIRS))
    if ours is None or theirs is None:
        raise TurnoutError("There is no ratio: one of the two has not come to an end.")
    ratio = round(ours / theirs, 2)
    if quick:
        console.print(f"{ratio} times as fast.")
        return 0
    if record:
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps({"ratio": ratio, "turnout": ours, "pyspark": theirs}, indent=2) + "\n")
        console.print(f"{ratio} times as fast, which is recorded in {RECORD}.")
        return 0
    if not RECORD.exists():
        raise TurnoutError(f"{ratio} times as fast, but there is no {RECORD} to compare with: make one with --record.")
    recorded = json.loads(RECORD.read_text())["ratio"]
    console.print(f"{ratio} times as fast; recorded are {recorded}, at least {recorded * WORST:.2f} have to be.")
    return 1 if ratio < recorded * WORST else 0


if __name__ == "__main__":
    sys.exit(main())
