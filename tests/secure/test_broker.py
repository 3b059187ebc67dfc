"""Through librdkafka: each way to log in lets the right login in and keeps the wrong one out."""

from collections.abc import Callable

import pytest

from tests.secure.broker import Listener
from tests.secure.logins import (
    CLIENT_SECRET,
    PASSWORD,
    REFUSED_SECONDS,
    USER,
    Properties,
    Setting,
    encrypted_files,
    files,
    must_read,
    password,
    store,
)
from tests.secure.token_endpoint import TokenEndpoint
from turnout.errors import KafkaError
from turnout.kafka.login import render_librdkafka

EXTENSIONS = {"extensions": "logicalCluster=lkc-example,identityPoolId=pool-example"}
Way = tuple[Listener, Callable[[Setting], Properties]]

RIGHT: dict[str, Way] = {
    "TLS": (Listener.TLS, lambda at: at.trust),
    "mutual TLS, PEM files": (Listener.MUTUAL, lambda at: at.trust | files(at.certificates.client)),
    "mutual TLS, encrypted key": (Listener.MUTUAL, lambda at: at.trust | encrypted_files(at.certificates.client)),
    "mutual TLS, PKCS12 store": (Listener.MUTUAL, lambda at: at.trust | store(at.certificates.client)),
    "PLAIN": (Listener.PASSWORD, lambda _: password("PLAIN")),
    "SCRAM-SHA-256": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-256")),
    "SCRAM-SHA-512": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-512")),
    "PLAIN, TLS": (Listener.PASSWORD_TLS, lambda at: at.trust | password("PLAIN")),
    "SCRAM-SHA-256, TLS": (Listener.PASSWORD_TLS, lambda at: at.trust | password("SCRAM-SHA-256")),
    "SCRAM-SHA-512, TLS": (Listener.PASSWORD_TLS, lambda at: at.trust | password("SCRAM-SHA-512")),
    "OAUTHBEARER": (Listener.TOKEN, lambda at: at.token()),
    "OAUTHBEARER, extensions": (Listener.TOKEN, lambda at: at.token(**EXTENSIONS)),
    "OAUTHBEARER, TLS": (Listener.TOKEN_TLS, lambda at: at.trust | at.token()),
    "OAUTHBEARER, TLS, https": (Listener.TOKEN_TLS, lambda at: at.trust | at.https_trust | at.https_token()),
}

WRONG: dict[str, Way] = {
    "unknown CA": (Listener.TLS, lambda at: at.mistaken_trust),
    "system's CAs": (Listener.TLS, lambda _: {}),
    "expired certificate": (Listener.EXPIRED, lambda at: at.trust),
    "host name mismatch": (Listener.OTHER_HOST, lambda at: at.trust),
    "not valid yet": (Listener.NOT_YET_VALID, lambda at: at.trust),
    "no client certificate": (Listener.MUTUAL, lambda at: at.trust),
    "client certificate of another CA": (Listener.MUTUAL, lambda at: at.trust | files(at.certificates.stranger)),
    "wrong password, PLAIN": (Listener.PASSWORD, lambda _: password("PLAIN", secret="wrong")),
    "wrong password, SCRAM-SHA-256": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-256", secret="wrong")),
    "wrong password, SCRAM-SHA-512": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-512", secret="wrong")),
    "wrong password, TLS": (Listener.PASSWORD_TLS, lambda at: at.trust | password("PLAIN", secret="wrong")),
    "unknown user": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-512", user="nobody")),
    "wrong mechanism": (Listener.TOKEN, lambda _: password("SCRAM-SHA-512")),
    "token where a password is due": (Listener.PASSWORD, lambda at: at.token()),
    "invalid_client": (Listener.TOKEN, lambda at: at.token(secret="wrong")),
    "invalid_scope": (Listener.TOKEN, lambda at: at.token(scope="everything")),
    "endpoint of another CA": (Listener.TOKEN, lambda at: at.https_token()),
    "no token endpoint there": (Listener.TOKEN, lambda at: at.token() | elsewhere(at.tokens)),
}


def elsewhere(tokens: TokenEndpoint) -> Properties:
    return {"sasl.oauthbearer.token.endpoint.url": f"{tokens.issuer}/nothing"}


@pytest.mark.parametrize("way", RIGHT)
def test_the_right_login_is_let_in(at: Setting, way: str) -> None:
    listener, login = RIGHT[way]
    cluster = at.cluster(listener, login(at))
    assert at.topic in cluster.topics()
    must_read(cluster, at.topic)


@pytest.mark.parametrize("way", WRONG)
def test_the_wrong_login_is_kept_out(at: Setting, way: str) -> None:
    listener, login = WRONG[way]
    with pytest.raises(KafkaError) as refusal:
        at.cluster(listener, login(at)).describe([at.topic], REFUSED_SECONDS)
    assert PASSWORD not in str(refusal.value)
    assert CLIENT_SECRET not in str(refusal.value)


def test_the_scope_is_asked_for(at: Setting) -> None:
    before = len(at.tokens.given)
    assert at.topic in at.cluster(Listener.TOKEN, at.token()).topics()
    asked = at.tokens.given[before:]
    assert asked
    assert {(one.client, one.scope) for one in asked} == {(USER, "kafka")}


def test_an_https_endpoint_of_an_authority_that_the_system_trusts(at: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to be said of it."""
    system = str(at.certificates.authority.certificate)
    monkeypatch.setattr(render_librdkafka, "SYSTEM_BUNDLES", (system,))
    assert at.topic in at.cluster(Listener.TOKEN, at.https_token()).topics()
