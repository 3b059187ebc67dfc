"""How fast the page is, and what open pages cost: first rows, scrolling, and ingestion with many pages open.

`make bench-page`, or `python -m bench.page --help`. Starts and ends everything by itself.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.browser import Question
from bench.child import Child
from bench.command import run, say
from bench.latency import at_least_1, joined_rows, measuring
from bench.machine import Machine, load_average, this_machine
from bench.phases import Phase
from bench.rig import HOST

RESULT = Path(__file__).parent / "results" / "page.json"
WARM_UP_RATE = 4_000
FIRST_ROWS_BUDGET_MS = 2_000


@dataclass(frozen=True)
class Report:
    machine: Machine
    load_average_before: float
    rows: int
    first_rows_ms: list[float]
    scrolling: dict[str, float]
    phases: list[tuple[str, Phase]]
    """Who looks on, and what came of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run(lambda console: _report(options, console))


def _report(options: argparse.Namespace, console: Console) -> int:
    report = _measure(options, console)
    _show(report, console)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(asdict(report), indent=2) + "\n")
    console.print(f"Also in {RESULT}")
    return 0


def _measure(options: argparse.Namespace, console: Console) -> Report:
    load_before, tell = load_average(), partial(say, console)
    with (
        measuring(options.keys, 1, console) as (rig, measured),
        Child("bench.browser", f"http://{HOST}:{rig.port}/") as browser,
        Child("bench.viewers", f"ws://{HOST}:{rig.port}/perspective") as viewers,
    ):
        tell(f"Filling the table: {options.keys:,} keys …")
        measured.phase(WARM_UP_RATE, measured.plan.round / WARM_UP_RATE)
        tell("Opening the page …")
        first_rows = [_open_once(browser) for _ in range(options.opens + 1)][1:]  # the first one warms the browser
        tell("Scrolling …")
        _ask(browser, "open", 1)
        scrolling = _ask(browser, "scroll", 1)
        _ask(browser, "close", 0)
        phases = []
        for elsewhere, here in [(0, 0), (options.pages, 0), (0, options.pages)] * options.repeat:
            who = _who(elsewhere, here)
            tell(f"{options.rate:,} messages a second, watched by {who} …")
            viewers.ask({"viewers": elsewhere})
            _ask(browser, "open", here)
            phases.append((who, measured.phase(options.rate, options.seconds)))
            _ask(browser, "close", 0)
            viewers.ask({"viewers": 0})
        return Report(this_machine(rig.parts), load_before, joined_rows(rig), first_rows, scrolling, phases)


def _who(elsewhere: int, here: int) -> str:
    if elsewhere:
        return f"{elsewhere} elsewhere"
    return f"{here} here" if here else "nobody"


def _open_once(browser: Child) -> float:
    """Milliseconds until the first rows are drawn."""
    (ms,) = _ask(browser, "open", 1)["ms"]
    _ask(browser, "close", 0)
    return float(ms)


def _ask(browser: Child, do: str, pages: int) -> dict[str, Any]:
    return browser.ask({**Question(do=do, pages=pages)})


def _show(report: Report, console: Console) -> None:
    median = statistics.median(report.first_rows_ms)
    verdict = "[green]≤[/]" if median <= FIRST_ROWS_BUDGET_MS else "[red]>[/]"
    scrolling = report.scrolling
    console.print(
        f"Open → first rows drawn, empty cache: {median:,.0f} ms {verdict} {FIRST_ROWS_BUDGET_MS:,} "
        f"(median of {len(report.first_rows_ms)}, {min(report.first_rows_ms):,.0f}–{max(report.first_rows_ms):,.0f})",
        f"Scrolling through {report.rows:,} rows: {scrolling['frames_per_second']} frames a second, 95 % of them "
        f"within {scrolling['p95_ms']} ms, the longest {scrolling['longest_ms']} ms",
        "",
        sep="\n",
    )
    table = Table(
        title="Message produced → row in the live table, in milliseconds", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in ("watched by", "msg/s", "p50", "p99", "max", "service, cores"):
        table.add_column(heading, justify="right")
    for who, phase in report.phases:
        figures = phase.live_table
        times = [f"{value:.1f}" if value is not None else "–" for value in (figures.p50, figures.p99, figures.max)]
        table.add_row(who, f"{phase.sent_per_second:,.0f}", *times, f"{phase.cores.get('service', 0):.2f}")
    machine = report.machine
    console.print(
        table,
        f"{machine.cores} cores; pages here are drawn by a browser on the same ones, niced; viewers elsewhere ask what "
        f"a page asks, and draw nothing. Turnout {machine.turnout}.",
        sep="\n",
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=at_least_1, default=100_000, help="keys, and rows of the join (%(default)s)")
    parser.add_argument("--opens", type=at_least_1, default=5, help="how often the page is opened (%(default)s)")
    parser.add_argument("--pages", type=at_least_1, default=10, help="open while messages come (%(default)s)")
    parser.add_argument("--rate", type=at_least_1, default=500, help="messages a second (%(default)s)")
    parser.add_argument("--seconds", type=at_least_1, default=15, help="of each phase (%(default)s)")
    parser.add_argument("--repeat", type=at_least_1, default=2, help="how often each, by turns (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
