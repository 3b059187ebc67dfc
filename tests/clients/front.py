"""What stands before a Turnout in production: built files of a page, and all else handed on to Turnout."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse, Response, StreamingResponse
from starlette.background import BackgroundTask
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.waiting import until

HANDED_ON = ("api", "assets")  # as in examples/angular/proxy.conf.json
PASSED_HEADERS = ("content-type", "cache-control")


def front(files: Path, turnout: str) -> FastAPI:
    client = httpx.AsyncClient(base_url=turnout, timeout=None)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def answer(path: str, request: Request) -> Response:
        if path.partition("/")[0] in HANDED_ON:
            return await _hand_on(client, request)
        file = files / path
        # A path of the page's router is the page.
        return FileResponse(file if file.is_file() else files / "index.html")

    @app.websocket("/perspective")
    async def socket(websocket: WebSocket) -> None:
        await _hand_on_socket(websocket, f"{turnout.replace('http', 'ws', 1)}/perspective")

    return app


async def _hand_on(client: httpx.AsyncClient, request: Request) -> Response:
    url = httpx.URL(path=request.url.path, query=request.url.query.encode())
    asked = client.build_request(request.method, url, content=await request.body())
    try:
        answer = await client.send(asked, stream=True)
    except httpx.TransportError as error:
        return Response(str(error), 502)
    headers = {name: answer.headers[name] for name in PASSED_HEADERS if name in answer.headers}
    return StreamingResponse(_pieces(answer), answer.status_code, headers, background=BackgroundTask(answer.aclose))


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    with contextlib.suppress(httpx.TransportError):  # Turnout ended: so does the answer
        async for piece in answer.aiter_bytes():
            yield piece


async def _hand_on_socket(websocket: WebSocket, url: str) -> None:
    try:
        async with connect(url, max_size=None) as turnout:
            await websocket.accept()

            async def there() -> None:
                while True:
                    await turnout.send(await websocket.receive_bytes())

            async def back() -> None:
                async for message in turnout:
                    await websocket.send_bytes(message if isinstance(message, bytes) else message.encode())

            tasks = [asyncio.create_task(there()), asyncio.create_task(back())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    except (OSError, WebSocketException):
        pass  # Turnout is not there, or no longer: the page's socket is closed too
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await websocket.close()


@contextlib.contextmanager
def running_front(files: Path, turnout: str, port: int) -> Iterator[str]:
    """Its address."""
    config = uvicorn.Config(front(files, turnout), port=port, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the front answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
