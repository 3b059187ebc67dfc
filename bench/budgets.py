"""The budgets of the product's contract, and whether what was measured keeps them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.results import Results, number

OURS = "turnout"
DEEPHAVEN = "deephaven-42.7"
SHORT_CYCLE, SHORT_BARRAGE = f"{DEEPHAVEN}-10ms", f"{DEEPHAVEN}-10ms-barrage"
SPARK = "pyspark"

TABLE_MS, CLIENT_MS = {"p50": 12.0, "p99": 40.0}, {"p50": 40.0, "p99": 150.0}
"""At 50 messages a second."""

SUSTAINED, SUSTAINED_P99_MS = 10_000, 250.0
"""Messages a second, and how old a row may be then."""


@dataclass(frozen=True)
class Budget:
    """A figure of ours, or its ratio to a peer's in the same run, is this at most (or at least)."""

    scenario: str
    case: str
    figure: str
    limit: float
    peer: str | None = None
    at_least: bool = False

    @property
    def asked(self) -> str:
        limit = f"{'≥' if self.at_least else '≤'} {number(self.limit)}"
        return f"{limit} × {self.peer}" if self.peer else limit

    def judged(self, results: Results | None) -> tuple[str, str]:
        """What was measured, and the verdict."""
        ours, theirs = self._measured(results) if results else (None, None)
        if results is None or ours is None or (self.peer and not theirs):
            return "–", "not measured"
        value = ours / theirs if theirs else ours
        kept = value >= self.limit if self.at_least else value <= self.limit
        unit = results.figures[self.figure].unit
        told = f"{number(value)} ({number(ours)} / {number(theirs)} {unit})" if theirs else f"{number(value)} {unit}"
        return told, "reached" if kept else "**not reached**"

    def _measured(self, results: Results) -> tuple[float | None, float | None]:
        if self.peer is None:
            return results.median(self.case, OURS, self.figure), None
        return results.medians(self.case, self.figure, OURS, self.peer)


def _budgets() -> Iterator[Budget]:
    slow = "50 messages a second"
    for figure, at_most in TABLE_MS.items():
        yield Budget("freshness", slow, f"table {figure}", at_most)
        yield Budget("freshness", slow, f"table {figure}", 1.5, SHORT_CYCLE)
        yield Budget("freshness", slow, f"table {figure}", 1 / 20, DEEPHAVEN)
    for figure, at_most in CLIENT_MS.items():
        yield Budget("freshness", slow, f"client {figure}", at_most)
        for peer in (DEEPHAVEN, SHORT_CYCLE, SHORT_BARRAGE):
            yield Budget("freshness", slow, f"client {figure}", 1 / 10, peer)
    highest = f"highest rate with p99 ≤ {SUSTAINED_P99_MS:g} ms"
    yield Budget("sustained", "live table", highest, SUSTAINED, at_least=True)
    for case in ("1 partition", "4 partitions"):
        for figure in ("first read", "second read"):
            yield Budget("backlog", case, figure, 0.8, DEEPHAVEN, at_least=True)
            yield Budget("backlog", case, figure, 3, SPARK, at_least=True)
        yield Budget("backlog", case, "memory after it", 2, DEEPHAVEN)
    yield Budget("memory", "1,000 messages a second", "after 60 min", 2, DEEPHAVEN)
    yield Budget("start", "cold, topics with a few messages", "process started → first joined row", 12)
    yield Budget("start", "topics with 1,000,000 messages", "the same after kill -9", 20)


BUDGETS = tuple(_budgets())


def judgement(measured: Mapping[str, Results]) -> Iterator[tuple[str, str, str, str]]:
    """For each budget: what it is about, what was asked for, what was measured, and the verdict."""
    for budget in BUDGETS:
        told, verdict = budget.judged(measured.get(budget.scenario))
        yield f"{budget.scenario}, {budget.case}: {budget.figure}", budget.asked, told, verdict
