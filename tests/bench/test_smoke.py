"""When `make bench-smoke` fails, and when it does not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import smoke
from bench.machine import Machine
from bench.results import Results
from bench.smoke import CASE, OURS, READ, THEIRS, holds, ratio_of, recorded_in
from turnout.errors import TurnoutError

RECORDED = 3.0
MACHINE = Machine(cores=2, turnout="", python="", java=17, spark="", kafka="", polars="")
Measured = Callable[..., None]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded ratio, in a file that is not that of the repository."""
    file = tmp_path / "results" / "smoke.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"ratio": RECORDED}))
    monkeypatch.setattr(smoke, "RECORD", file)
    return file


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Sets what is measured, by turns, without measuring."""

    def set_to(ours: list[float], theirs: list[float]) -> None:
        monkeypatch.setattr(smoke, "java_parts", lambda _say: _Parts())
        monkeypatch.setattr(smoke, "this_machine", lambda _parts: MACHINE)
        monkeypatch.setattr(smoke, "measure", lambda results, *_: _fill(results, ours, theirs))

    return set_to


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    ("ours", "code"),
    [
        pytest.param([300.0, 300.0, 300.0], 0, id="as fast as recorded"),
        pytest.param([900.0, 900.0, 900.0], 0, id="faster"),
        pytest.param([201.0, 201.0, 201.0], 0, id="slower by a little less than a third"),
        pytest.param([199.0, 199.0, 199.0], 1, id="slower by a little more than a third"),
        pytest.param([20.0, 300.0, 310.0], 0, id="one turn was disturbed"),
        pytest.param([150.0, 300.0, 160.0], 1, id="one turn was lucky"),
    ],
)
def test_it_fails_when_the_median_ratio_has_fallen_by_more_than_a_third(
    measured: Measured, ours: list[float], code: int
) -> None:
    measured(ours, [100.0, 100.0, 100.0])
    assert smoke.main([]) == code


@pytest.mark.usefixtures("record")
def test_a_machine_that_is_slow_for_both_is_no_reason_to_fail(measured: Measured) -> None:
    measured([300.0, 30.0, 3.0], [100.0, 10.0, 1.0])
    assert smoke.main([]) == 0


def test_a_missing_record_is_an_error_before_anything_is_measured(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record.unlink()
    monkeypatch.setattr(smoke, "measure", lambda *_: pytest.fail("measured for nothing"))
    assert smoke.main([]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "to compare with: make one with --record" in said


@pytest.mark.parametrize("text", ["", "{}", "[3.0]", '{"ratio": null}', '{"ratio": "fast"}', '{"ratio": 0}'])
def test_a_record_without_a_ratio_is_an_error(record: Path, text: str) -> None:
    record.write_text(text)
    with pytest.raises(TurnoutError, match="make it anew with --record"):
        recorded_in(record)


def test_what_is_recorded_is_what_the_next_run_is_compared_with(record: Path, measured: Measured) -> None:
    measured([600.0, 500.0, 700.0], [100.0, 100.0, 100.0])
    assert smoke.main(["--record"]) == 0
    assert recorded_in(record) == 6.0
    measured([390.0], [100.0])
    assert smoke.main([]) == 1


def test_a_quick_run_compares_nothing_and_records_nothing(record: Path, measured: Measured) -> None:
    measured([1.0], [100.0])
    assert smoke.main(["--quick"]) == 0
    assert recorded_in(record) == RECORDED


@pytest.mark.parametrize(("ours", "theirs"), [([], [1.0]), ([1.0], []), ([1.0, 1.0], [1.0]), ([], [])])
def test_there_is_no_ratio_when_one_has_not_come_to_an_end(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(TurnoutError, match="There is no ratio"):
        ratio_of(_results(ours, theirs))


@given(st.floats(0.01, 1_000), st.floats(0, 10))
def test_the_judgement_is_about_the_fall_alone(recorded: float, share: float) -> None:
    if abs(share - 2 / 3) > 1e-9:
        assert holds(recorded * share, recorded) == (share > 2 / 3)


class _Parts:
    spark = ()


def _results(ours: list[float], theirs: list[float]) -> Results:
    results = Results("smoke", "How fast?", MACHINE, 0.0, quick=True)
    _fill(results, ours, theirs)
    return results


def _fill(results: Results, ours: list[float], theirs: list[float]) -> None:
    for name, values in ((OURS, ours), (THEIRS, theirs)):
        for value in values:
            results.add(CASE, name, READ, value)
