"""Every way to log in, in every spelling, through Spark and through the control client, to rows in `final_ui`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, FILLED, Running, fill, first_generation
from tests.secure.broker import OAUTH, PLAIN_MODULE, SCRAM_MODULE, Listener
from tests.secure.certificates import STORE_PASSWORD
from tests.secure.examples import Examples
from tests.secure.logins import (
    CLIENT_SECRET,
    CONNECTION,
    CONNECTION_USER,
    PASSWORD,
    USER,
    Properties,
    Setting,
    store,
)
from tests.secure.wiretap import Wiretap
from tests.waiting import until
from turnout.kafka.security import for_java, for_librdkafka

pytestmark = pytest.mark.timeout(300)  # with what all of them share: a broker, a token endpoint and Spark

SOON_SECONDS = 60.0
"""Several pipelines may be starting on this machine."""

# -- in Java's words, and in librdkafka's


def jaas(module: str, options: Properties) -> Properties:
    written = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {"sasl.jaas.config": f"{module} required {written};"}


def java_password(mechanism: str) -> Properties:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return {"sasl.mechanism": mechanism, **jaas(module, {"username": USER, "password": PASSWORD})}


def own_password(mechanism: str) -> Properties:
    return {"sasl.mechanisms": mechanism, "sasl.username": USER, "sasl.password": PASSWORD}


def java_trust(at: Setting) -> Properties:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(at.certificates.authority.certificate)}


def java_trust_text(at: Setting) -> Properties:
    text = at.certificates.authority.certificate.read_text()
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}


def own_trust_text(at: Setting) -> Properties:
    return {"ssl.ca.pem": at.certificates.authority.certificate.read_text()}


def java_identity_text(at: Setting, key: Path) -> Properties:
    chain = at.certificates.client.certificate.read_text()
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": key.read_text(),
    }


def own_identity(at: Setting, key: Path) -> Properties:
    return {"ssl.certificate.location": str(at.certificates.client.certificate), "ssl.key.location": str(key)}


def own_identity_text(at: Setting, key: Path) -> Properties:
    return {"ssl.certificate.pem": at.certificates.client.certificate.read_text(), "ssl.key.pem": key.read_text()}


KEY_PASSWORD = {"ssl.key.password": STORE_PASSWORD}


def stores(trust: Path, identity: Path, kind: str) -> Properties:
    return {
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": STORE_PASSWORD,
        "ssl.truststore.type": kind,
        "ssl.keystore.location": str(identity),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.keystore.type": kind,
        **KEY_PASSWORD,
    }


def jks(at: Setting) -> Properties:
    return stores(at.certificates.authority.jks, at.certificates.client.jks, "JKS")


def pkcs12(at: Setting) -> Properties:
    return stores(at.certificates.authority.pkcs12, at.certificates.client.pkcs12, "PKCS12")


EXTENSIONS = {"logicalCluster": "lkc-example", "identityPoolId": "pool-example"}
CLIENT = {"clientId": USER, "clientSecret": CLIENT_SECRET, "scope": "kafka"}


def java_token(url: str, options: Properties, package: str = OAUTH) -> Properties:
    """`package`: of the handler. Many guides name one that newer clients do not have."""
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.login.callback.handler.class": f"{package}.OAuthBearerLoginCallbackHandler",
        **jaas(f"{OAUTH}.OAuthBearerLoginModule", CLIENT | options),
    }


def java_extensions(at: Setting) -> Properties:
    """With what the https endpoint's certificate needs, for which 3.9 has no property."""
    trust = {f"extension_{name}": value for name, value in EXTENSIONS.items()} | java_trust(at)
    return java_token(at.tokens.https_url, trust)


def own_extensions(at: Setting) -> Properties:
    extensions = ",".join(f"{name}={value}" for name, value in EXTENSIONS.items())
    return at.https_token() | at.https_trust | {"sasl.oauthbearer.extensions": extensions}


# -- the table


@dataclass(frozen=True)
class Way:
    """A way to log in. Each column is one spelling of it; librdkafka has no words for JKS."""

    listener: Listener | None
    java: Callable[[Setting], Properties]
    own: Callable[[Setting], Properties] | None
    mixed: Callable[[Setting], Properties]

    def written(self, at: Setting) -> list[Properties]:
        spellings = [words(at) for words in (self.java, self.own, self.mixed) if words is not None]
        return [self.address(at) | spelling for spelling in spellings]

    def address(self, at: Setting) -> Properties:
        if self.listener is None:
            return {"bootstrap.servers": at.secure.embedded.bootstrap}
        return {"bootstrap.servers": at.secure.address(self.listener), "security.protocol": self.listener.protocol}


def passwords(mechanism: str) -> dict[str, Way]:
    """As they are pasted: Java's entry from one guide, a user and another form of the mechanism from another."""
    both = java_password(mechanism) | {"sasl.mechanisms": mechanism.lower(), "sasl.username": USER}
    return {
        f"SASL_PLAINTEXT {mechanism}": Way(
            Listener.PASSWORD,
            lambda _: java_password(mechanism),
            lambda _: own_password(mechanism),
            lambda _: both,
        ),
        f"SASL_SSL {mechanism}": Way(
            Listener.PASSWORD_TLS,
            lambda at: java_password(mechanism) | java_trust(at),
            lambda at: own_password(mechanism) | at.trust,
            lambda at: both | at.trust,
        ),
    }


WAYS: dict[str, Way] = {
    "PLAINTEXT": Way(
        None,
        lambda _: {"security.protocol": "PLAINTEXT"},
        lambda _: {"security.protocol": "plaintext"},
        lambda _: {},
    ),
    "SSL, PEM file": Way(
        Listener.TLS,
        java_trust,
        lambda at: at.trust,
        lambda at: java_trust(at) | at.trust,
    ),
    "SSL, PEM text": Way(
        Listener.TLS,
        java_trust_text,
        own_trust_text,
        lambda at: java_trust_text(at) | own_trust_text(at),
    ),
    "mutual SSL, PEM files": Way(
        Listener.MUTUAL,
        lambda at: (
            java_trust(at) | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(at.certificates.client.pem)}
        ),
        lambda at: at.trust | own_identity(at, at.certificates.client.key),
        lambda at: java_trust(at) | own_identity(at, at.certificates.client.key),
    ),
    "mutual SSL, PEM text": Way(
        Listener.MUTUAL,
        lambda at: java_trust_text(at) | java_identity_text(at, at.certificates.client.key),
        lambda at: own_trust_text(at) | own_identity_text(at, at.certificates.client.key),
        lambda at: own_trust_text(at) | java_identity_text(at, at.certificates.client.key),
    ),
    "mutual SSL, key with a password": Way(
        Listener.MUTUAL,
        lambda at: java_trust(at) | java_identity_text(at, at.certificates.client.encrypted_key) | KEY_PASSWORD,
        lambda at: at.trust | own_identity(at, at.certificates.client.usual_encrypted_key) | KEY_PASSWORD,
        lambda at: (
            at.trust
            | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(at.certificates.client.usual_encrypted_pem)}
            | KEY_PASSWORD
        ),
    ),
    "mutual SSL, key of the older kind": Way(
        Listener.MUTUAL,
        lambda at: java_trust(at) | java_identity_text(at, at.certificates.client.traditional_key),
        lambda at: at.trust | own_identity_text(at, at.certificates.client.traditional_key),
        lambda at: at.trust | java_identity_text(at, at.certificates.client.traditional_key),
    ),
    "mutual SSL, JKS": Way(Listener.MUTUAL, jks, None, lambda at: jks(at) | at.trust),
    "mutual SSL, PKCS12": Way(
        Listener.MUTUAL,
        pkcs12,
        lambda at: at.trust | store(at.certificates.client),
        lambda at: pkcs12(at) | at.trust,
    ),
    **passwords("PLAIN"),
    **passwords("SCRAM-SHA-256"),
    **passwords("SCRAM-SHA-512"),
    "SASL_PLAINTEXT OAUTHBEARER": Way(
        Listener.TOKEN,
        lambda at: java_token(at.tokens.url, {}),
        lambda at: at.token(),
        lambda at: java_token(at.tokens.url, {}, f"{OAUTH}.secured") | at.token(),
    ),
    "SASL_SSL OAUTHBEARER, extensions, https": Way(
        Listener.TOKEN_TLS,
        lambda at: java_trust(at) | java_extensions(at),
        lambda at: at.trust | own_extensions(at),
        lambda at: at.trust | java_extensions(at) | own_extensions(at),
    ),
}


# -- what each must come to


@pytest.mark.parametrize("name", WAYS)
def test_each_spelling_of_each_way_comes_to_rows(at: Setting, spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spellings that come to the very same properties for both clients go through them once."""
    different = {
        (frozenset(for_java(login).items()), frozenset(for_librdkafka(login).items())): login
        for login in WAYS[name].written(at)
    }
    for number, login in enumerate(different.values()):
        (directory := tmp_path / str(number)).mkdir()
        must_come_to_rows(at, spark, directory, login)


def test_both_clients_tell_the_broker_the_extensions(at: Setting, spark: SparkSession, tmp_path: Path) -> None:
    """A provider's broker goes by them; the one here takes any."""
    extensions = ",".join(f"{name}={value}" for name, value in EXTENSIONS.items())
    with Wiretap(at.secure.address(Listener.TOKEN)) as line:
        login = {"bootstrap.servers": line.address, "security.protocol": Listener.TOKEN.protocol}
        must_come_to_rows(at, spark, tmp_path, login | at.token(extensions=extensions))
        for client in (b"rdkafka", b"spark-kafka-source"):
            said = next(said for said in line.heard if client in said)
            assert [name for name, value in EXTENSIONS.items() if f"\x01{name}={value}\x01".encode() not in said] == []


def must_come_to_rows(at: Setting, spark: SparkSession, directory: Path, login: Properties) -> None:
    rig = prepared(at, spark, directory, login)
    with first_generation(rig) as running:
        assert running.control(joinType="inner") == "applied"
        rig.sender.send_row(rig.topics.right, {"userId": "u1", "balance": 2.0})
        until(
            lambda: rig.table("final_ui") == {("u0", "first", 1.0): 1, ("u1", "first", 2.0): 1},
            "the rows of the join",
            SOON_SECONDS,
        )


def prepared(at: Setting, spark: SparkSession, directory: Path, login: Properties) -> Rig:
    """Topics with rows, which the user may read."""
    rig = Rig(at.secure.embedded, spark, directory, CONFIG, login=login)
    needed = {rig.topics.left, rig.topics.right, rig.config.control.topic}
    for user in (USER, CONNECTION_USER):
        at.secure.allow(user, AclOperation.READ, *needed)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    until(lambda: needed <= set(rig.cluster.topics()), "the rights are known")
    return rig


# -- the examples, with the addresses of this machine

EXAMPLES = {
    "tls": Listener.TLS,
    "mutual-tls": Listener.MUTUAL,
    "mutual-tls-stores": Listener.MUTUAL,
    "plain": Listener.PASSWORD_TLS,
    "scram": Listener.PASSWORD_TLS,
    "scram-java": Listener.PASSWORD_TLS,
    "oauth": Listener.TOKEN_TLS,
    "oauth-java": Listener.TOKEN_TLS,
    "confluent-cloud": Listener.PASSWORD_TLS,
    "confluent-cloud-oauth": Listener.TOKEN_TLS,
    "amazon-msk-scram": Listener.PASSWORD_TLS,
    "azure-event-hubs": Listener.PASSWORD_TLS,
}
ENVIRONMENT = {
    "KAFKA_BOOTSTRAP": "kafka.example.com:9093",
    "KAFKA_PASSWORD": PASSWORD,
    "KAFKA_API_KEY": USER,
    "KAFKA_API_SECRET": PASSWORD,
    "CLIENT_ID": USER,
    "CLIENT_SECRET": CLIENT_SECRET,
    "MSK_USER": USER,
    "MSK_PASSWORD": PASSWORD,
    "EVENT_HUBS_CONNECTION": CONNECTION,
    "TRUSTSTORE_PASSWORD": STORE_PASSWORD,
    "KEYSTORE_PASSWORD": STORE_PASSWORD,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_comes_to_rows(at: Setting, spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Where it has an authority of its own it keeps it; a public one is played by the tests' own."""
    listener, secrets = EXAMPLES[name], {"kafka-password": PASSWORD, "client-secret": CLIENT_SECRET}
    login = dict(Examples(tmp_path, at.certificates, secrets, ENVIRONMENT).config(name).kafka)
    login["bootstrap.servers"] = at.secure.address(listener)
    if "ssl.truststore.location" not in login:
        login = at.trust | login
    if "sasl.oauthbearer.token.endpoint.url" in login:
        login = at.https_trust | login | {"sasl.oauthbearer.token.endpoint.url": at.tokens.https_url}
    assert login["security.protocol"] == listener.protocol
    must_come_to_rows(at, spark, tmp_path, login)


# -- tokens that do not last

TOKEN_SECONDS = 10.0
"""Clients ask for the next token when four fifths are over: a busy machine needs a moment for that."""
LIFETIMES = 3


@pytest.fixture
def short_tokens(at: Setting) -> Iterator[None]:
    with at.tokens.lasting(TOKEN_SECONDS):
        yield


@contextmanager
def running_by_token(at: Setting, spark: SparkSession, directory: Path) -> Iterator[Running]:
    login = WAYS["SASL_PLAINTEXT OAUTHBEARER"].written(at)[0]
    with first_generation(prepared(at, spark, directory, login)) as running:
        yield running


def shows(rig: Rig, user: str) -> bool:
    return user in set(rig.rows("final_ui")["userId"])


def test_rows_go_on_coming_while_tokens_expire(
    at: Setting, spark: SparkSession, tmp_path: Path, short_tokens: None
) -> None:
    with running_by_token(at, spark, tmp_path) as running:
        rig, end = running.rig, time.time() + LIFETIMES * TOKEN_SECONDS
        for number in takewhile(lambda _: time.time() < end, count()):
            user = f"later{number}"
            rig.sender.send_row(rig.topics.left, {"userId": user, "name": "later"})
            until(partial(shows, rig, user), "the next row", SOON_SECONDS)
        assert running.control(joinType="full") == "applied"
        assert "degraded" not in running.states


def test_a_token_endpoint_that_is_down_for_a_while_costs_no_row(
    at: Setting, spark: SparkSession, tmp_path: Path, short_tokens: None
) -> None:
    with running_by_token(at, spark, tmp_path) as running:
        rig = running.rig
        at.tokens.stop()
        until(lambda: "degraded" in running.states, "it says so when the token has expired", SOON_SECONDS)
        rig.sender.send_row(rig.topics.left, {"userId": "meanwhile", "name": "meanwhile"})
        assert rig.table("final_ui").total() >= FILLED
        at.tokens.start()
        until(lambda: rig.table("final_ui").total() == FILLED + 1, "the row that came meanwhile", SOON_SECONDS)
        assert shows(rig, "meanwhile")
        assert running.control(joinType="full") == "applied"
        until(lambda: rig.tables.status_row()["state"] == "live", "all is well", SOON_SECONDS)
