"""The OpenAPI document for people: a page without a script, and with nothing from elsewhere."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.types import ASGIApp

from turnout.serve.openapi.document import complete
from turnout.serve.openapi.parts import ADDRESS, JSON, Part
from turnout.service import Service

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


class DocumentedAPI(FastAPI):
    """Its OpenAPI document is complete. FastAPI's own pages of it load scripts from elsewhere: `/docs` is another."""

    def __init__(self, service: Service, around: Callable[[ASGIApp], ASGIApp], **settings: Any) -> None:
        """`around` puts something around all of it, also around what answers when something here breaks."""
        super().__init__(docs_url=None, redoc_url=None, **settings)
        self._service, self._around = service, around
        self.include_router(_docs(self))

    def build_middleware_stack(self) -> ASGIApp:
        return self._around(super().build_middleware_stack())

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            complete(super().openapi(), self._service)
        return super().openapi()


def _docs(app: FastAPI) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    def docs(request: Request) -> HTMLResponse:
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
        return HTMLResponse(page(app.openapi(), str(request.base_url).rstrip("/")), headers=headers)

    return router


def page(document: dict[str, Any], address: str) -> str:
    """The document as a page, with the address in its examples under which it was asked for."""
    info, groups = document["info"], list(_groups(document))
    return f"""\
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{escape(info["title"])}: HTTP interface</title>
    <link rel="icon" href="/web/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/web/docs.css" />
  </head>
  <body>
    <nav aria-label="Endpoints">
      <a class="home" href="/"><img src="/web/icon.svg" alt="" />{escape(info["title"])}</a>
      {"".join(_menu(tag, operations) for tag, operations in groups)}
      <p><a href="/openapi.json">openapi.json</a></p>
    </nav>
    <main>
      <h1>HTTP interface <small>{escape(info["version"])}</small></h1>
      {_prose(info["description"])}
      {"".join(_group(tag, operations, address) for tag, operations in groups)}
    </main>
  </body>
</html>
"""


class _Operation:
    def __init__(self, path: str, method: str, said: Part) -> None:
        self.path, self.method, self.said = path, method.upper(), said

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z]+", "-", f"{self.method}{self.path}".lower()).strip("-")

    @property
    def name(self) -> str:
        shown = escape(self.path).replace("/", "/<wbr>")
        return f'<span class="method {self.method.lower()}">{self.method}</span> <span class="path">{shown}</span>'


def _groups(document: dict[str, Any]) -> Iterator[tuple[Part, list[_Operation]]]:
    operations = [
        _Operation(path, method, said)
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]
    for tag in document["tags"]:
        yield tag, [operation for operation in operations if tag["name"] in operation.said["tags"]]


def _menu(tag: Part, operations: Iterable[_Operation]) -> str:
    links = (f'<li><a href="#{operation.anchor}">{operation.name}</a></li>' for operation in operations)
    return f"<h2>{escape(tag['name'])}</h2><ul>{''.join(links)}</ul>"


def _group(tag: Part, operations: Iterable[_Operation], address: str) -> str:
    sections = "".join(_section(operation, address) for operation in operations)
    return f"<h2>{escape(tag['name'])}</h2>{_prose(tag['description'])}{sections}"


def _section(operation: _Operation, address: str) -> str:
    said = operation.said
    samples = (sample["source"].replace(ADDRESS, address) for sample in said["x-codeSamples"])
    return f"""
      <section id="{operation.anchor}" aria-labelledby="{operation.anchor}-name">
        <h3 id="{operation.anchor}-name"><a href="#{operation.anchor}">{operation.name}</a></h3>
        <p class="summary">{escape(said["summary"])}</p>
        {_prose(said.get("description", ""))}
        {"".join(_code(sample, "curl") for sample in samples)}
        {_parameters(said.get("parameters", []))}
        {_body(said.get("requestBody"))}
        <h4>Answers</h4>
        {"".join(_response(status, response) for status, response in said["responses"].items())}
      </section>"""


def _parameters(parameters: list[Part]) -> str:
    if not parameters:
        return ""
    return f"<h4>Parameters</h4><table>{''.join(map(_parameter, parameters))}</table>"


def _parameter(parameter: Part) -> str:
    return f"""
      <tr>
        <th scope="row"><code>{escape(parameter["name"])}</code>{_kind(parameter)}</th>
        <td>{_prose(parameter["description"])}<p>Example: <code>{escape(_flat(parameter["example"]))}</code></p></td>
      </tr>"""


def _kind(parameter: Part) -> str:
    schema = parameter["schema"]
    words = [parameter["in"], "repeatable" if schema["type"] == "array" else schema["type"]]
    return f"<small>{', '.join(words)}</small>"


def _flat(example: object) -> str:
    return "".join(example) if isinstance(example, list) else str(example)


def _body(body: Part | None) -> str:
    return f"<h4>Body</h4>{_prose(body['description'])}{_content(body['content'])}" if body else ""


def _response(status: str, response: Part) -> str:
    success = status.startswith("2")
    headers = "".join(
        f"<p><code>{escape(name)}: {header['example']}</code> {_inline(header['description'])}</p>"
        for name, header in response.get("headers", {}).items()
    )
    return (
        f"<details{' open' if success else ''}><summary><span class='status {'good' if success else 'bad'}'>{status}"
        f"</span> {escape(HTTPStatus(int(status)).phrase)}</summary>"
        f"{_prose(response['description'])}{headers}{_content(response['content'])}</details>"
    )


def _content(content: Part) -> str:
    return "".join(_example(media_type, body.get("example")) for media_type, body in content.items())


def _example(media_type: str, example: object) -> str:
    if example is None:
        return f"<p><small>{escape(media_type)}</small></p>"
    text = json.dumps(example, indent=2, ensure_ascii=False) if media_type == JSON else str(example)
    return _code(text, media_type)


def _code(text: str, label: str) -> str:
    code = escape(text.strip())
    return f"<figure><figcaption>{escape(label)}</figcaption><pre><code>{code}</code></pre></figure>"


def _prose(text: str) -> str:
    paragraphs = text.strip().split("\n\n") if text else []
    return "".join(f"<p>{_inline(paragraph)}</p>" for paragraph in paragraphs)


def _inline(text: str) -> str:
    """Text in which `this` is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
