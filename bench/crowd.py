"""Many viewers at once: is every message still shown soon, to everybody, and does memory stay bounded?

`make bench-crowd`, or `python -m bench.crowd --help`. Starts and ends everything by itself.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.child import Child
from bench.command import run, say
from bench.cpu import resident_mb
from bench.latency import WARM_UP_RATE, at_least_1, changes_of, joined_rows, measuring, phase
from bench.machine import load_average, this_machine
from bench.messages import LEFT_STAMP
from bench.report import Report, tell
from bench.rig import HOST
from turnout.errors import TurnoutError

RESULT = Path(__file__).parent / "results" / "crowd.json"
KEEP, KEYS = 1, 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run(lambda console: tell(_measure(options, console), RESULT, console))


def _measure(options: argparse.Namespace, console: Console) -> Report:
    load_before = load_average()
    with measuring(KEYS, KEEP, console) as (rig, run):
        socket, service = f"ws://{HOST}:{rig.port}/perspective", [os.getpid()]
        phase(run, WARM_UP_RATE, run.plan.round / WARM_UP_RATE, console, "Warming up: ")
        with (
            Child("bench.followers", HOST, rig.port, changes_of(rig)) as followers,
            Child("bench.viewers", socket, LEFT_STAMP) as viewers,
        ):
            say(console, f"{options.followers} streams, {options.viewers} viewers with a sorted view each …")
            asked = {"followers": options.followers, "viewers": options.viewers}
            before = {**followers.ask(asked), **viewers.ask(asked)}
            memory = [resident_mb(service)]
            phases = []
            for _ in range(options.phases):
                phases.append(phase(run, options.rate, options.seconds, console))
                memory.append(resident_mb(service))
            # Whoever was cut off has ended its process, which cannot be asked then.
            after = {**followers.ask(asked), **viewers.ask(asked)}
        if after["open"] != options.followers:
            raise TurnoutError(f"{options.followers - after['open']} streams have ended")
        seconds = options.phases * options.seconds
        events = (after["events"] - before["events"]) / options.followers / seconds
        fetched = (after["fetched"] - before["fetched"]) / options.viewers / seconds
        say(console, f"Nobody was cut off. {events:.1f} events a second to each stream, {fetched:.1f} to each viewer.")
        told = ", ".join(f"{it:,.0f}" for it in memory)
        say(console, f"Memory of the service, before and after each phase: {told} MB")
        return Report(this_machine(rig.parts), KEYS, KEEP, joined_rows(rig), load_before, phases)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.crowd", description=__doc__.split("\n")[0])
    parser.add_argument("--followers", type=at_least_1, default=200, help="server-sent streams (%(default)s)")
    parser.add_argument("--viewers", type=at_least_1, default=50, help="of the page's protocol (%(default)s)")
    parser.add_argument("--rate", type=at_least_1, default=2_000, help="messages a second (%(default)s)")
    parser.add_argument("--seconds", type=at_least_1, default=20, help="of each phase (%(default)s)")
    parser.add_argument("--phases", type=at_least_1, default=3, help="how many (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
