"""Pages from elsewhere, in front of a server that asks nobody who they are: they are the danger there."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.serve.security.guarded import OPERATOR, TOKENS, Guarded, bearer, guarded
from turnout.serve.security.origin import is_same_origin

EVIL = "evil.example.com"
ELSEWHERE = f"https://{EVIL}"
LISTED = "https://dashboard.example.com"


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Guarded]:
    with guarded(tmp_path, {}) as turnout:
        yield turnout


@pytest.fixture
def listing(tmp_path: Path) -> Iterator[Guarded]:
    with guarded(tmp_path, {"origins": [LISTED], "auth": {"tokens": TOKENS}}) as turnout:
        yield turnout


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://127.0.0.1:8400", "127.0.0.1:8400", True),
        ("https://turnout.example.com", "turnout.example.com", True),
        ("https://turnout.example.com", "turnout.example.com:443", True),
        ("http://[::1]:8400", "[::1]:8400", True),
        ("https://turnout.example.com:8443", "turnout.example.com", False),
        ("http://127.0.0.1:8401", "127.0.0.1:8400", False),
        ("http://turnout.example.com.evil.example.com", "turnout.example.com", False),
        ("http://evil.example.com", "turnout.example.com", False),
        ("null", "turnout.example.com", False),
        ("null", "", False),
        ("http://a:b", "a:b", False),
    ],
)
def test_the_same_origin_is_the_same_host_and_port(origin: str, host: str, same: bool) -> None:
    assert is_same_origin(origin, host) is same


@pytest.mark.parametrize("origin", [ELSEWHERE, "null"])
def test_a_page_from_elsewhere_gets_nothing_and_changes_nothing(loopback: Guarded, origin: str) -> None:
    with loopback.client(headers={"Origin": origin}) as http:
        for answer in (
            http.post("/api/control", content=b"{}"),
            http.post("/api/undo"),
            http.get("/api/tables/users_ui/changes"),
            http.get("/api/status"),
        ):
            assert answer.status_code == 403
            assert "serve.origins" in answer.json()["error"]
            assert not any(name.startswith("access-control") for name in answer.headers)
        assert http.options("/api/control").status_code == 403
    assert loopback.published.values == []


@pytest.mark.parametrize("path", ["/perspective", "/api/pulse"])
def test_a_socket_is_for_our_own_page(loopback: Guarded, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(loopback.socket_url + path, origin=Origin(ELSEWHERE))
    assert refused.value.response.status_code == 403
    with connect(loopback.socket_url + path, origin=Origin(loopback.url)) as ours:
        assert ours.protocol.close_code is None


def test_our_own_page_and_programs_without_an_origin_may(loopback: Guarded) -> None:
    with loopback.client() as http:
        assert http.post("/api/control", content=b"{}").status_code == 200
        own = http.post("/api/control", content=b"{}", headers={"Origin": loopback.url})
        assert own.status_code == 200
        assert not any(name.startswith("access-control") for name in own.headers)


def test_a_listed_page_may_with_a_token_of_its_own(listing: Guarded) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with listing.client(headers={"Origin": LISTED}) as http:
        before = http.options("/api/control", headers=asked)
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == LISTED
        assert "access-control-allow-credentials" not in before.headers
        assert http.post("/api/control", content=b"{}").status_code == 401
        answer = http.post("/api/control", content=b"{}", headers=bearer(OPERATOR))
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == LISTED
    with connect(
        listing.socket_url + "/api/pulse", origin=Origin(LISTED), additional_headers=bearer(OPERATOR)
    ) as pulse:
        assert pulse.recv(10)
    with listing.client(OPERATOR, headers={"Origin": ELSEWHERE}) as http:
        assert http.get("/api/status").status_code == 403
        assert http.options("/api/control", headers=asked).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example.com", "evil.example.com:8400", "[::1", "127.0.0.1.evil.example.com", ""]
)
def test_a_name_that_leads_here_is_not_ours(loopback: Guarded, host: str) -> None:
    """By DNS, anybody's name can lead to 127.0.0.1, and a page of that name is then of the same origin."""
    with loopback.client(headers={"Host": host, "Origin": f"http://{host}"}) as http:
        assert http.get("/api/status").status_code == 421
        assert http.post("/api/control", content=b"{}").status_code == 421
    assert loopback.published.values == []


@pytest.mark.parametrize("host", ["localhost:8400", "LOCALHOST", "127.0.0.1", "[::1]:8400", "turnout.localhost"])
def test_names_of_this_machine_are_ours(loopback: Guarded, host: str) -> None:
    with loopback.client(headers={"Host": host}) as http:
        assert http.get("/api/tables").status_code == 200


def test_a_socket_under_another_name_is_refused(loopback: Guarded) -> None:
    way = socket.create_connection(("127.0.0.1", urlsplit(loopback.url).port))
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://{EVIL}/api/pulse", sock=way, origin=Origin(f"http://{EVIL}"))
    assert refused.value.response.status_code == 421


def test_a_listed_name_is_answered_to(tmp_path: Path) -> None:
    with (
        guarded(tmp_path, {"origins": [LISTED]}) as turnout,
        turnout.client(headers={"Host": "dashboard.example.com"}) as http,
    ):
        assert http.get("/api/tables").status_code == 200


@pytest.mark.parametrize("auth", [{"open": True}, {"tokens": TOKENS}], ids=["open", "tokens"])
def test_who_has_said_who_may_come_in_is_reached_by_any_name(tmp_path: Path, auth: dict[str, object]) -> None:
    with (
        guarded(tmp_path, {"auth": auth}) as turnout,
        turnout.client(OPERATOR, headers={"Host": "turnout.example.com"}) as http,
    ):
        assert http.get("/api/tables").status_code == 200
