"""What the document says about tables."""

import json
from http import HTTPStatus

from turnout.schema import ColumnType
from turnout.serve.changes import KEEP_ALIVE_SECONDS
from turnout.serve.formats import MEDIA_TYPES, Format
from turnout.serve.openapi.examples import Examples
from turnout.serve.openapi.parts import (
    LONG,
    TEXT,
    Operations,
    Part,
    answer,
    content,
    error,
    fields,
    list_of,
    map_of,
    named,
    one_of,
    operation,
)
from turnout.tables.delta import ROW

_EVENTS = f"""\
Events without end; the data of each is one line of JSON.

`snapshot` comes first, with all rows. `change` follows whenever rows change: `upserts` are to be put in, or in the \
place of those with the same `{ROW}`; `removes` are the `{ROW}` of those to take out. `swap` has all rows of another \
generation, in place of all there were.

A client that connects again, or falls behind, gets a new `snapshot`: only that counts from there on. One of \
generation 0 without rows means that the server has just started and has nothing to show yet. A comment comes when \
there has been nothing else for {KEEP_ALIVE_SECONDS:g} s."""


def tables(examples: Examples) -> Operations:
    return {
        "/api/tables": {"get": _list(examples)},
        "/api/tables/{name}": {"get": _rows(examples)},
        "/api/tables/{name}/changes": {"get": _changes(examples)},
    }


def parameters(examples: Examples) -> dict[str, Part]:
    """More about the parameters with these names."""
    texts = list_of(TEXT)
    return {
        "name": {"schema": one_of(examples.tables), "example": examples.table},
        "format": {"schema": {**one_of(list(Format)), "default": str(Format.JSON)}, "example": str(Format.CSV)},
        "limit": {"schema": {"type": "integer", "minimum": 0}, "example": 100},
        "sort": {"schema": texts, "example": [f"{examples.number}:desc,{examples.key}"]},
        "filter": {"schema": texts, "example": [examples.filter]},
        "columns": {"schema": texts, "example": [f"{examples.key},{examples.number}"]},
    }


def _list(examples: Examples) -> Part:
    table = fields({"name": TEXT, "columns": map_of(one_of(list(ColumnType))), "rows": LONG})
    columns = {name: str(kind) for name, kind in examples.columns.items()}
    example = {"tables": [{"name": examples.table, "columns": columns, "rows": 1}]}
    found = answer("All tables.", content(fields({"tables": list_of(table)}), example))
    return operation("Which tables there are", "$/api/tables", {HTTPStatus.OK: found})


def _rows(examples: Examples) -> Part:
    schema = fields({"generation": LONG, "rows": list_of(named("Row"))})
    found = {
        "description": "The rows, all of one moment. JSON has null where a number is NaN or infinite. Of a large "
        "answer each piece is sent when the one before has been read.",
        "headers": {
            "Turnout-Generation": {"description": "Which generation the rows are of.", "schema": LONG, "example": 3}
        },
        "content": {
            **content(schema, {"generation": 3, "rows": [examples.row]}),
            **content(TEXT, examples.csv, MEDIA_TYPES[Format.CSV]),
            MEDIA_TYPES[Format.ARROW]: {"schema": {"contentMediaType": MEDIA_TYPES[Format.ARROW]}},
        },
    }
    refused = error(
        "A parameter, a column, an operator or a value that makes no sense here.",
        f"there is no column 'other'; there are {', '.join(examples.columns)}",
    )
    curl = (
        f"-G $/api/tables/{examples.table} --data-urlencode 'filter={examples.filter}' \\\n"
        f"  -d 'sort={examples.number}:desc' -d 'columns={examples.key},{examples.number}' -d limit=3"
    )
    responses = {HTTPStatus.OK: found, HTTPStatus.BAD_REQUEST: refused, HTTPStatus.NOT_FOUND: _missing(examples)}
    return operation("A table's rows", curl, responses)


def _changes(examples: Examples) -> Part:
    row = {ROW: "1", **examples.row}
    events = {
        "snapshot": {"generation": 3, "rows": [row]},
        "change": {"generation": 3, "upserts": [row], "removes": ["2"]},
        "swap": {"generation": 4, "rows": [row]},
    }
    example = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events.items())
    responses = {
        HTTPStatus.OK: answer(_EVENTS, content(TEXT, example, "text/event-stream")),
        HTTPStatus.BAD_REQUEST: error(
            "There are no parameters here.",
            "there is no parameter 'filter': changes come of all rows and all columns",
        ),
        HTTPStatus.NOT_FOUND: _missing(examples),
    }
    return operation("A table's changes", f"-N $/api/tables/{examples.table}/changes", responses)


def _missing(examples: Examples) -> Part:
    names = ", ".join(examples.tables)
    return error("There is no table of this name.", f"there is no table 'other'; there are {names}")
