"""What the document says about status, health and metrics."""

from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST

from turnout.orchestrator.states import State
from turnout.schema import JoinType
from turnout.serve.openapi.examples import TIME, Examples
from turnout.serve.openapi.parts import (
    LONG,
    NUMBER,
    TEXT,
    Operations,
    Part,
    answer,
    content,
    fields,
    list_of,
    map_of,
    one_of,
    operation,
    or_null,
)


def status(examples: Examples) -> Operations:
    return {
        "/api/status": {"get": _status(examples)},
        "/healthz": {"get": _healthz()},
        "/readyz": {"get": _readyz()},
        "/metrics": {"get": _metrics()},
    }


def shown(examples: Examples) -> dict[str, Part]:
    """The fields that say what is shown."""
    return {name: TEXT if name != examples.fields.join else one_of(list(JoinType)) for name in examples.shown}


def _status(examples: Examples) -> Part:
    schema = {
        **shown(examples),
        "lastApplied": or_null(TEXT),
        "state": one_of(list(State)),
        "generation": LONG,
        "message": TEXT,
        "uptimeSeconds": NUMBER,
        "lag": {**map_of(or_null(LONG)), "description": "topic -> messages not in the tables yet; null: unknown"},
        "rowsPerSecond": {**NUMBER, "description": f"rows of {examples.table} that change"},
        "newestRowAt": or_null(TEXT),
        "latencyMs": or_null(NUMBER),
        "rejected": {**LONG, "description": "records that could not be used, as many as are kept"},
        "now": TEXT,
    }
    example = {
        **examples.shown,
        "lastApplied": TIME,
        "state": str(State.LIVE),
        "generation": 3,
        "message": "live",
        "uptimeSeconds": 81.5,
        "lag": {topic: 0 for name, topic in examples.shown.items() if name != examples.fields.join},
        "rowsPerSecond": 50.0,
        "newestRowAt": TIME,
        "latencyMs": 8,
        "rejected": 0,
        "now": TIME,
    }
    found = answer("What is shown, since when, and how fresh it is.", content(fields(schema), example))
    return operation("How it goes", "$/api/status", {HTTPStatus.OK: found})


def _healthz() -> Part:
    return operation("Is the process up?", "$/healthz", {HTTPStatus.OK: _says("It is.", "up")})


def _readyz() -> Part:
    schema = {"status": one_of(["starting", "stale"]), "reasons": list_of(TEXT)}
    stale = content(fields(schema, optional=["reasons"]), {"status": "starting"})
    why = "Not yet; or messages have waited for longer than `serve.stale_seconds`, and the reasons say which."
    responses = {HTTPStatus.OK: _says("It is.", "live"), HTTPStatus.SERVICE_UNAVAILABLE: answer(why, stale)}
    return operation("Is a generation live, and is it up to date?", "$/readyz", responses)


def _says(description: str, word: str) -> Part:
    return answer(description, content(fields({"status": one_of([word])}), {"status": word}))


def _metrics() -> Part:
    text = content(TEXT, "turnout_generation 3.0\n", CONTENT_TYPE_LATEST)
    return operation("Metrics for Prometheus", "$/metrics", {HTTPStatus.OK: answer("All metrics.", text)})
