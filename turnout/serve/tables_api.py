"""The tables over HTTP: what there is, snapshots, and changes as server-sent events."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from turnout.serve.changes import Changes
from turnout.serve.snapshot import MEDIA_TYPES, Format, encode, select
from turnout.tables.registry import Registry


def tables_api(registry: Registry) -> APIRouter:
    router = APIRouter(prefix="/api/tables", tags=["tables"])

    @router.get("")
    def tables() -> dict[str, object]:
        """All tables with their columns and row counts."""
        return {
            "tables": [
                {"name": name, "columns": table.columns, "rows": registry.snapshot(name).rows.height}
                for name, table in registry.tables.items()
            ]
        }

    @router.get("/{name}")
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

    @router.get("/{name}/changes")
    async def changes(name: str) -> StreamingResponse:
        """Server-sent events: `snapshot`, then `change` and `swap`."""
        registry.table(name)  # an unknown one is refused here, while an answer with a status can still be given
        stream = Changes(registry, name).stream()
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    return router
