"""How it goes: status, health and metrics."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from turnout.serve.metrics import exposition
from turnout.service import Service


def status_api(service: Service) -> APIRouter:
    router = APIRouter()

    @router.get("/api/status", tags=["status"])
    def status() -> dict[str, object]:
        """The status row, with uptime and the lag of each topic."""
        return {
            **service.tables.status_row(),
            "uptimeSeconds": round(service.uptime_seconds, 3),
            "lag": service.lag(),
        }

    @router.get("/healthz", tags=["health"])
    def healthz() -> dict[str, str]:
        return {"status": "up"}

    @router.get("/readyz", tags=["health"])
    def readyz() -> JSONResponse:
        ready = service.ready
        return JSONResponse({"status": "live" if ready else "starting"}, 200 if ready else 503)

    @router.get("/metrics", tags=["health"])
    def metrics() -> Response:
        content, media_type = exposition(service)
        return Response(content, media_type=media_type)

    return router
