"""Logins on the page, by a token."""

import re
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.serve.security.guarded import EXPIRED, OPERATOR, TOKENS, VIEWER, WRONG, Guarded, guarded
from tests.waiting import until
from turnout.errors import SetupError
from turnout.serve.security.seal import KEY_FILE, Seal, kept_key


def log_in(http: httpx.Client, token: str, goal: str = "/") -> httpx.Response:
    return http.post("/login", data={"token": token, "next": goal})


def test_a_token_is_exchanged_for_a_cookie_that_no_script_reads(turnout: Guarded) -> None:
    with turnout.client() as http:
        answer = log_in(http, VIEWER, "/docs")
        assert (answer.status_code, answer.headers["location"]) == (303, "/docs")
        cookie = answer.headers["set-cookie"]
        assert re.match(r"turnout_[0-9a-f]{8}=", cookie)
        assert {"HttpOnly", "SameSite=lax", "Max-Age=43199", "Path=/"} & set(cookie.split("; ")) >= {
            "HttpOnly",
            "SameSite=lax",
            "Path=/",
        }
        assert "Secure" not in cookie
        assert VIEWER not in cookie
        user = http.get("/page.json").json()["user"]
        assert user == {"name": "wall-screen", "role": "viewer", "maySwitch": False, "loggedIn": True}


def test_behind_tls_the_cookie_is_bound_to_it(turnout: Guarded) -> None:
    with turnout.client(headers={"X-Forwarded-Proto": "https"}) as http:
        cookie = log_in(http, VIEWER).headers["set-cookie"]
        assert cookie.startswith("__Host-turnout_")
        assert "Secure" in cookie


@pytest.mark.parametrize(("token", "said"), [(WRONG, "This token is not known here"), (EXPIRED, "has expired")])
def test_a_token_that_is_not_good_is_said_to_be_so(turnout: Guarded, token: str, said: str) -> None:
    with turnout.client() as http:
        answer = log_in(http, token)
        assert answer.status_code == 401
        assert said in answer.text
        assert token not in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("goal", ["https://evil.example.com", "//evil.example.com", "/\\evil.example.com", "a\nb", ""])
def test_a_login_leads_nowhere_else(turnout: Guarded, goal: str) -> None:
    with turnout.client() as http:
        assert log_in(http, VIEWER, goal).headers["location"] == "/"


def test_what_is_on_the_login_page_is_text(turnout: Guarded) -> None:
    with turnout.client() as http:
        page = http.get("/login", params={"next": '/"><script>'})
        assert "<script" not in page.text
        assert "style=" not in page.text
        assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")


def test_a_cookie_switches_only_with_the_origin_of_our_page(turnout: Guarded) -> None:
    with turnout.client() as http:
        log_in(http, OPERATOR)
        assert http.post("/api/control", content=b"{}").status_code == 403
        assert (
            http.post("/api/control", content=b"{}", headers={"Origin": "https://evil.example.com"}).status_code == 403
        )
        assert turnout.published.values == []
        assert http.post("/api/control", content=b"{}", headers={"Origin": turnout.url}).status_code == 200


def test_a_cookie_that_was_changed_or_made_elsewhere_is_worth_nothing(turnout: Guarded) -> None:
    with turnout.client() as http:
        log_in(http, VIEWER)
        ((name, value),) = http.cookies.items()
    body, _, signature = value.partition(".")
    forged = Seal(b"x" * 32).seal("session", {"name": "a", "role": "operator", "id": "1"}, time.time() + 60)
    for other in (
        forged,
        f"{body}A.{signature}",
        f"{body}.{signature[:-2]}",
        body,
        f".{signature}",
        "",
        "ä.b",
        "a.b.c",
    ):
        answer = httpx.get(f"{turnout.url}/api/status", headers={b"Cookie": f"{name}={other}".encode()})
        assert answer.status_code == 401, other


def test_after_the_logout_the_cookie_is_worth_nothing_and_sockets_are_cut(turnout: Guarded) -> None:
    with turnout.client() as http:
        log_in(http, VIEWER)
        ((name, value),) = http.cookies.items()
        cookie = {"Cookie": f"{name}={value}"}
        with (
            connect(f"{turnout.socket_url}/api/pulse", additional_headers=cookie) as pulse,
            httpx.stream("GET", f"{turnout.url}/api/tables/users_ui/changes", headers=cookie) as changes,
        ):
            assert pulse.recv(10)
            lines = changes.iter_lines()
            assert next(lines) == "event: snapshot"
            answer = http.post("/logout")
            assert (answer.status_code, answer.headers["location"]) == (303, "/login")
            with pytest.raises(ConnectionClosed):
                list(pulse)  # until it is closed
            assert (pulse.close_code, pulse.close_reason) == (1008, "the login has ended")
            assert list(lines)[-1:] in ([], [""]), "the stream ends"
        assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == 401
        assert http.cookies.get(name) is None


def test_a_session_that_has_run_out_is_cut_too(tmp_path: Path) -> None:
    with guarded(tmp_path, {"auth": {"tokens": TOKENS, "session_seconds": 4}}) as turnout, turnout.client() as http:
        cookie: dict[str, str] = {}
        pulses: list[ClientConnection] = []

        def is_let_in() -> bool:
            log_in(http, VIEWER)
            cookie["Cookie"] = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
            with suppress(InvalidStatus):  # it has run out before
                pulses.append(connect(f"{turnout.socket_url}/api/pulse", additional_headers=cookie))
            return bool(pulses)

        until(is_let_in, "a log-in and a connection fit in a session")
        with pulses[0] as pulse, pytest.raises(ConnectionClosed):
            list(pulse)
        assert (pulse.close_code, pulse.close_reason) == (1008, "the login has ended")
        assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == 401


def test_a_login_outlives_a_restart_but_not_its_token(tmp_path: Path) -> None:
    with guarded(tmp_path, {"auth": {"tokens": TOKENS}}) as turnout, turnout.client() as http:
        log_in(http, OPERATOR)
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in http.cookies.items())}
    with guarded(tmp_path, {"auth": {"tokens": TOKENS}}) as turnout:
        assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == 200
    others = {**TOKENS, "deploy-bot": {**TOKENS["deploy-bot"], "role": "viewer"}}
    with guarded(tmp_path, {"auth": {"tokens": others}}) as turnout:
        user = httpx.get(f"{turnout.url}/page.json", headers=cookie).json()["user"]
        assert user["role"] == "viewer", "what a token may is what the configuration says now"
    others = {**TOKENS, "deploy-bot": {**TOKENS["deploy-bot"], "hash": TOKENS["wall-screen"]["hash"]}}
    with guarded(tmp_path, {"auth": {"tokens": others}}) as turnout:
        assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == 401


def test_servers_with_the_same_key_share_logins_and_those_with_another_do_not(tmp_path: Path) -> None:
    cookies: dict[str, str] = {}
    for name, key, status in (("a", "k" * 32, 200), ("b", "k" * 32, 200), ("c", "x" * 32, 401), ("d", "", 401)):
        (tmp_path / name).mkdir()
        auth = {"tokens": TOKENS, "session_key": key}
        with guarded(tmp_path / name, {"auth": auth}) as turnout, turnout.client() as http:
            if not cookies:
                log_in(http, OPERATOR)
                cookies = dict(http.cookies.items())
            cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == status, name
            assert (tmp_path / name / "state" / KEY_FILE).exists() is (key == ""), "one of its own only if it needs one"


def test_the_key_of_the_logins_is_for_nobody_else(tmp_path: Path) -> None:
    key = kept_key(tmp_path / "state")
    assert kept_key(tmp_path / "state") == key
    file = tmp_path / "state" / KEY_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"short")
    with pytest.raises(SetupError, match="damaged"):
        kept_key(tmp_path / "state")


def test_where_no_key_can_be_kept_it_is_said_how_to_give_one(tmp_path: Path) -> None:
    """As by `turnout serve` in a container whose root cannot be written."""
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match=r"session\.key, cannot be .*writable, or .*`serve\.auth\.session_key`"):
        kept_key(tmp_path / "file" / "state")


def test_a_seal_is_for_one_purpose_and_a_while() -> None:
    now = [100.0]
    seal = Seal(b"k" * 32, lambda: now[0])
    sealed = seal.seal("session", {"a": 1}, 110)
    assert seal.open("session", sealed) == {"a": 1, "until": 110}
    assert seal.open("other", sealed) is None
    now[0] = 110
    assert seal.open("session", sealed) is None


def test_where_nobody_is_asked_the_login_leads_to_the_page(tmp_path: Path) -> None:
    with guarded(tmp_path, {}) as turnout, turnout.client() as http:
        assert http.get("/login").headers["location"] == "/"
        assert http.get("/page.json").json()["user"] == {
            "name": "anyone",
            "role": "operator",
            "maySwitch": True,
            "loggedIn": False,
        }
        assert not (tmp_path / "state" / KEY_FILE).exists()
