"""Puts what was measured into docs/performance.md, so that no figure there is copied by hand: `make bench-document`.

Between `<!-- bench <scenario> -->` and `<!-- end -->` stand a scenario's tables and picture, at `budgets` the verdicts.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from bench.budgets import judgement
from bench.results import RESULTS, Results, footer

DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"
BUDGETS = "budgets"
REASON_CHARS = 160
_PART = re.compile(r"(<!-- bench (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    DOCUMENT.write_text(documented(DOCUMENT.read_text(), recorded()))
    return 0


def recorded(directory: Path = RESULTS) -> dict[str, Results]:
    """What the suite has measured last, by scenario."""
    found = (Results.read(file) for file in sorted(directory.glob("*.json")))
    return {results.scenario: results for results in found if results is not None}


def documented(text: str, measured: Mapping[str, Results]) -> str:
    """The document with these results in their places; a scenario that was not measured says so."""

    def part(found: re.Match[str]) -> str:
        begin, name, end = found.groups()
        lines = _budgets(measured) if name == BUDGETS else _scenario(name, measured)
        return "\n".join([begin, *lines, "", end])

    return _PART.sub(part, text)


def _budgets(measured: Mapping[str, Results]) -> Iterator[str]:
    yield from _table(["", "budget", "measured", ""], judgement(measured))


def _scenario(name: str, measured: Mapping[str, Results]) -> Iterator[str]:
    if name not in measured:
        yield "Not measured yet."
        return
    results = measured[name]
    for case in results.values:
        figures, systems = results.measured(case)
        heads = [case, *(f"{figure.name}, {figure.unit}" for figure in figures)]
        yield from _table(heads, ([system, *told] for system, told in systems.items()))
        yield ""
    for system, reasons in results.failures.items():
        yield from (f"- {system}: {_escaped(_short(reason))}" for reason in dict.fromkeys(reasons))
    if results.failures:
        yield ""
    yield f"![{results.question}](../bench/results/{name}.svg)"
    yield ""
    yield from (f"{_escaped(line)}  " for line in footer(results).splitlines())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(heads)
    yield _row(["---", *("--:" for _ in heads[1:])])
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _short(reason: str) -> str:
    """Whole in the results; some programs put a page of their insides behind it."""
    return shorten(reason, REASON_CHARS, placeholder=" …")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main())
