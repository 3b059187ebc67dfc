"""Through librdkafka: each way to log in lets the right login in and keeps the wrong one out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import AclOperation

from tests.secure.broker import Listener, SecureBroker
from tests.secure.certificates import STORE_PASSWORD, Certificates, Identity
from tests.secure.conftest import CLIENT_SECRET, PASSWORD, USER
from tests.secure.token_endpoint import TokenEndpoint
from tests.waiting import until
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Record

REFUSED_SECONDS = 3.0
"""How long a wrong login is tried: librdkafka tries again and again, whatever the broker says."""

Properties = dict[str, str]


@dataclass(frozen=True)
class Setting:
    """The parts that a login is made of."""

    secure: SecureBroker
    certificates: Certificates
    tokens: TokenEndpoint
    topic: str
    """Which the user may read; it holds one record."""

    def cluster(self, listener: Listener, login: Properties) -> Cluster:
        address = {"bootstrap.servers": self.secure.address(listener), "security.protocol": listener.protocol}
        return Cluster({**address, **login})

    @property
    def trust(self) -> Properties:
        return {"ssl.ca.location": str(self.certificates.authority.certificate)}

    @property
    def mistaken_trust(self) -> Properties:
        return {"ssl.ca.location": str(self.certificates.other_authority.certificate)}

    def token(self, secret: str = CLIENT_SECRET, **others: str) -> Properties:
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": USER,
            "sasl.oauthbearer.client.secret": secret,
            "sasl.oauthbearer.token.endpoint.url": self.tokens.url,
            "sasl.oauthbearer.scope": "kafka",
            **{f"sasl.oauthbearer.{name}": value for name, value in others.items()},
        }

    def https_token(self) -> Properties:
        """By the endpoint's https address, whose certificate has to be trusted separately."""
        return self.token() | {"sasl.oauthbearer.token.endpoint.url": self.tokens.https_url}

    @property
    def https_trust(self) -> Properties:
        return {"https.ca.location": str(self.certificates.authority.certificate)}


def password(mechanism: str, user: str = USER, secret: str = PASSWORD) -> Properties:
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": secret}


def files(identity: Identity) -> Properties:
    return {"ssl.certificate.location": str(identity.certificate), "ssl.key.location": str(identity.key)}


def encrypted_files(identity: Identity, secret: str = STORE_PASSWORD) -> Properties:
    key = {"ssl.key.location": str(identity.encrypted_key), "ssl.key.password": secret}
    return {"ssl.certificate.location": str(identity.certificate), **key}


def store(identity: Identity) -> Properties:
    return {"ssl.keystore.location": str(identity.pkcs12), "ssl.keystore.password": STORE_PASSWORD}


EXTENSIONS = {"extensions": "logicalCluster=lkc-example,identityPoolId=pool-example"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
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


@pytest.fixture(scope="module")
def at(secure: SecureBroker, certificates: Certificates, tokens: TokenEndpoint) -> Setting:
    topic = "readable"
    filled(secure, topic)
    secure.allow(USER, AclOperation.READ, topic)
    setting = Setting(secure, certificates, tokens, topic)
    until(lambda: topic in setting.cluster(Listener.PASSWORD, password("PLAIN")).topics(), "it may be read")
    return setting


def filled(secure: SecureBroker, topic: str) -> None:
    """A topic with one record, made by one who may do anything."""
    anyone = Cluster({"bootstrap.servers": secure.embedded.bootstrap})
    anyone.create_topics([topic])
    anyone.publisher().publish(topic, b"a record")


@contextmanager
def reading(cluster: Cluster, topic: str) -> Iterator[Callable[[], list[Record]]]:
    """A call that gives what has come since the last."""
    reader = cluster.reader([topic])
    try:
        yield lambda: reader.poll(0.1)
    finally:
        reader.close()


def must_read(cluster: Cluster, topic: str) -> None:
    with reading(cluster, topic) as read:
        until(lambda: [record.value for record in read()] == [b"a record"], "the record")


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
