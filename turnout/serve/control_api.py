"""Control over HTTP: messages are published to the control topic, which is the only truth, and their outcome told."""

import asyncio
from collections.abc import Callable

import polars as pl
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from turnout.control.message import ControlFields
from turnout.errors import ControlRejected, NotAllowed, NothingToUndo
from turnout.kafka.activity import Activity
from turnout.orchestrator.desired import Desired
from turnout.serve.outcome import outcome_of
from turnout.serve.security import audit
from turnout.service import Service
from turnout.tables.delta import ROW
from turnout.tables.system import iso

OUTCOME_SECONDS = 30.0  # how long a control message's outcome is waited for before 202 is answered
LARGEST_CONTROL_BYTES = 64 * 1024


def control_api(service: Service) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["control"])

    @router.post("/control")
    async def control(request: Request) -> JSONResponse:
        """Publish a control message and answer with its outcome; 202 with its id if that takes longer. 403: the login
        to Kafka may not publish."""
        value = await _body(request, LARGEST_CONTROL_BYTES)
        if value is None:
            return _too_large()
        asked = audit.accepted(request.scope, value)
        return await _publish(service, lambda: service.publish_control(value, asked))

    @router.get("/control/{id}")
    def outcome(id: str) -> JSONResponse:
        """What has become of a control message, by the id that it was given; null: that is not known yet."""
        rows = service.tables.registry.snapshot(service.tables.names.control).rows.filter(pl.col(ROW) == id)
        if rows.is_empty():
            return JSONResponse({"error": f"no control message {id!r} has been read: an id is partition:offset"}, 404)
        return JSONResponse({"id": id, "outcome": rows.item(0, "outcome")})

    @router.post("/preview")
    async def preview(request: Request) -> JSONResponse:
        """What a control message would come to if it were sent now; nothing is published."""
        value = await _body(request, LARGEST_CONTROL_BYTES)
        if value is None:
            return _too_large()
        try:
            found = await asyncio.to_thread(service.preview, value)
        except ControlRejected as rejected:
            return JSONResponse({"error": str(rejected)}, 422)
        return JSONResponse(
            {
                "from": _fields(found.current, service.tables.fields),
                "to": _fields(found.desired, service.tables.fields),
                "work": found.work,
                "text": found.text,
                "ignored": found.ignored,
            }
        )

    @router.get("/topics")
    def topics() -> dict[str, object]:
        """The topics that can be switched to, with how busy they are; null: unknown."""
        return {"topics": [_topic(topic) for topic in service.topics()]}

    @router.post("/undo")
    async def undo(request: Request) -> JSONResponse:
        """Go back to what was shown before, by a control message; answers as `/api/control` does. 409: nothing was."""
        asked = audit.accepted(request.scope)
        return await _publish(service, lambda: service.publish_undo(asked))

    return router


async def _publish(service: Service, publish: Callable[[], str]) -> JSONResponse:
    """Publish a control message, which gives its id, and answer with what becomes of it."""
    try:
        id_ = await asyncio.to_thread(publish)
    except NothingToUndo as error:
        return JSONResponse({"error": str(error)}, 409)
    except NotAllowed as error:
        return JSONResponse({"error": str(error)}, 403)
    outcome = await outcome_of(service.tables.registry, service.tables.names.control, id_, OUTCOME_SECONDS)
    if outcome is None:
        return JSONResponse({"id": id_}, 202)
    return JSONResponse({"id": id_, "outcome": outcome}, 422 if outcome.startswith("rejected") else 200)


def _fields(desired: Desired, fields: ControlFields) -> dict[str, str]:
    return {fields.left: desired.topics.left, fields.right: desired.topics.right, fields.join: desired.join}


def _topic(topic: Activity) -> dict[str, object]:
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "messages": topic.messages,
        "messagesPerSecond": topic.per_second,
        "newestAt": None if topic.newest_ms is None else iso(topic.newest_ms),
    }


def _too_large() -> JSONResponse:
    return JSONResponse({"error": f"a control message has at most {LARGEST_CONTROL_BYTES} bytes"}, 413)


async def _body(request: Request, most: int) -> bytes | None:
    """The request's body; None if it has more than `most` bytes, without reading on."""
    value = b""
    async for part in request.stream():
        value += part
        if len(value) > most:
            return None
    return value
