"""Control over HTTP: messages are published to the control topic, which is the only truth, and their outcome told."""

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from turnout.errors import KafkaError, NothingToUndo
from turnout.serve.outcome import outcome_of
from turnout.service import Service

OUTCOME_SECONDS = 30.0  # how long a control message's outcome is waited for before 202 is answered
LARGEST_CONTROL_BYTES = 64 * 1024


def control_api(service: Service) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["control"])

    @router.post("/control")
    async def control(request: Request) -> JSONResponse:
        """Publish a control message and answer with its outcome; 202 with its id if that takes longer."""
        value = await _body(request, LARGEST_CONTROL_BYTES)
        if value is None:
            return JSONResponse({"error": f"a control message has at most {LARGEST_CONTROL_BYTES} bytes"}, 413)
        return await _publish(service, lambda: service.publish_control(value))

    @router.post("/undo")
    async def undo() -> JSONResponse:
        """Go back to what was shown before, by a control message; answers as `/api/control` does. 409: nothing was."""
        return await _publish(service, service.publish_undo)

    return router


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
