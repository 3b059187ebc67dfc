"""Logins at a real provider on loopback, good and bad."""

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey

from tests.serve.security.guarded import TOKENS, VIEWER, Guarded, bearer, guarded
from tests.serve.security.issuer import CLIENT_ID, CLIENT_SECRET, Issuer
from turnout.serve.security.oidc import values_at
from turnout.serve.security.seal import Seal, kept_key

HTML = {"Accept": "text/html"}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def oidc(tmp_path: Path, issuer: Issuer) -> dict[str, Any]:
    (tmp_path / "secret").write_text(CLIENT_SECRET + "\n")
    return {
        "issuer": issuer.url,
        "client_id": CLIENT_ID,
        "client_secret": f"${{file:{tmp_path / 'secret'}}}",
        "viewers": ["staff"],
        "operators": ["rail-operators"],
    }


@pytest.fixture
def turnout(tmp_path: Path, oidc: dict[str, Any]) -> Iterator[Guarded]:
    with guarded(tmp_path, {"auth": {"oidc": oidc, "tokens": TOKENS}}) as turnout:
        yield turnout


def log_in(turnout: Guarded, http: httpx.Client) -> httpx.Response:
    """As a browser would, to the provider and back; what the way back is answered with."""
    there = http.get("/login/oidc?next=/docs")
    assert there.status_code == 303, there.text
    back = httpx.get(there.headers["location"])
    assert back.headers["location"].startswith(f"{turnout.url}/login/callback?")
    return http.get(back.headers["location"])


def test_a_person_logs_in_at_the_provider_and_comes_back(turnout: Guarded) -> None:
    with turnout.client(headers={"Origin": turnout.url}) as http:
        assert '<a class="main" href="/login/oidc?next=%2F">' in http.get("/login").text
        answer = log_in(turnout, http)
        assert (answer.status_code, answer.headers["location"]) == (303, "/docs")
        user = http.get("/page.json").json()["user"]
        assert user == {"name": "ann@example.com", "role": "operator", "maySwitch": True, "loggedIn": True}
        assert http.post("/api/control", content=b"{}").status_code == 200
    assert turnout.logged()[-1].startswith("INFO Switch over HTTP by ann@example.com from 127.0.0.1: accepted")


def test_a_login_outlives_a_restart_but_not_another_say_of_who_may_come_in(
    tmp_path: Path, oidc: dict[str, Any]
) -> None:
    oidc |= {"viewers": ["staff", "guests"]}

    def answered(**changes: Any) -> int:
        """After a restart with these changes."""
        with guarded(tmp_path, {"auth": {"oidc": oidc | changes, "tokens": TOKENS}}) as turnout:
            return httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code

    with guarded(tmp_path, {"auth": {"oidc": oidc, "tokens": TOKENS}}) as turnout, turnout.client() as http:
        log_in(turnout, http)
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in http.cookies.items())}
        assert http.get("/page.json").json()["user"]["role"] == "operator"
    assert answered() == 200
    assert answered(viewers=["guests", "staff"], scopes=["openid", "email"], client_secret="") == 200
    changes: list[dict[str, Any]] = [
        {"operators": []},
        {"operators": ["signallers"]},
        {"viewers": ["guests"]},
        {"roles_claim": "realm_access.roles"},
        {"client_id": "another"},
        {"issuer": "https://login.example.com"},
    ]
    for change in changes:
        assert answered(**change) == 401, change
    with guarded(tmp_path, {"auth": {"tokens": TOKENS}}) as turnout:
        assert httpx.get(f"{turnout.url}/api/status", headers=cookie).status_code == 401, "without the provider"


def test_a_login_of_a_version_that_did_not_say_what_it_is_bound_to_has_ended(
    tmp_path: Path, oidc: dict[str, Any]
) -> None:
    for auth in ({"oidc": oidc}, {"tokens": TOKENS}):
        with guarded(tmp_path, {"auth": auth}) as turnout:
            seal = Seal(kept_key(tmp_path / "state"))
            said = {"name": "ann@example.com", "role": "operator", "id": "17"}
            cookie = f"turnout_{seal.mark}={seal.seal('session', said, time.time() + 60)}"
            assert httpx.get(f"{turnout.url}/api/status", headers={"Cookie": cookie}).status_code == 401


def test_who_is_in_no_group_has_no_role(turnout: Guarded, issuer: Issuer) -> None:
    issuer.claims["groups"] = ["guests"]
    with turnout.client() as http:
        answer = log_in(turnout, http)
        assert answer.status_code == 403
        assert "neither a viewer nor an operator" in answer.text
        assert http.get("/api/status").status_code == 401
        assert http.get("/api/status", headers=bearer(issuer.token())).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://login.example.com"},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_login_is_refused(turnout: Guarded, issuer: Issuer, wrong: dict[str, Any]) -> None:
    issuer.changes = wrong
    with turnout.client() as http:
        assert log_in(turnout, http).status_code == 401
        assert http.get("/api/status").status_code == 401


def test_a_token_by_another_key_is_refused(turnout: Guarded, issuer: Issuer) -> None:
    other = RSAKey.generate_key(2048, {"kid": "1"})
    with turnout.client() as http:
        assert http.get("/api/status", headers=bearer(issuer.token())).status_code == 200
        for forged in (
            issuer.token(other),
            issuer.token(RSAKey.generate_key(2048, {"kid": "2"})),
            issuer.token()[:-8] + "AAAAAAAA",
            # The public key as if it were a shared secret, and no signature at all.
            _by_shared_secret(issuer),
            "eyJhbGciOiJub25lIn0." + issuer.token().split(".")[1] + ".",
            "a.b.c",
            "..",
        ):
            answer = http.get("/api/status", headers=bearer(forged))
            assert answer.status_code == 401, forged
            assert forged not in answer.text


def _by_shared_secret(issuer: Issuer) -> str:
    """What the library refuses to sign, as an attacker would do it."""
    header = _part(b'{"alg":"HS256","kid":"1"}')
    signed = f"{header}.{issuer.token().split('.')[1]}"
    return f"{signed}.{_part(hmac.digest(issuer.key.as_pem(False), signed.encode(), hashlib.sha256))}"


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


@pytest.mark.parametrize("wrong", [{"aud": "another"}, {"exp": 1}, {"iss": "https://login.example.com"}], ids=str)
def test_a_bearer_token_of_the_provider_has_to_be_for_us_and_good(
    turnout: Guarded, issuer: Issuer, wrong: dict[str, Any]
) -> None:
    with turnout.client() as http:
        assert http.get("/api/status", headers=bearer(issuer.token(aud=[CLIENT_ID, "other"]))).status_code == 200
        assert http.get("/api/status", headers=bearer(issuer.token(**wrong))).status_code == 401
        assert http.get("/api/status", headers=bearer(VIEWER)).status_code == 200, "our own are as good as ever"


def test_new_keys_of_the_provider_are_found(turnout: Guarded, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.serve.security.provider.HASTE_SECONDS", 0.0)
    with turnout.client() as http:
        assert http.get("/api/status", headers=bearer(issuer.token())).status_code == 200
        new = RSAKey.generate_key(2048, {"kid": "new"})
        issuer.published.append(new)
        assert http.get("/api/status", headers=bearer(issuer.token(new))).status_code == 200
        asked = issuer.asked.count("/jwks")
        assert http.get("/api/status", headers=bearer(issuer.token(new))).status_code == 200
        assert issuer.asked.count("/jwks") == asked == 2


def test_the_way_back_counts_only_for_the_login_that_began_here(turnout: Guarded) -> None:
    with turnout.client() as http, turnout.client() as other:
        there = http.get("/login/oidc").headers["location"]
        back = httpx.get(there).headers["location"]
        assert other.get(back).status_code == 401, "a browser that did not begin it"
        other.get("/login/oidc")
        assert other.get(back).status_code == 401, "another login of another browser"
        state = parse_qs(urlsplit(back).query)["state"][0]
        assert http.get("/login/callback", params={"state": state, "error": "access_denied"}).status_code == 401
        assert http.get(back).status_code == 303
        assert http.get(back).status_code == 401, "a code is good once"


def test_a_wrong_secret_is_said_to_be_the_providers_refusal(turnout: Guarded, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("wrong-one")
    with turnout.client() as http:
        answer = log_in(turnout, http)
        assert answer.status_code == 401
        assert "invalid_client" in answer.text
        assert "wrong-one" not in answer.text


def test_a_provider_that_is_gone_is_said_to_be_so(tmp_path: Path) -> None:
    oidc = {"issuer": "http://127.0.0.1:1", "client_id": CLIENT_ID, "viewers": ["*"]}
    with guarded(tmp_path, {"auth": {"oidc": oidc}}) as turnout, turnout.client() as http:
        answer = http.get("/login/oidc")
        assert answer.status_code == 503
        assert "http://127.0.0.1:1 cannot be asked" in answer.text


def test_groups_may_be_anywhere_in_a_token() -> None:
    claims = {"groups": ["a", "b"], "role": "c", "realm_access": {"roles": ["d"]}, "https://example.com/roles": ["e"]}
    assert list(values_at(claims, "groups")) == ["a", "b"]
    assert list(values_at(claims, "role")) == ["c"]
    assert list(values_at(claims, "realm_access.roles")) == ["d"]
    assert list(values_at(claims, "https://example.com/roles")) == ["e"]
    assert list(values_at(claims, "none.at.all")) == []
    assert list(values_at(claims, "role.of")) == []
