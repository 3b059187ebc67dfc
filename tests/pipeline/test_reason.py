"""What people are told of what Spark says when a query fails."""

import pytest

from turnout.pipeline.pipeline import REASON_CHARS, _reason

FAILED = "[STREAM_FAILED] Query [id = 1f, runId = 2e] terminated with exception: "
ABORTED = "Job aborted due to stage failure: Task 0 failed, most recent failure: Lost task 0.0 (h): "


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("topic gone", "topic gone"),
        (FAILED + "topic gone", "topic gone"),
        (FAILED + ABORTED + "java.lang.X: no login\n\tat a.B.c(D.java:1)", "java.lang.X: no login"),
        (ABORTED + "no login\n\nDriver stacktrace: SQLSTATE: XXKST", "no login"),
        (ABORTED + "no login Driver stacktrace:", "no login"),
        ("x" * 1000, "x" * REASON_CHARS + "…"),
    ],
)
def test_a_reason_without_what_surrounds_it(said: str, told: str) -> None:
    assert _reason(RuntimeError(said)) == told
