"""Every route that there is, with every kind of token: one that is new cannot be forgotten here."""

import re
from collections.abc import Iterable, Iterator

import httpx
import pytest
from starlette.routing import BaseRoute, Route, WebSocketRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.serve.security.guarded import EXPIRED, OPERATOR, VIEWER, WRONG, Guarded, bearer
from turnout.config import load
from turnout.serve.app import create_app
from turnout.service import Service

OPEN = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("GET", "/web/colours.css"),
    ("GET", "/web/login.css"),
    ("GET", "/web/icon.svg"),
}
SWITCHES = {("POST", "/api/control"), ("POST", "/api/undo")}
REFUSED = {"none": (None, 401), "wrong": (WRONG, 401), "expired": (EXPIRED, 401)}
# What stands for the names in paths. Files of the page that the login page needs too are open.
FILLED = {"{name}": "users_ui", "{id}": "0:0", "/web/{file}": "/web/main.js", "{file}": "perspective-anywidget.css"}
SOCKETS = ["/perspective", "/api/pulse"]


def routes(turnout: Guarded) -> list[Route | WebSocketRoute]:
    """Of an app like the one that is served."""
    return list(_flat(create_app(turnout.service).routes))


def _flat(found: Iterable[BaseRoute]) -> Iterator[Route | WebSocketRoute]:
    for route in found:
        if isinstance(route, Route | WebSocketRoute):
            yield route
        else:  # FastAPI keeps a router that is included as it is
            assert route.include_context.prefix == ""  # type: ignore[attr-defined]
            yield from _flat(route.original_router.routes)  # type: ignore[attr-defined]


def requests(turnout: Guarded) -> Iterator[tuple[str, str]]:
    for route in routes(turnout):
        if isinstance(route, WebSocketRoute):
            continue
        path = route.path
        for name, value in FILLED.items():
            path = path.replace(name, value)
        assert "{" not in path, f"say in FILLED what stands for the name in {path}"
        for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
            yield method, path


def status(http: httpx.Client, method: str, path: str) -> int:
    with http.stream(method, path, content=b"{}" if method == "POST" else None) as answer:  # events have no end
        return answer.status_code


def test_the_routes_are_found(turnout: Guarded) -> None:
    found = set(requests(turnout))
    assert SWITCHES | {("GET", "/"), ("GET", "/metrics"), ("GET", "/openapi.json"), ("GET", "/docs")} <= found
    assert {route.path for route in routes(turnout) if isinstance(route, WebSocketRoute)} == set(SOCKETS)
    assert len(found) > 20


@pytest.mark.parametrize("kind", REFUSED)
def test_without_a_good_token_there_is_nothing_but_probes_and_the_login(turnout: Guarded, kind: str) -> None:
    token, expected = REFUSED[kind]
    with turnout.client(token) as http:
        for method, path in {*requests(turnout), *OPEN}:
            if (method, path) in OPEN:
                assert status(http, method, path) != 403, (method, path)
                assert path == "/login" or status(http, method, path) != 401, (method, path)
                continue
            answer = http.request(method, path)
            assert answer.status_code == expected, (method, path)
            assert list(answer.json()) == ["error"]
            assert answer.headers["www-authenticate"].startswith('Bearer realm="Turnout"')
            assert ("invalid_token" in answer.headers["www-authenticate"]) == (token is not None)
            assert token is None or token not in answer.text
    assert turnout.published.values == []


def test_a_viewer_may_read_everything_and_switch_nothing(turnout: Guarded) -> None:
    with turnout.client(VIEWER) as http:
        for method, path in set(requests(turnout)) - OPEN:
            if (method, path) in SWITCHES:
                answer = http.request(method, path, content=b"{}")
                assert answer.status_code == 403
                assert answer.json() == {
                    "error": "wall-screen is a viewer: only an operator may switch; ask whoever runs this server"
                }
            else:
                assert status(http, method, path) not in (401, 403), (method, path)
    assert turnout.published.values == []


def test_an_operator_may_do_everything(turnout: Guarded) -> None:
    with turnout.client(OPERATOR) as http:
        for method, path in set(requests(turnout)) - OPEN:
            assert status(http, method, path) not in (401, 403), (method, path)
    assert len(turnout.published.values) == 2


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_is_opened_to_those_who_may_read(turnout: Guarded, path: str) -> None:
    for token, _ in REFUSED.values():
        with pytest.raises(InvalidStatus) as refused:
            connect(turnout.socket_url + path, additional_headers=bearer(token) if token else {})
        assert refused.value.response.status_code == 401
        assert b"error" in (refused.value.response.body or b"")
    for token in (VIEWER, OPERATOR):
        with connect(turnout.socket_url + path, additional_headers=bearer(token)) as socket:
            assert socket.protocol.close_code is None


def test_a_path_that_is_not_there_is_no_way_to_find_out(turnout: Guarded) -> None:
    with turnout.client() as http:
        for path in ("/nothing", "/healthz/", "/login/../api/tables", "//api/tables", "/web/main.js", "/%61pi/tables"):
            assert http.get(path).status_code == 401, path


def test_other_methods_are_for_operators_alone(turnout: Guarded) -> None:
    """So that a route that is added with one is not open to viewers by mistake."""
    with turnout.client(VIEWER) as http:
        for method in ("PUT", "PATCH", "DELETE"):
            assert http.request(method, "/api/tables").status_code == 403


def test_only_bearer_is_understood(turnout: Guarded) -> None:
    with turnout.client() as http:
        answer = http.get("/api/status", auth=("wall-screen", VIEWER))
        assert answer.status_code == 401
        assert VIEWER not in answer.text
        assert http.get("/api/status", headers={"Authorization": f"bearer  {VIEWER}"}).status_code == 200
        assert http.get("/api/status", headers={"Authorization": "Bearer"}).status_code == 401


def test_a_person_is_sent_to_the_login_and_from_there_to_where_they_wanted(turnout: Guarded) -> None:
    with turnout.client(headers={"Accept": "text/html,*/*"}) as http:
        assert http.get("/").headers["location"] == "/login"
        assert http.get("/docs?a=b").headers["location"] == "/login?next=%2Fdocs%3Fa%3Db"
        assert re.search(r'name="next" value="/docs\?a=b"', http.get("/login?next=/docs?a=b").text)


def test_on_loopback_without_a_word_about_it_nobody_is_asked() -> None:
    app = create_app(Service(load(None, env={})))
    paths = {route.path for route in _flat(app.routes)}
    assert "/logout" not in paths
