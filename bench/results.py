"""What the suite has measured: for each scenario, system and case its figures, one value a round."""

import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from rich import box
from rich.console import Console
from rich.table import Table

from bench.environments import HOME
from bench.machine import Machine
from turnout.errors import TurnoutError

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """A column of the table of a case."""

    name: str
    unit: str
    fewer_is_better: bool = True


@dataclass
class Results:
    scenario: str
    question: str
    machine: Machine
    load_average_before: float
    quick: bool
    """Only tried whether it runs."""
    rounds: int = 0
    figures: dict[str, Figure] = field(default_factory=dict)
    values: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    """Case -> system -> figure -> its values."""
    systems: dict[str, str] = field(default_factory=dict)
    """System -> its version and settings."""
    failures: dict[str, list[str]] = field(default_factory=dict)
    """System -> what went wrong."""

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What `write` has written; None if the file is something else."""
        kept = json.loads(file.read_text())
        if "question" not in kept:
            return None
        machine = Machine(**kept.pop("machine"))
        figures = {name: Figure(**figure) for name, figure in kept.pop("figures").items()}
        return cls(machine=machine, figures=figures, **kept)

    def go_on(self) -> None:
        """Take over what is recorded, so that rounds are added to it. They must be of the same versions."""
        file = self.file("json")
        recorded = self.read(file) if file.exists() else None
        if recorded is None:
            return
        if recorded.machine != self.machine:
            raise TurnoutError(f"{file} is of {recorded.machine}, which is not this machine: {self.machine}.")
        for name in ("rounds", "figures", "values", "systems", "failures"):
            setattr(self, name, getattr(recorded, name))

    def add(self, case: str, system: str, figure: Figure, value: float | None) -> None:
        self.figures[figure.name] = figure
        values = self.values.setdefault(case, {}).setdefault(system, {}).setdefault(figure.name, [])
        if value is not None:
            values.append(value)

    def fail(self, system: str, reason: str) -> None:
        self.failures.setdefault(system, []).append(reason)

    def median(self, case: str, system: str, figure: str, first_rounds: int | None = None) -> float | None:
        """Of all rounds, or the first so many."""
        values = self._values_of(case, system, figure)[:first_rounds]
        return statistics.median(values) if values else None

    def medians(self, case: str, figure: str, system: str, other: str) -> tuple[float | None, float | None]:
        """Of two systems, in the rounds that both have: one that is slow has the first round only, and another day the
        machine may be twice as fast."""
        rounds = min(len(self._values_of(case, name, figure)) for name in (system, other))
        return self.median(case, system, figure, rounds), self.median(case, other, figure, rounds)

    def _values_of(self, case: str, system: str, figure: str) -> list[float]:
        return self.values.get(case, {}).get(system, {}).get(figure, [])

    def measured(self, case: str) -> tuple[list[Figure], dict[str, list[str]]]:
        """The figures of a case, and system -> what is told of each."""
        systems = self.values[case]
        figures = [it for it in self.figures.values() if any(it.name in taken for taken in systems.values())]
        return figures, {name: [spread(taken.get(it.name, [])) for it in figures] for name, taken in systems.items()}

    def file(self, suffix: str) -> Path:
        # What was only tried must not take the place of what was measured.
        directory = HOME / "quick" if self.quick else RESULTS
        directory.mkdir(parents=True, exist_ok=True)
        return directory / f"{self.scenario}.{suffix}"

    def write(self) -> Path:
        file = self.file("json")
        file.write_text(json.dumps(asdict(self), indent=2) + "\n")
        return file


def show(results: Results, console: Console) -> None:
    for case in results.values:
        console.print(_table(results, case), "", sep="\n")
    for system, reasons in results.failures.items():
        console.print(f"{system}: {'; '.join(dict.fromkeys(reasons))}", style="red", markup=False)
    console.print(footer(results), markup=False)


def footer(results: Results) -> str:
    machine = results.machine
    measured = (
        f"{machine.cores} cores, load average {results.load_average_before} before. Python {machine.python}, Java "
        f"{machine.java}, Kafka {machine.kafka}; rounds: {results.rounds}, of which the medians (least – most)."
    )
    return "\n".join([measured, *(f"{system}: {about}" for system, about in results.systems.items())])


def _table(results: Results, case: str) -> Table:
    figures, systems = results.measured(case)
    table = Table(title=f"{results.question}: {case}", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for figure in figures:
        table.add_column(f"{figure.name},\n{figure.unit}", justify="right")
    for system, told in systems.items():
        table.add_row(system, *told)
    return table


def spread(values: list[float]) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))} – {number(max(values))})"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
