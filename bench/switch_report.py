"""The figures of switches for a person, as a table, and for a program, as JSON."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from bench.machine import Machine
from bench.switches import Seen


@dataclass(frozen=True)
class Scenario:
    name: str
    budget: float
    """Seconds for the median."""
    seconds: list[float]
    viewer: Seen

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True)
class Report:
    machine: Machine
    load_average_before: float
    scenarios: list[Scenario]

    @property
    def is_without_gap(self) -> bool:
        return not any(scenario.viewer.empty or scenario.viewer.mixed for scenario in self.scenarios)


def write_json(report: Report, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(report), indent=2) + "\n")


def show(report: Report, console: Console) -> None:
    table = Table(
        title="Control message → swapped, in seconds (≤ and >: within and over budget)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("switch of")
    for heading in ("switches", "p50", "p90", "max", "viewer:\nswaps", "empty", "mixed", "longest\npause"):
        table.add_column(heading, justify="right")
    for scenario in report.scenarios:
        p50, seen = scenario.quantile(0.5), scenario.viewer
        verdict = f"[green]≤ {scenario.budget:g}[/]" if p50 <= scenario.budget else f"[red]> {scenario.budget:g}[/]"
        table.add_row(
            scenario.name,
            str(len(scenario.seconds)),
            f"{p50:.2f} {verdict}",
            f"{scenario.quantile(0.9):.2f}",
            f"{max(scenario.seconds):.2f}",
            str(seen.swaps),
            str(seen.empty),
            str(seen.mixed),
            f"{seen.longest_pause:.2f}",
        )
    machine = report.machine
    console.print(table, "", sep="\n")
    console.print(
        f"{machine.cores} cores, load average {report.load_average_before} before. Turnout {machine.turnout}, "
        f"Python {machine.python}, Java {machine.java}, Spark {machine.spark}, Kafka {machine.kafka}, "
        f"Polars {machine.polars}.",
        "The viewer is a remote client of the joined table: moments in which it held no row, or rows of two pairs of "
        "topics, and the longest time between two events (without load, the time between two switches).",
        sep="\n",
    )
