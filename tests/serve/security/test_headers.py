from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.serve.security.guarded import OPERATOR, Guarded, guarded


def check(answer: httpx.Response) -> None:
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert "frame-ancestors" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "server" not in headers


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Guarded]:
    with guarded(tmp_path, {}) as turnout:
        yield turnout


@pytest.mark.parametrize("path", ["/", "/api/status", "/web/main.js", "/healthz", "/docs", "/nothing", "/api/tables/x"])
def test_every_answer_has_them(loopback: Guarded, path: str) -> None:
    with loopback.client() as http:
        answer = http.get(path)
        check(answer)
        assert "strict-transport-security" not in answer.headers


def test_a_defect_has_them_too(loopback: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(loopback.service, "topics", broken)
    with loopback.client() as http:
        answer = http.get("/api/topics")
        assert answer.status_code == 500
        check(answer)


def test_a_refusal_has_them(turnout: Guarded) -> None:
    with turnout.client() as http:
        check(http.get("/api/status"))
        check(http.get("/login"))


def test_data_is_kept_by_nobody(turnout: Guarded) -> None:
    with turnout.client(OPERATOR) as http:
        for path in ("/api/status", "/api/tables", "/api/tables/users_ui", "/metrics", "/page.json", "/login"):
            assert http.get(path).headers["cache-control"] == "no-store", path
        assert http.get("/").headers["cache-control"] == "no-cache"


def test_behind_a_proxy_with_tls_a_browser_is_told_to_stay_with_it(turnout: Guarded) -> None:
    with turnout.client(headers={"X-Forwarded-Proto": "https"}) as http:
        assert http.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"
