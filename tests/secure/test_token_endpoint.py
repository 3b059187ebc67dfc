"""The token endpoint of these tests does what a real one does."""

import ssl
import time
from collections.abc import Iterator

import httpx
import pytest
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

from tests.secure.certificates import Certificates
from tests.secure.token_endpoint import AUDIENCE, TokenEndpoint

CLIENT, SECRET = "turnout", "a secret: with/every%thing+"
GRANT = {"grant_type": "client_credentials", "scope": "kafka"}


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint({CLIENT: SECRET}) as endpoint:
        yield endpoint


def in_the_form(client: str = CLIENT, secret: str = SECRET) -> dict[str, str]:
    return {**GRANT, "client_id": client, "client_secret": secret}


def published(endpoint: TokenEndpoint) -> KeySet:
    return KeySet.import_key_set(httpx.get(endpoint.jwks_url).json())


def claims(endpoint: TokenEndpoint, token: str) -> dict[str, object]:
    """Of a token whose signature the published keys verify."""
    return dict(jwt.decode(token, published(endpoint), ["RS256"]).claims)


def test_a_token_for_a_client_in_the_form(endpoint: TokenEndpoint) -> None:
    before = int(time.time())
    answer = httpx.post(endpoint.url, data=in_the_form())
    assert answer.status_code == 200
    found = claims(endpoint, answer.json()["access_token"])
    assert (found["sub"], found["scope"], found["aud"], found["iss"]) == (CLIENT, "kafka", AUDIENCE, endpoint.issuer)
    assert isinstance(found["iat"], int)
    assert isinstance(found["exp"], int)
    assert before <= found["iat"] <= time.time()
    assert found["exp"] - found["iat"] == answer.json()["expires_in"] == 300
    assert [asked.client for asked in endpoint.given] == [CLIENT]
    assert SECRET not in repr(endpoint.given)


def test_a_token_for_a_client_in_the_header(endpoint: TokenEndpoint) -> None:
    endpoint.clients = {CLIENT: "simple"}
    answer = httpx.post(endpoint.url, data=GRANT, auth=(CLIENT, "simple"))
    assert claims(endpoint, answer.json()["access_token"])["sub"] == CLIENT


def test_the_header_is_form_encoded(endpoint: TokenEndpoint) -> None:
    encoded = "a+secret%3A+with%2Fevery%25thing%2B"
    assert httpx.post(endpoint.url, data=GRANT, auth=(CLIENT, encoded)).status_code == 200


def test_tokens_are_all_different(endpoint: TokenEndpoint) -> None:
    given = {httpx.post(endpoint.url, data=in_the_form()).json()["access_token"] for _ in range(3)}
    assert len(given) == len(endpoint.given) == 3


def test_tokens_last_as_long_as_was_asked(endpoint: TokenEndpoint) -> None:
    endpoint.lifetime_seconds = 4
    found = claims(endpoint, httpx.post(endpoint.url, data=in_the_form()).json()["access_token"])
    assert isinstance(found["iat"], int)
    assert found["exp"] in (found["iat"] + 4, found["iat"] + 5)


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        (in_the_form(secret="wrong"), 401, "invalid_client"),
        (in_the_form(client="nobody"), 401, "invalid_client"),
        (GRANT, 401, "invalid_client"),
        (in_the_form() | {"grant_type": "password"}, 400, "unsupported_grant_type"),
        (in_the_form() | {"scope": "kafka admin"}, 400, "invalid_scope"),
    ],
)
def test_what_is_refused(endpoint: TokenEndpoint, fields: dict[str, str], status: int, error: str) -> None:
    answer = httpx.post(endpoint.url, data=fields)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert not endpoint.given
    assert endpoint.refused == [error]


def test_a_header_that_cannot_be_read(endpoint: TokenEndpoint) -> None:
    answer = httpx.post(endpoint.url, data=GRANT, headers={"Authorization": "Basic %%%"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_a_secret_that_is_rotated(endpoint: TokenEndpoint) -> None:
    endpoint.clients[CLIENT] = "new"
    assert httpx.post(endpoint.url, data=in_the_form()).status_code == 401
    assert httpx.post(endpoint.url, data=in_the_form(secret="new")).status_code == 200


def test_it_comes_back_on_its_port_with_its_key(endpoint: TokenEndpoint) -> None:
    url, token = endpoint.url, httpx.post(endpoint.url, data=in_the_form()).json()["access_token"]
    endpoint.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, data=in_the_form())
    endpoint.start()
    assert endpoint.url == url
    assert claims(endpoint, token)["sub"] == CLIENT
    assert httpx.post(url, data=in_the_form()).status_code == 200


def test_nobody_else_can_sign(endpoint: TokenEndpoint) -> None:
    with TokenEndpoint({CLIENT: SECRET}) as other:
        forged = httpx.post(other.url, data=in_the_form()).json()["access_token"]
        own_keys = published(other)
        assert jwt.decode(forged, own_keys, ["RS256"]).claims["sub"] == CLIENT
    header, body, _ = forged.split(".")
    *_, signature = httpx.post(endpoint.url, data=in_the_form()).json()["access_token"].split(".")
    with pytest.raises(BadSignatureError):
        jwt.decode(f"{header}.{body}.{signature}", own_keys, ["RS256"])


def test_https(certificates: Certificates) -> None:
    trusting = ssl.create_default_context(cafile=certificates.authority.certificate)
    wary = ssl.create_default_context(cafile=certificates.other_authority.certificate)
    with TokenEndpoint({CLIENT: SECRET}, identity=certificates.server) as endpoint:
        assert httpx.post(endpoint.https_url, data=in_the_form(), verify=trusting).status_code == 200
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.post(endpoint.https_url, data=in_the_form(), verify=wary)
        assert httpx.post(endpoint.url, data=in_the_form()).status_code == 200
        assert len(endpoint.given) == 2
