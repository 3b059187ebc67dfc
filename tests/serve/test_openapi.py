"""The OpenAPI document against the server that it describes: what is said there is what comes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openapi_spec_validator
import pytest
from openapi_schema_validator import OAS31Validator

from tests.serve.publishing import Published
from turnout import __version__
from turnout.config import load
from turnout.errors import NothingToUndo
from turnout.serve.app import create_app
from turnout.serve.control_api import LARGEST_CONTROL_BYTES
from turnout.service import Service

Document = dict[str, Any]


@pytest.fixture
def document(http: httpx.Client) -> Document:
    return dict(http.get("/openapi.json").json())


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def check(document: Document, schema: Document, value: object) -> None:
    OAS31Validator({**schema, "components": document["components"]}).validate(value)


def test_the_document_is_what_openapi_asks_for(document: Document) -> None:
    openapi_spec_validator.validate(document)
    assert document["info"]["version"] == __version__


def test_every_endpoint_is_described(document: Document) -> None:
    for path, method, operation in operations(document):
        assert operation["x-codeSamples"], (method, path)
        assert operation["summary"], (method, path)
        assert operation["tags"][0] in [tag["name"] for tag in document["tags"]]
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (path, parameter["name"])
            assert "example" in parameter, (path, parameter["name"])
            check(document, parameter["schema"], parameter["example"])


def test_every_example_is_what_its_schema_says(document: Document) -> None:
    for path, method, operation in operations(document):
        bodies = [*operation["responses"].values(), *([operation["requestBody"]] if "requestBody" in operation else [])]
        for body in bodies:
            assert body["description"], (method, path)
            for media_type, content in body["content"].items():
                if "arrow" not in media_type:
                    check(document, content["schema"], content["example"])


def test_no_word_of_fastapis_own_refusals_is_left(document: Document) -> None:
    assert "HTTPValidationError" not in json.dumps(document)


def test_the_names_of_tables_are_those_of_the_configuration(document: Document) -> None:
    name, *_ = document["paths"]["/api/tables/{name}"]["get"]["parameters"]
    assert name["schema"]["enum"][:3] == ["users_ui", "accounts_ui", "final_ui"]


def test_examples_are_of_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "turnout.yaml"
    path.write_text("""
tables:
  orders: {topic: shop.orders, columns: {sku: string, note: string}}
  stock: {topic: shop.stock, columns: {sku: string, shelf: string}}
join: {left: orders, right: stock, on: sku}
""")
    said = json.dumps(create_app(Service(load(path, env={}))).openapi())
    assert "ordersTopic" in said
    assert "shop.stock" in said
    assert "users" not in said
    assert "accounts" not in said


def answer(http: httpx.Client, document: Document, method: str, path: str, **request: Any) -> int:
    """Ask, and hold the answer against the document."""
    said = http.request(method, path, **request)
    pattern = {re.sub(r"\{\w+}", "[^/]+", known): known for known in document["paths"]}
    known = next(known for form, known in pattern.items() if re.fullmatch(form, path.split("?", maxsplit=1)[0]))
    response = document["paths"][known][method.lower()]["responses"][str(said.status_code)]
    content = response["content"][said.headers["content-type"]]
    if said.headers["content-type"] == "application/json":
        check(document, content["schema"], said.json())
    assert all(header.lower() in said.headers for header in response.get("headers", ()))
    return said.status_code


@pytest.mark.usefixtures("live")
def test_what_succeeds_answers_as_the_document_says(http: httpx.Client, document: Document) -> None:
    assert {answer(http, document, "GET", path) for path in PATHS} == {200}
    body = {"joinType": "inner"}
    assert [answer(http, document, "POST", path, json=body) for path in ("/api/control", "/api/preview")] == [200, 200]
    assert answer(http, document, "GET", "/api/control/0:0") == 200


PATHS = [
    "/api/tables",
    "/api/tables/users_ui",
    "/api/tables/users_ui?format=csv",
    "/api/tables/users_ui?format=arrow",
    "/api/tables/final_ui",
    "/api/topics",
    "/api/status",
    "/healthz",
    "/readyz",
    "/metrics",
]


def test_what_fails_answers_as_the_document_says(
    http: httpx.Client, document: Document, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large = b"x" * (LARGEST_CONTROL_BYTES + 1)
    for path in ("/api/control", "/api/preview"):
        assert answer(http, document, "POST", path, content=b"{}") == 503
        assert answer(http, document, "POST", path, content=too_large) == 413
    assert answer(http, document, "POST", "/api/undo") in (409, 503)
    assert answer(http, document, "GET", "/api/topics") == 503
    assert answer(http, document, "GET", "/readyz") == 503
    with monkeypatch.context() as stale:
        stale.setattr(Service, "ready", True)
        stale.setattr(service, "stale", lambda: ["messages wait"])
        assert answer(http, document, "GET", "/readyz") == 503
    assert answer(http, document, "GET", "/api/control/0:9") == 404
    for path in ("/api/tables/{}", "/api/tables/{}/changes"):
        assert answer(http, document, "GET", path.format("other")) == 404
        assert answer(http, document, "GET", path.format("users_ui") + "?where=1") == 400

    def nothing(*_: object) -> str:
        raise NothingToUndo("nothing")

    monkeypatch.setattr(service, "publish_undo", nothing)
    assert answer(http, document, "POST", "/api/undo") == 409


@pytest.mark.usefixtures("live")
def test_what_is_rejected_or_takes_long_answers_as_the_document_says(
    http: httpx.Client, document: Document, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(http, document, "POST", "/api/preview", content=b"no") == 422
    for path in ("/api/control", "/api/undo"):
        for outcome, status in (("rejected: why", 422), (None, 202)):
            monkeypatch.setattr("turnout.serve.control_api.OUTCOME_SECONDS", 0.05)
            published = Published(service, outcome)
            monkeypatch.setattr(service, "publish_control", published)
            monkeypatch.setattr(service, "publish_undo", lambda _, published=published: published(b"{}"))
            assert answer(http, document, "POST", path, content=b"{}") == status


def test_events_are_of_the_kinds_that_the_document_names(http: httpx.Client, document: Document) -> None:
    content = document["paths"]["/api/tables/{name}/changes"]["get"]["responses"]["200"]["content"]
    with http.stream("GET", "/api/tables/users_ui/changes") as said:
        assert said.headers["content-type"].split(";")[0] in content
        assert next(said.iter_lines()) == content["text/event-stream"]["example"].splitlines()[0]
