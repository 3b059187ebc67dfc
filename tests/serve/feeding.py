"""Puts rows into the public tables, as a pipeline would."""

from collections.abc import Iterable

import polars as pl

from turnout.service import Service
from turnout.tables.delta import ROW, Delta


def users(service: Service, rows: Iterable[tuple[str, int | None]]) -> pl.DataFrame:
    """Rows of the left table, by id and age; the name says the same as the id."""
    schema = service.tables.registry.snapshot("users_ui").rows.schema
    return pl.DataFrame([(id_, f"u{id_}", f"name {id_}", None, age) for id_, age in rows], schema=schema, orient="row")


def change(service: Service, rows: Iterable[tuple[str, int | None]], removes: Iterable[str] = ()) -> None:
    delta = Delta(users(service, rows), pl.Series(ROW, list(removes), dtype=pl.String))
    service.tables.registry.change({"users_ui": delta})


def swap(service: Service, generation: int, rows: Iterable[tuple[str, int | None]]) -> None:
    service.tables.registry.swap(generation, {"users_ui": users(service, rows)})
