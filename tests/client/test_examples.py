"""The examples for Python, run as they stand against a real server."""

import ast
import asyncio
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.client.fed import Fed
from tests.serve.publishing import Published
from turnout.tables.delta import ROW, Delta

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "python"
DEFAULT_URL = '"http://127.0.0.1:8400"'


@pytest.fixture
def joined(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> Fed:
    """A server that shows a join of two, and takes every switch but one."""
    fed.service.tables.registry.swap(1, {"final_ui": rows(fed, ("a", 120.5), ("b", 80.0))})
    applied, rejected = Published(fed.service, "applied"), Published(fed.service, "rejected: topic 'nosuch' is missing")
    monkeypatch.setattr(
        fed.service, "publish_control", lambda value, _: (rejected if b"nosuch" in value else applied)(value)
    )
    monkeypatch.setattr(fed.service, "publish_undo", lambda *_: applied(b"{}"))
    return fed


def rows(fed: Fed, *balances: tuple[str, float]) -> pl.DataFrame:
    schema = fed.service.tables.registry.snapshot("final_ui").rows.schema
    return pl.DataFrame(
        [(id_, f"u{id_}", f"name {id_}", None, 30, "basic", balance) for id_, balance in balances],
        schema=schema,
        orient="row",
    )


def test_the_notebook_runs_from_top_to_bottom(joined: Fed, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((EXAMPLES / "live_join.ipynb").read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), "outputs are cleared"
    names: dict[str, Any] = {}
    for cell in cells:
        run("".join(cell["source"]).replace(DEFAULT_URL, repr(joined.url)), names)
    said = capsys.readouterr().out
    assert "2 rows of generation 1 | newest: {'userId': 'ub'" in said
    assert "applied → {'users': 'users', 'accounts': 'accounts'} left" in said
    assert "\ntopic 'nosuch' is missing\n" in said


def run(cell: str, names: dict[str, Any]) -> None:
    """As a notebook does: a cell may await."""
    code = compile(cell, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_the_script_shows_the_richest_and_each_change(joined: Fed) -> None:
    command = [sys.executable, "-u", str(EXAMPLES / "live_join.py"), joined.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            shown = iter(process.stdout)
            frame = "".join(line for line in iter(lambda: next(shown), "generation 1: 2 rows\n"))
            assert "120.5" in frame
            assert "80.0" not in frame
            delta = Delta(rows(joined, ("b", 90.0)), pl.Series(ROW, [], dtype=pl.String))
            joined.service.tables.registry.change({"final_ui": delta})
            assert next(shown).startswith("changed: {'userId': 'ub', 'name': 'name b'")
        finally:
            process.kill()
