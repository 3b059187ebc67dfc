"""The HTTP interface: the page, REST, server-sent changes, Perspective's socket, health and metrics."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated

import orjson
from fastapi import FastAPI, Query, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles

from turnout import __version__
from turnout.errors import KafkaError, NothingToUndo, QueryRefused, TableMissing
from turnout.serve.changes import Changes
from turnout.serve.metrics import exposition
from turnout.serve.outcome import outcome_of
from turnout.serve.perspective import PerspectiveTables
from turnout.serve.snapshot import MEDIA_TYPES, Format, encode, select
from turnout.service import Service

WEB = Path(__file__).parent / "web"
OUTCOME_SECONDS = 30.0  # how long a control message's outcome is waited for before 202 is answered
LARGEST_CONTROL_BYTES = 64 * 1024

# The browser itself sees to it that the page loads nothing from elsewhere. Perspective compiles WebAssembly, draws its
# charts in workers it makes from blobs, and sets styles of its own.
PAGE_POLICY = (
    "default-src 'self'; "
    "script-src 'self' 'wasm-unsafe-eval' blob:; "
    "worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; "
    "font-src 'self' data:; "
    "connect-src 'self' data: blob:; "
    "base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'self'"
)


def create_app(service: Service) -> FastAPI:
    registry = service.tables.registry
    perspective = PerspectiveTables(registry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        perspective.start()
        yield
        await asyncio.to_thread(perspective.stop)

    # Its pages of documentation would load scripts from elsewhere; /openapi.json is there for any tool.
    app = FastAPI(title="Turnout", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)

    @app.exception_handler(TableMissing)
    async def missing(_: Request, error: TableMissing) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 404)

    @app.exception_handler(QueryRefused)
    async def refused(_: Request, error: QueryRefused) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [f"{problem['loc'][-1]}: {problem['msg']}, not {problem['input']!r}" for problem in error.errors()]
        return JSONResponse({"error": "; ".join(problems)}, 400)

    @app.get("/api/status", tags=["status"])
    def status() -> dict[str, object]:
        """The status row, with uptime and the lag of each topic."""
        return {
            **service.tables.status_row(),
            "uptimeSeconds": round(service.uptime_seconds, 3),
            "lag": service.lag(),
        }

    @app.get("/api/tables", tags=["tables"])
    def tables() -> dict[str, object]:
        """All tables with their columns and row counts."""
        return {
            "tables": [
                {"name": name, "columns": table.columns, "rows": registry.snapshot(name).rows.height}
                for name, table in registry.tables.items()
            ]
        }

    @app.get("/api/tables/{name}", tags=["tables"])
    def table(
        name: str,
        format: Format = Format.JSON,
        limit: Annotated[int | None, Query(ge=0)] = None,
        sort: str | None = None,
        filter: Annotated[list[str] | None, Query()] = None,
    ) -> Response:
        """A consistent snapshot. `sort=balance:desc,userId`; `filter=balance>100`, given as often as needed."""
        snapshot = registry.snapshot(name)
        rows = select(snapshot.rows, registry.table(name).columns, filter or [], sort, limit)
        return Response(encode(snapshot, rows, format), media_type=MEDIA_TYPES[format])

    @app.get("/api/tables/{name}/changes", tags=["tables"])
    async def changes(name: str) -> StreamingResponse:
        """Server-sent events: `snapshot`, then `change` and `swap`."""
        registry.table(name)  # an unknown one is refused here, while an answer with a status can still be given
        stream = Changes(registry, name).stream()
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @app.post("/api/control", tags=["control"])
    async def control(request: Request) -> JSONResponse:
        """Publish a control message and answer with its outcome; 202 with its id if that takes longer."""
        value = await _body(request, LARGEST_CONTROL_BYTES)
        if value is None:
            return JSONResponse({"error": f"a control message has at most {LARGEST_CONTROL_BYTES} bytes"}, 413)
        return await _publish(service, lambda: service.publish_control(value))

    @app.post("/api/undo", tags=["control"])
    async def undo() -> JSONResponse:
        """Go back to what was shown before, by a control message; answers as `/api/control` does. 409: nothing was."""
        return await _publish(service, service.publish_undo)

    @app.get("/healthz", tags=["health"])
    def healthz() -> dict[str, str]:
        return {"status": "up"}

    @app.get("/readyz", tags=["health"])
    def readyz() -> JSONResponse:
        ready = service.ready
        return JSONResponse({"status": "live" if ready else "starting"}, 200 if ready else 503)

    @app.get("/metrics", tags=["health"])
    def metrics() -> Response:
        content, media_type = exposition(service)
        return Response(content, media_type=media_type)

    @app.websocket("/perspective")
    async def perspective_socket(websocket: WebSocket) -> None:
        await perspective.session(websocket).run()

    add_page(app, service)
    return app


async def _publish(service: Service, publish: Callable[[], str]) -> JSONResponse:
    """Publish a control message, which gives its id, and answer with what becomes of it."""
    try:
        id_ = await asyncio.to_thread(publish)
    except NothingToUndo as error:
        return JSONResponse({"error": str(error)}, 409)
    except KafkaError as error:
        return JSONResponse({"error": str(error)}, 503)
    outcome = await outcome_of(service.tables.registry, service.tables.names.control, id_, OUTCOME_SECONDS)
    if outcome is None:
        return JSONResponse({"id": id_}, 202)
    return JSONResponse({"id": id_, "outcome": outcome}, 422 if outcome.startswith("rejected") else 200)


async def _body(request: Request, most: int) -> bytes | None:
    """The request's body; None if it has more than `most` bytes, without reading on."""
    value = b""
    async for part in request.stream():
        value += part
        if len(value) > most:
            return None
    return value


def add_page(app: FastAPI, service: Service) -> None:
    """The page: its own files, and Perspective's from the wheel. Nothing comes from elsewhere."""
    names, fields = service.tables.names, service.tables.fields
    own = StaticFiles(directory=WEB)
    wheel = StaticFiles(directory=str(resources.files("perspective") / "widget" / "static"))

    async def answer(files: StaticFiles, file: str, request: Request) -> Response:
        response = await files.get_response(file, request.scope)
        # A browser keeps a file but asks each time whether it is the newest: client and server must match exactly.
        response.headers["Cache-Control"] = "no-cache"
        return response

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        response = await answer(own, "index.html", request)
        response.headers["Content-Security-Policy"] = PAGE_POLICY
        return response

    @app.get("/web/{file}", include_in_schema=False)
    async def web(file: str, request: Request) -> Response:
        return await answer(own, file, request)

    @app.get("/assets/{file}", include_in_schema=False)
    async def asset(file: str, request: Request) -> Response:
        return await answer(wheel, file, request)

    @app.get("/page.json", include_in_schema=False)
    def about() -> Response:
        """What the page has to know about this configuration."""
        tables = {key: getattr(names, key) for key in names.__dataclass_fields__}
        columns = {key: list(service.tables.registry.tables[name].columns) for key, name in tables.items()}
        about = {
            "tables": tables,
            "columns": columns,
            "fields": {"left": fields.left, "right": fields.right, "join": fields.join},
        }
        return Response(orjson.dumps(about), media_type="application/json", headers={"Cache-Control": "no-store"})
