"""Random questions to a real server: the answer is what plain Python makes of the rows, in every format."""

import csv
import io
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.histories import VALUES
from tests.oracle import Value
from turnout.config import load
from turnout.schema import ColumnType
from turnout.service import Service
from turnout.tables.delta import ROW

COLUMNS = {
    "key": ColumnType.STRING,
    "text": ColumnType.STRING,
    "number": ColumnType.LONG,
    "share": ColumnType.DOUBLE,
    "open": ColumnType.BOOLEAN,
}
CONFIG = f"""
tables:
  things: {{topic: things, columns: {json.dumps({name: str(kind) for name, kind in COLUMNS.items()})}}}
  others: {{topic: others, columns: {{key: string}}}}
join: {{left: things, right: others, on: key}}
"""

Row = dict[str, Value]

# Few of them, so that rows have equal values and filters find some.
FEW: Mapping[ColumnType, st.SearchStrategy[Value]] = {
    ColumnType.STRING: st.sampled_from(["", "a", "ab", "B", "é", "𝄞", "a,b", 'say "hi"', "a\nb", "x==y", "null"]),
    ColumnType.LONG: st.sampled_from([0, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    ColumnType.DOUBLE: st.sampled_from([0.0, -0.0, 0.1, 1e300, -5e-324, 100.0]),
    ColumnType.BOOLEAN: st.booleans(),
}
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SIGNS = [*COMPARISONS, "~"]


@dataclass(frozen=True)
class Question:
    filters: list[tuple[str, str, Value]]
    sort: list[tuple[str, bool]]
    columns: list[str]
    limit: int | None

    def parameters(self) -> dict[str, str | int | list[str]]:
        asked: dict[str, str | int | list[str]] = {
            "filter": [f"{name}{sign}{_literal(value)}" for name, sign, value in self.filters],
            "sort": ",".join(f"{name}:desc" if down else name for name, down in self.sort),
            "columns": ",".join(self.columns),
        }
        return asked if self.limit is None else {**asked, "limit": self.limit}

    def answer(self, rows: list[Row]) -> list[Row]:
        found = [row for row in rows if all(_holds(row[name], sign, value) for name, sign, value in self.filters)]
        for name, down in reversed(self.sort):
            by: Callable[[Row], Any] = operator.itemgetter(name)
            valued = sorted((row for row in found if row[name] is not None), key=by, reverse=down)
            found = valued + [row for row in found if row[name] is None]
        return [{name: row[name] for name in self.columns or COLUMNS} for row in found[: self.limit]]


def _literal(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _holds(held: Value, sign: str, value: Value) -> bool:
    if held is None:
        return False
    return str(value) in _literal(held) if sign == "~" else COMPARISONS[sign](held, value)


@st.composite
def filters(draw: st.DrawFn, rows: list[Row]) -> tuple[str, str, Value]:
    """Most often they compare with a value that some row has."""
    name = draw(st.sampled_from(list(COLUMNS)))
    kind = COLUMNS[name]
    sign = draw(st.sampled_from(SIGNS))
    if sign == "~" and kind is not ColumnType.DOUBLE:  # how a double is written is not for this test
        return name, sign, draw(st.sampled_from(["", "a", "1", "-", "e", "B", ".", "(", "$"]))
    held = [value for row in rows if (value := row[name]) is not None and _can_be_asked_for(value)]
    if held and draw(st.integers(0, 4)) > 0:
        return name, sign.replace("~", "=="), draw(st.sampled_from(held))
    return name, sign.replace("~", "=="), draw(FEW[kind] | VALUES[kind].filter(_can_be_asked_for))


def _can_be_asked_for(value: Value) -> bool:
    """Blanks around an operator do not count, and `<` before `=` is another one."""
    return not str(value)[:1].isspace() and str(value)[:1] != "="


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Row], Question]:
    columns = {name: st.none() | FEW[kind] | FEW[kind] | VALUES[kind] for name, kind in COLUMNS.items()}
    rows = draw(st.lists(st.fixed_dictionaries(columns), max_size=12))
    names = st.sampled_from(list(COLUMNS))
    question = Question(
        draw(st.lists(filters(rows), max_size=2)),
        draw(st.lists(st.tuples(names, st.booleans()), max_size=3)),
        draw(st.lists(names, unique=True)),
        draw(st.none() | st.integers(0, 12)),
    )
    return rows, question


NO_TEXT: Row = {"key": "a", "text": None, "number": 1, "share": None, "open": None}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    path = tmp_path / "turnout.yaml"
    path.write_text(CONFIG)
    return Service(load(path, env={}))


@pytest.mark.timeout(300)  # a failure is made small before it is told
@given(cases())
@example(([NO_TEXT], Question([], [], ["text"], None)))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_answers_as_plain_python_does(
    http: httpx.Client, service: Service, case: tuple[list[Row], Question]
) -> None:
    rows, question = case
    _show(service, rows)
    expected = question.answer(rows)
    said = {form: _ask(http, question, form) for form in ("json", "csv", "arrow")}
    assert json.loads(said["json"])["rows"] == expected
    arrow = pl.read_ipc_stream(io.BytesIO(said["arrow"]))
    assert arrow.rows(named=True) == expected
    assert arrow.columns == (question.columns or list(COLUMNS))
    header, *lines = csv.reader(io.StringIO(said["csv"].decode(), newline=""))
    assert header == arrow.columns
    # Python's reader does not tell an empty text from none.
    assert lines == [["" if value is None else _in_csv(value) for value in row.values()] for row in expected]


def _show(service: Service, rows: list[Row]) -> None:
    schema = service.tables.registry.snapshot("things_ui").rows.schema
    shown = pl.DataFrame([{ROW: str(id_), **row} for id_, row in enumerate(rows)], schema=schema)
    service.tables.registry.swap(1, {"things_ui": shown})


def _ask(http: httpx.Client, question: Question, form: str) -> bytes:
    answer = http.get("/api/tables/things_ui", params={**question.parameters(), "format": form})
    assert answer.status_code == 200, answer.text
    return answer.content


def _in_csv(value: Value) -> str:
    return pl.Series([value]).to_frame().write_csv(include_header=False, quote_style="never").removesuffix("\n")
