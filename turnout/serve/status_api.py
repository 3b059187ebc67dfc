"""How it goes: status, health and metrics."""

from fastapi import APIRouter, WebSocket
from fastapi.responses import JSONResponse, Response

from turnout.serve.about import about
from turnout.serve.audience import Audience
from turnout.serve.metrics import exposition
from turnout.serve.pulse import Pulse
from turnout.serve.vitals import Vitals, VitalSigns
from turnout.service import Service


def status_api(service: Service, audience: Audience) -> APIRouter:
    router = APIRouter()
    vitals = VitalSigns(service)
    page = str(about(service)["fingerprint"])
    pulse = Pulse(vitals, service.tables.registry, service.tables.names.status, page, audience)

    @router.get("/api/status", tags=["status"])
    def status() -> Vitals:
        """The status row, with uptime, the lag of each topic, rates and freshness."""
        return vitals.read(vitals.lag())

    @router.websocket("/api/pulse")
    async def follow_pulse(websocket: WebSocket) -> None:
        await pulse.follow(websocket)

    @router.get("/healthz", tags=["health"])
    def healthz() -> dict[str, str]:
        return {"status": "up"}

    @router.get("/readyz", tags=["health"])
    def readyz() -> JSONResponse:
        if not service.ready:
            return JSONResponse({"status": "starting"}, 503)
        if reasons := service.stale():
            return JSONResponse({"status": "stale", "reasons": list(reasons)}, 503)
        return JSONResponse({"status": "live"})

    @router.get("/metrics", tags=["health"])
    def metrics() -> Response:
        content, media_type = exposition(service, audience)
        return Response(content, media_type=media_type)

    return router
