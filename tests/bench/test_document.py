"""What the document says is what was measured."""

from pathlib import Path

import pytest

from bench import results as results_module
from bench.document import DOCUMENT, documented, recorded
from bench.machine import Machine
from bench.results import Figure, Results

RATE = Figure("first read", "msg/s", fewer_is_better=False)
TEXT = """\
# Speed

<!-- bench backlog -->
what stood here
<!-- end -->

Words.

<!-- bench budgets -->
<!-- end -->
"""


def _backlog(**rates: list[float]) -> Results:
    machine = Machine(cores=2, turnout="", python="3", java=17, spark="", kafka="4", polars="")
    results = Results("backlog", "How fast?", machine, 0.0, quick=True)
    for system, values in rates.items():
        for value in values:
            results.add("1 partition", system.replace("_", "-").replace("42-7", "42.7"), RATE, value)
    return results


def test_tables_take_the_places_of_older_ones_and_words_stay() -> None:
    said = documented(TEXT, {"backlog": _backlog(turnout=[100.0, 300.0, 200.0], pyspark=[50.0])})
    assert "what stood here" not in said
    assert "| turnout | 200 (100 – 300) |" in said
    assert "| pyspark | 50 |" in said
    assert "\n\nWords.\n\n" in said
    assert documented(said, {}).count("Not measured yet.") == 1


def test_what_went_wrong_is_told_once() -> None:
    results = _backlog(turnout=[100.0])
    results.fail("pathway", "not installed")
    results.fail("pathway", "not installed")
    assert documented(TEXT, {"backlog": results}).count("- pathway: not installed") == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [(80.0, 100.0, "reached"), (79.9, 100.0, "**not reached**"), (100.0, None, "not measured")],
)
def test_a_ratio_is_judged_exactly(ours: float, theirs: float | None, verdict: str) -> None:
    peer = {} if theirs is None else {"deephaven_42_7": [theirs]}
    said = documented(TEXT, {"backlog": _backlog(turnout=[ours], **peer)})
    [line] = [
        line
        for line in said.splitlines()
        if line.startswith("| backlog, 1 partition: first read | ≥ 0.8 × deephaven-42.7 |")
    ]
    assert line.endswith(f"| {verdict} |")


def test_results_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_module, "HOME", tmp_path)
    written = _backlog(turnout=[1.5], pyspark=[2.5])
    written.fail("pathway", "too slow")
    file = written.write()
    file.with_name("smoke.json").write_text('{"ratio": 1}')
    assert recorded(file.parent) == {"backlog": written}


def test_the_document_has_the_results_of_this_checkout() -> None:
    text = DOCUMENT.read_text()
    assert text == documented(text, recorded()), "run: make bench-document"
