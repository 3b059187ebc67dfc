"""Medians and spread of rounds, and that what went wrong is told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench import results as results_module
from bench.machine import Machine
from bench.results import Figure, Results, show, spread
from turnout.errors import TurnoutError

P50 = Figure("p50", "ms")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], "–"),
        ([12.345], "12.3"),
        ([1234.5], "1,234"),
        ([3.0, 1.0, 2.0], "2 (1 – 3)"),
        ([1.0, 1000.0], "500 (1 – 1,000)"),
    ],
)
def test_rounds_are_told_by_their_median_and_their_extremes(values: list[float], told: str) -> None:
    assert spread(values) == told


def test_one_round_out_of_many_does_not_move_the_median() -> None:
    results = _results()
    for value in (10.0, 11.0, 5_000.0):
        results.add("case", "turnout", P50, value)
    assert results.median("case", "turnout", P50.name) == 11.0


def test_what_was_not_measured_has_no_median() -> None:
    results = _results()
    results.add("case", "turnout", P50, None)
    assert results.median("case", "turnout", P50.name) is None
    assert results.median("another", "turnout", P50.name) is None


def test_two_systems_are_compared_in_the_rounds_that_both_have() -> None:
    results = _results()
    for value in (100.0, 300.0):  # another day, on a machine three times as fast
        results.add("case", "turnout", P50, value)
    results.add("case", "slow", P50, 50.0)
    assert results.medians("case", P50.name, "turnout", "slow") == (100.0, 50.0)
    assert results.medians("case", P50.name, "turnout", "turnout") == (200.0, 200.0)
    assert results.medians("case", P50.name, "turnout", "nobody") == (None, None)


def test_failures_stand_under_the_tables_and_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_module, "HOME", tmp_path)
    results = _results()
    results.add("case", "peer", P50, 10.0)
    results.fail("peer", "remote client: it has ended")
    console = Console(record=True, width=200)
    show(results, console)
    said = console.export_text()
    assert "peer: remote client: it has ended" in said
    kept = json.loads(results.write().read_text())
    assert kept["failures"] == {"peer": ["remote client: it has ended"]}
    assert kept["values"]["case"]["peer"]["p50"] == [10.0], "the table's figures stay"


def _results() -> Results:
    machine = Machine(cores=2, turnout="", python="", java=17, spark="", kafka="", polars="")
    return Results("scenario", "How fast?", machine, 0.0, quick=True)


def test_rounds_are_added_to_those_of_the_same_versions_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_module, "HOME", tmp_path)
    first = _results()
    first.go_on()  # there is nothing to go on from
    first.add("case", "turnout", P50, 10.0)
    first.fail("pathway", "not installed")
    first.rounds = 1
    first.write()

    second = _results()
    second.go_on()
    second.add("case", "turnout", P50, 20.0)
    assert second.values["case"]["turnout"] == {P50.name: [10.0, 20.0]}
    assert (second.rounds, second.failures) == (1, {"pathway": ["not installed"]})

    other = replace(_results(), machine=replace(first.machine, cores=64))
    with pytest.raises(TurnoutError, match="not this machine"):
        other.go_on()
