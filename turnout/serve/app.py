"""The HTTP interface: the page, REST, server-sent changes, Perspective's socket, health and metrics."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from turnout import __version__
from turnout.errors import KafkaError, QueryRefused, TableMissing
from turnout.serve.audience import Audience
from turnout.serve.control_api import control_api
from turnout.serve.docs import DocumentedAPI
from turnout.serve.page import page
from turnout.serve.perspective import PerspectiveTables
from turnout.serve.security.refusal import Refusal
from turnout.serve.security.security import Security
from turnout.serve.status_api import status_api
from turnout.serve.tables_api import tables_api
from turnout.service import Service


def create_app(service: Service) -> FastAPI:
    audience = Audience()
    perspective = PerspectiveTables(service.tables.registry, audience, with_ids=service.tables.names.of_turnout)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        perspective.start()
        yield
        await asyncio.to_thread(perspective.stop)

    security = Security(service.config)
    app = DocumentedAPI(service, security.around, title="Turnout", version=__version__, lifespan=lifespan)
    _answer_errors(app)
    app.include_router(status_api(service, audience))
    app.include_router(tables_api(service.tables.registry, audience))
    app.include_router(control_api(service))
    app.include_router(page(service, asks=security.asks))
    app.include_router(security.pages)

    @app.websocket("/perspective")
    async def perspective_socket(websocket: WebSocket, viewer: str | None = None) -> None:
        await perspective.serve(websocket, viewer)

    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(TableMissing)
    async def missing(_: Request, error: TableMissing) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 404)

    @app.exception_handler(QueryRefused)
    async def refused(_: Request, error: QueryRefused) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(KafkaError)
    async def unreachable(_: Request, error: KafkaError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 503)

    @app.exception_handler(Refusal)
    async def denied(_: Request, refusal: Refusal) -> JSONResponse:
        return JSONResponse({"error": refusal.text}, refusal.status, dict(refusal.headers))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [f"{problem['loc'][-1]}: {problem['msg']}, not {problem['input']!r}" for problem in error.errors()]
        return JSONResponse({"error": "; ".join(problems)}, 400)
