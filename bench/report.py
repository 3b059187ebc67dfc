"""The figures for a person, as a table, and for a program, as JSON."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.budgets import CLIENT_MS, SUSTAINED, SUSTAINED_P99_MS, TABLE_MS
from bench.figures import Figures
from bench.machine import Machine
from bench.phases import Phase

LIVE_TABLE, REMOTE_CLIENT = "live table", "remote client"


@dataclass(frozen=True)
class Budget:
    """At most so many milliseconds; None: there is no budget for it."""

    p50: float | None
    p99: float | None


BUDGETS = {
    (50, LIVE_TABLE): Budget(**TABLE_MS),
    (50, REMOTE_CLIENT): Budget(**CLIENT_MS),
    (SUSTAINED, LIVE_TABLE): Budget(None, SUSTAINED_P99_MS),
}
"""By messages a second and observer, for two cores."""

NO_BUDGET = Budget(None, None)


@dataclass(frozen=True)
class Report:
    machine: Machine
    keys: int
    keep: int
    rows: int
    """Of the joined table at the end."""
    load_average_before: float
    phases: list[Phase]

    @property
    def lost(self) -> int:
        return sum(
            figures.lost for phase in self.phases for figures in (phase.live_table, phase.remote_client) if figures
        )


def write_json(report: Report, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(report), indent=2) + "\n")


def tell(report: Report, file: Path, console: Console) -> int:
    """Show it, keep it, and the exit code that it comes to."""
    show(report, console)
    write_json(report, file)
    console.print(f"Also in {file}")
    return 1 if report.lost else 0


def show(report: Report, console: Console) -> None:
    console.print(_latencies(report), "", sep="\n")
    if report.phases[0].cores:
        console.print(_cores(report), "", sep="\n")
    machine = report.machine
    console.print(
        f"{machine.cores} cores, load average {report.load_average_before} before. Turnout {machine.turnout}, "
        f"Python {machine.python}, Java {machine.java}, Spark {machine.spark}, Kafka {machine.kafka}, "
        f"Polars {machine.polars}.",
        f"{report.keys:,} keys, keep {report.keep}, {report.rows:,} joined rows at the end; half of the messages on "
        "either side of a left join.",
        sep="\n",
    )


def _latencies(report: Report) -> Table:
    table = _table("Message produced → its row, in milliseconds (≤ and >: within and over budget)")
    for heading in ("sent/s\nasked", "sent/s", "messages"):
        table.add_column(heading, justify="right")
    table.add_column("seen in")
    for heading in ("shown/s", "lost", "super-\nseded", "rows per\nupdate"):
        table.add_column(heading, justify="right")
    for heading in ("p50", "p90", "p99", "max", "p50, first →\nlast quarter"):
        table.add_column(heading, justify="right", no_wrap=True)
    for phase in report.phases:
        asked = (f"{phase.rate:,}", f"{phase.sent_per_second:,.0f}", f"{phase.sent:,}")
        table.add_row(*asked, *_cells(phase.rate, LIVE_TABLE, phase.live_table))
        if phase.remote_client:
            table.add_row("", "", "", *_cells(phase.rate, REMOTE_CLIENT, phase.remote_client))
    return table


def _cells(rate: int, observer: str, figures: Figures) -> list[str]:
    budget = BUDGETS.get((rate, observer), NO_BUDGET)
    # A client that is too slow is sent the whole table again.
    again = f"\n({figures.snapshots} × all anew)" if figures.snapshots else ""
    return [
        observer + again,
        f"{figures.shown_per_second:,.0f}",
        f"[red]{figures.lost:,}[/]" if figures.lost else "0",
        f"{figures.superseded:,}",
        f"{figures.rows_per_update:,.1f}",
        _judged(figures.p50, budget.p50),
        _ms(figures.p90),
        _judged(figures.p99, budget.p99),
        _ms(figures.max),
        f"{_ms(figures.p50_of_first_quarter)} → {_ms(figures.p50_of_last_quarter)}",
    ]


def _cores(report: Report) -> Table:
    table = _table("Cores kept busy, and microseconds of a core per message")
    table.add_column("sent/s\nasked", justify="right")
    for process in report.phases[0].cores:
        table.add_column(f"{process}\ncores", justify="right")
        table.add_column("\nµs", justify="right")
    for heading in ("all\ncores", "\nµs", "load\naverage"):
        table.add_column(heading, justify="right")
    for phase in report.phases:
        taken = [(cores, phase.cpu_us_per_message[process]) for process, cores in phase.cores.items()]
        taken.append((sum(phase.cores.values()), sum(phase.cpu_us_per_message.values())))
        cells = (cell for cores, us in taken for cell in (f"{cores:.2f}", f"{us:,.0f}"))
        table.add_row(f"{phase.rate:,}", *cells, f"{phase.load_average:.1f}")
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=0)


def _judged(value: float | None, budget: float | None) -> str:
    if value is None or budget is None:
        return _ms(value)
    return f"{_ms(value)} [green]≤ {budget:g}[/]" if value <= budget else f"{_ms(value)} [red]> {budget:g}[/]"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
