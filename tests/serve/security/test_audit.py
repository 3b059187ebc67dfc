from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.security.guarded import EXPIRED, OPERATOR, VIEWER, WRONG, Guarded, guarded
from turnout.control.asked import Asked


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Guarded]:
    with guarded(tmp_path, {"auth": {"open": True}}) as turnout:
        yield turnout


def test_a_switch_leaves_a_line_with_who_from_where_and_what(turnout: Guarded) -> None:
    with turnout.client(OPERATOR) as http:
        http.post("/api/control", content=b'{"joinType": "inner"}\n')
        http.post("/api/undo", headers={"X-Forwarded-For": "203.0.113.9"})
    assert turnout.logged() == [
        'INFO Switch over HTTP by deploy-bot from 127.0.0.1: accepted: {"joinType": "inner"}\\n',
        "INFO Switch over HTTP by deploy-bot from 203.0.113.9: accepted: undo",
    ]
    assert turnout.published.asked == [Asked("deploy-bot", "127.0.0.1"), Asked("deploy-bot", "203.0.113.9")]


def test_a_try_that_is_denied_leaves_one_too_without_what_was_sent(turnout: Guarded) -> None:
    for token in (None, WRONG, EXPIRED, VIEWER):
        with turnout.client(token) as http:
            http.post("/api/control", content=b'{"joinType": "secret"}')
            http.get("/api/status")
            http.post("/api/preview", content=b"{}")
    start = "WARNING Switch over HTTP by {} from 127.0.0.1: denied: /api/control: {}"
    login = "a login is needed: send `Authorization: Bearer <token>`, or open /login in a browser"
    assert turnout.logged() == [
        start.format("somebody unknown", login),
        start.format("somebody unknown", "this token is not known here"),
        start.format("somebody unknown", "the token 'intern' has expired: ask for another"),
        start.format(
            "wall-screen", "wall-screen is a viewer: only an operator may switch; ask whoever runs this server"
        ),
    ]


def test_where_it_is_open_to_all_it_is_anyone(opened: Guarded) -> None:
    with opened.client() as http:
        http.post("/api/control", content=b"{}")
    assert opened.logged() == ["INFO Switch over HTTP by anyone from 127.0.0.1: accepted: {}"]


def test_on_loopback_where_nothing_was_said_the_log_stays_as_it_was(tmp_path: Path) -> None:
    with guarded(tmp_path, {}) as turnout, turnout.client() as http:
        http.post("/api/control", content=b"{}")
        http.post("/api/undo")
        assert len(turnout.published.values) == 2
        assert turnout.published.asked == [None, None]
        assert turnout.logged() == []


def test_a_message_breaks_no_line_and_has_bounds(opened: Guarded) -> None:
    with opened.client() as http:
        http.post("/api/control", content=b"\xff\n2026 ERROR forged\x1b[2J" + b"x" * 5000)
    (line,) = opened.logged()
    assert line.startswith(
        "INFO Switch over HTTP by anyone from 127.0.0.1: accepted: \\xff\\n2026 ERROR forged\\x1b[2J"
    )
    assert len(line) < 1200
