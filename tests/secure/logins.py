"""Logins as librdkafka spells them, and the parts that they are made of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.secure.broker import Listener, SecureBroker
from tests.secure.certificates import STORE_PASSWORD, Certificates, Identity
from tests.secure.token_endpoint import TokenEndpoint
from tests.waiting import until
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Record

USER = "turnout"
PASSWORD = "rails-and-switches"
CLIENT_SECRET = "signals-and-points"
CONNECTION_USER = "$ConnectionString"
CONNECTION = "Endpoint=sb://example.servicebus.example.com/;SharedAccessKeyName=turnout;SharedAccessKey=c3c=="
"""A user and a password as Azure Event Hubs wants them."""

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


def is_in(at: Setting, cluster: Cluster) -> bool:
    """Does this login get an answer?"""
    try:
        return cluster.describe([at.topic], REFUSED_SECONDS)[at.topic] is not None
    except KafkaError:
        return False
