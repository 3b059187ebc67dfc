"""The parts that an OpenAPI document is put together from, as plain dictionaries."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

Part = dict[str, Any]
Operations = dict[str, dict[str, Part]]
"""By path and method."""

JSON = "application/json"
ADDRESS = "http://127.0.0.1:8400"
"""Of the server, in the examples: where it is unless somebody says otherwise."""

TEXT: Part = {"type": "string"}
LONG: Part = {"type": "integer", "format": "int64"}
NUMBER: Part = {"type": "number"}
VALUE: Part = {"type": ["string", "integer", "number", "boolean", "null"]}


def one_of(values: Sequence[str]) -> Part:
    return {"type": "string", "enum": [str(value) for value in values]}


def or_null(schema: Part) -> Part:
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(items: Part) -> Part:
    return {"type": "array", "items": items}


def map_of(values: Part) -> Part:
    return {"type": "object", "additionalProperties": values}


def fields(properties: Mapping[str, Part], optional: Sequence[str] = ()) -> Part:
    """An object with these and no other."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def named(name: str) -> Part:
    """One of the document's schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def content(schema: Part, example: object, media_type: str = JSON) -> Part:
    return {media_type: {"schema": schema, "example": example}}


def answer(description: str, content: Part) -> Part:
    return {"description": description, "content": content}


def error(description: str, example: str) -> Part:
    return answer(description, content(named("Error"), {"error": example}))


def operation(summary: str, curl: str, responses: Mapping[HTTPStatus, Part], **more: Any) -> Part:
    """`curl` is a command without its name; in it `$` stands for the server's address."""
    command = f"curl {curl}".replace("$", ADDRESS)
    return {
        "summary": summary,
        "x-codeSamples": [{"lang": "Shell", "label": "curl", "source": command}],
        "responses": {str(int(status)): response for status, response in responses.items()},
        **more,
    }
