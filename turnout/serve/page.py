"""The page: its own files, and Perspective's from the wheel. Nothing comes from elsewhere."""

from importlib import resources
from pathlib import Path

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

from turnout.serve.about import about
from turnout.serve.security.principal import principal_of
from turnout.service import Service

WEB = Path(__file__).parent / "web"

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


def page(service: Service, *, asks: bool) -> APIRouter:
    """`asks`: whether people have to log in."""
    router = APIRouter(include_in_schema=False)
    own = StaticFiles(directory=WEB)
    wheel = StaticFiles(directory=str(resources.files("perspective") / "widget" / "static"))

    async def answer(files: StaticFiles, file: str, request: Request) -> Response:
        response = await files.get_response(file, request.scope)
        # A browser keeps a file but asks each time whether it is the newest: client and server must match exactly.
        response.headers["Cache-Control"] = "no-cache"
        return response

    @router.get("/")
    async def index(request: Request) -> Response:
        response = await answer(own, "index.html", request)
        response.headers["Content-Security-Policy"] = PAGE_POLICY
        return response

    @router.get("/web/{file}")
    async def web(file: str, request: Request) -> Response:
        return await answer(own, file, request)

    @router.get("/assets/{file}")
    async def asset(file: str, request: Request) -> Response:
        return await answer(wheel, file, request)

    @router.get("/page.json")
    def page_json(request: Request) -> Response:
        who = principal_of(request.scope)
        user = {"name": who.name, "role": who.role, "maySwitch": who.may_switch, "loggedIn": asks}
        content = orjson.dumps({**about(service), "user": user})
        return Response(content, media_type="application/json", headers={"Cache-Control": "no-store"})

    return router
