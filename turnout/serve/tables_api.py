"""The tables over HTTP: what there is, snapshots, and changes as server-sent events."""

from collections.abc import Generator, Iterator
from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi import Query as Parameter
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from turnout.config_layers import nearest
from turnout.errors import QueryRefused
from turnout.serve.audience import Audience
from turnout.serve.changes import Changes
from turnout.serve.formats import MEDIA_TYPES, Format, encoded
from turnout.serve.snapshot import Query, select
from turnout.tables.registry import Registry

ONCE = ("format", "limit")
OFTEN = ("sort", "filter", "columns")

Name = Annotated[str, Path(description="The table's name, one of those that `/api/tables` lists.")]
Limit = Annotated[int | None, Parameter(ge=0, description="So many rows at most, after filters and sort.")]
Sort = Annotated[
    list[str] | None,
    Parameter(
        description="Columns to sort by, with commas between them; `column:desc` is downwards. Rows without a value "
        "come last. Without it, the rows that changed last are at the end."
    ),
]
Filter = Annotated[
    list[str] | None,
    Parameter(
        description="`<column><operator><value>`; the operators are `==`, `!=`, `<`, `<=`, `>`, `>=`, and `~` for "
        "texts that contain the value. Several must all be true. A row without a value in the column is left out. "
        "The column need not be among those that are shown."
    ),
]
Shown = Annotated[
    list[str] | None,
    Parameter(description="The columns to show, in this order, with commas between them. Without it, all of them."),
]


def tables_api(registry: Registry, audience: Audience) -> APIRouter:
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

    @router.get("/{name}", dependencies=[Depends(_only_known_parameters)])
    def table(
        name: Name,
        format: Annotated[Format, Parameter(description="How the rows are written.")] = Format.JSON,
        limit: Limit = None,
        sort: Sort = None,
        filter: Filter = None,
        columns: Shown = None,
    ) -> Response:
        """A table's rows at one moment, as JSON, CSV or an Arrow stream."""
        known = registry.table(name).columns
        snapshot = registry.snapshot(name)
        rows = select(snapshot.rows, known, Query(filter or (), sort or (), columns or (), limit))
        return _answer(encoded(snapshot.generation, rows, format), format, snapshot.generation)

    @router.get("/{name}/changes", dependencies=[Depends(_no_parameters)])
    async def changes(name: Name) -> StreamingResponse:
        """A table's rows and then every change to them, as server-sent events."""
        registry.table(name)  # an unknown one is refused here, while an answer with a status can still be given
        stream = Changes(registry, name, audience).stream()
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    return router


def _answer(pieces: Generator[bytes], form: Format, generation: int) -> Response:
    """A small answer at once; of a large one each piece when the one before has been read, from a thread."""
    headers = {"Turnout-Generation": str(generation), "Cache-Control": "no-store"}
    first, second = next(pieces), next(pieces, None)
    if second is None:
        return Response(first, media_type=MEDIA_TYPES[form], headers=headers)
    return _InPieces(chain((first, second), pieces), pieces, media_type=MEDIA_TYPES[form], headers=headers)


class _InPieces(StreamingResponse):
    """Lets go of the rows as soon as the client has read them, or is gone: else Python would do so some time later."""

    def __init__(self, content: Iterator[bytes], source: Generator[bytes], **more: Any) -> None:
        super().__init__(content, **more)
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._source.close()


async def _only_known_parameters(request: Request) -> None:
    for name in request.query_params:
        if name not in (*ONCE, *OFTEN):
            raise QueryRefused(f"there is no parameter {name!r}: {nearest(name, (*ONCE, *OFTEN))}")
        if name in ONCE and len(request.query_params.getlist(name)) > 1:
            raise QueryRefused(f"{name} is given twice")


async def _no_parameters(request: Request) -> None:
    for name in request.query_params:
        raise QueryRefused(f"there is no parameter {name!r}: changes come of all rows and all columns")
