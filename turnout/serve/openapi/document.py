"""Makes the OpenAPI document complete and true: FastAPI knows the routes and the parameters, and no more than that."""

from typing import Any

from turnout.serve.openapi.control import control
from turnout.serve.openapi.control import parameters as control_parameters
from turnout.serve.openapi.examples import Examples
from turnout.serve.openapi.parts import ADDRESS, TEXT, VALUE, Part, fields, map_of
from turnout.serve.openapi.status import shown, status
from turnout.serve.openapi.tables import parameters as table_parameters
from turnout.serve.openapi.tables import tables
from turnout.service import Service

ABOUT = """\
Live joins of Kafka topics: tables whose names stay, whatever is shown under them.

An answer that is no success is a JSON object with the field `error`: what is wrong, and what would be right. Integers \
have 64 bits and are exact; JavaScript's own parser rounds those beyond 2^53. Times are ISO 8601 in UTC.

Where the server asks for a login, each request has the header `Authorization: Bearer <token>`. Without a good one the \
answer is 401, with one that may not do this 403; too many requests are answered by 429 or 503, each with `error`.

Two more addresses are websockets, which OpenAPI has no words for: `/perspective` speaks Perspective's protocol, for \
reading only; `/api/pulse` sends what `/api/status` says, each second and whenever it changes."""

TAGS = [
    {"name": "tables", "description": "Rows: those there are now, and every change to them."},
    {"name": "control", "description": "What the tables show: which topics, joined how."},
    {"name": "status", "description": "How it goes."},
    {"name": "health", "description": "For whoever looks after the process."},
]


def complete(document: dict[str, Any], service: Service) -> None:
    """Add to what FastAPI has found out."""
    examples = Examples(service)
    described = {**tables(examples), **control(examples), **status(examples)}
    parameters = {**table_parameters(examples), **control_parameters()}
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            for parameter in found.get("parameters", ()):
                parameter.update(parameters.get(parameter["name"], {}))
            # In place of FastAPI's own responses: those of a parameter it refuses are answered otherwise here.
            found.update(described.get(path, {}).get(method, {}))
    document["info"]["description"] = ABOUT
    document["servers"] = [{"url": "/", "description": f"this server, by default {ADDRESS}"}]
    document["tags"] = TAGS
    document["components"] = {"schemas": _schemas(examples)}


def _schemas(examples: Examples) -> dict[str, Part]:
    return {
        "Error": fields({"error": TEXT}),
        "Row": {**map_of(VALUE), "description": "column -> value; `/api/tables` tells each table's columns"},
        "Outcome": fields({"id": TEXT, "outcome": TEXT}),
        "Shown": fields(shown(examples)),
    }
