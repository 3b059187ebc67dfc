"""How long it takes from a message to its row: in the public live table, and in a remote client.

`make bench-latency`, or `python -m bench.latency --help`. Starts and ends everything by itself.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.child import Child
from bench.command import run, say
from bench.cpu import CpuMeter, descendant_running
from bench.machine import load_average, this_machine
from bench.messages import Plan
from bench.phases import Phase, Run, asking
from bench.recorder import Recorder
from bench.report import Report, tell
from bench.rig import HOST, Rig, running
from bench.seen import collect

RESULT = Path(__file__).parent / "results" / "latency.json"
WARM_UP_RATE = 2_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run(lambda console: tell(_measure(options, console), RESULT, console))


def _measure(options: argparse.Namespace, console: Console) -> Report:
    load_before = load_average()
    with measuring(options.keys, options.keep, console, _on(options.master)) as (rig, run):
        # At least until every key has rows on both sides: from then on each message shows.
        phase(run, WARM_UP_RATE, max(options.warm_up, run.plan.round / WARM_UP_RATE), console, "Warming up: ")
        phases = [phase(run, rate, options.seconds, console) for rate in options.rates]
        return Report(this_machine(rig.parts), options.keys, options.keep, joined_rows(rig), load_before, phases)


@contextmanager
def measuring(
    keys: int, keep: int, console: Console, more: Mapping[str, object] | None = None
) -> Iterator[tuple[Rig, Run]]:
    """A service, a producer, and observers of its joined table: one in the process, one remote. `more` is further
    configuration."""
    with (
        tempfile.TemporaryDirectory(prefix="turnout-bench-") as directory,
        running(Path(directory), keep, partial(say, console), more) as rig,
        Child("bench.producer", rig.broker.bootstrap) as producer,
        Child("bench.client", HOST, rig.port, changes_of(rig)) as client,
    ):
        recorder, tables = Recorder(), rig.service.tables
        tables.registry.subscribe(tables.names.joined, recorder.note_event)
        cpu = CpuMeter(processes(rig, producer, client))
        table, remote = partial(collect, recorder.take), asking(client, Path(directory))
        yield rig, Run(Plan(keys), keep, producer, table, remote, cpu, Path(directory))


def _on(master: str | None) -> Mapping[str, object]:
    """Configuration of a Spark cluster on this machine."""
    if master is None:
        return {}
    conf = {"spark.driver.host": HOST, "spark.executor.memory": "1g"}
    return {"spark.master": master, **{f"spark.conf.{name}": value for name, value in conf.items()}}


def phase(run: Run, rate: int, seconds: float, console: Console, what: str = "") -> Phase:
    say(console, f"{what}{rate:,} messages a second for {seconds:g} s …")
    return run.phase(rate, seconds)


def processes(rig: Rig, producer: Child, client: Child) -> dict[str, list[int]]:
    spark = descendant_running("SparkSubmit")
    return {
        "service": [os.getpid()],
        **({"Spark": [spark]} if spark else {}),
        "Kafka": [rig.broker.pid],
        "producer": [producer.pid],
        "client": [client.pid],
    }


def joined_rows(rig: Rig) -> int:
    tables = rig.service.tables
    return tables.registry.snapshot(tables.names.joined).rows.height


def changes_of(rig: Rig) -> str:
    return f"/api/tables/{rig.service.tables.names.joined}/changes"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--rates", type=_rates, default="50,2000,10000", help="messages a second, one phase each (%(default)s)"
    )
    parser.add_argument("--seconds", type=_positive, default=15, help="how long each phase sends (%(default)s)")
    parser.add_argument(
        "--warm-up",
        type=_positive,
        default=20,
        metavar="SECONDS",
        help=f"at {WARM_UP_RATE} messages a second, not counted; at least until every key was sent (%(default)s)",
    )
    parser.add_argument(
        "--master", metavar="spark://127.0.0.1:7077", help="a Spark cluster on this machine: see docs/deploy.md (none)"
    )
    parser.add_argument("--keys", type=at_least_1, default=10_000, help="keys, all in turn (%(default)s)")
    parser.add_argument("--keep", type=at_least_1, default=100, help="rows kept per key and side (%(default)s)")
    return parser.parse_args(arguments)


def _rates(text: str) -> list[int]:
    return [at_least_1(rate) for rate in text.split(",")]


def _positive(text: str) -> float:
    value = float(text) if text.replace(".", "", 1).isdecimal() else 0.0
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def at_least_1(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
