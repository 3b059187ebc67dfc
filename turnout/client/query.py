"""Which part of a table is asked for: the server picks it out."""

from collections.abc import Sequence
from typing import TypedDict
from urllib.parse import urlencode


class Query(TypedDict, total=False):
    columns: str | Sequence[str]
    """Only these, in this order."""
    filter: str | Sequence[str]
    """Such as `balance>100`: a column, one of `== != < <= > >= ~` (contains), a value. Several: all must hold."""
    sort: str | Sequence[str]
    """Such as `balance:desc`. Several: by the first, then by the next."""
    limit: int
    """The first so many rows of what is left."""


def query_text(form: str, query: Query) -> str:
    """What stands behind the table's address."""
    given = [("format", form)]
    given += [("columns", name) for name in _listed(query.get("columns", ()))]
    given += [("filter", condition) for condition in _listed(query.get("filter", ()))]
    given += [("sort", key) for key in _listed(query.get("sort", ()))]
    if "limit" in query:
        given.append(("limit", str(query["limit"])))
    return "?" + urlencode(given)


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts
