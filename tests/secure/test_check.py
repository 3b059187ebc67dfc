"""`turnout check` against a real broker: every good login passes, and each wrong one gets the words that mend it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AclOperation

from tests.secure.broker import Listener
from tests.secure.certificates import DAY, STORE_PASSWORD, Span
from tests.secure.logins import (
    CLIENT_SECRET,
    PASSWORD,
    USER,
    Properties,
    Setting,
    encrypted_files,
    files,
    filled,
    password,
    store,
)
from turnout.check.clusters import clusters
from turnout.check.finding import Finding, Verdict
from turnout.config import Config, load
from turnout.kafka.client import Cluster
from turnout.kafka.diagnosis.reach import Server
from turnout.kafka.diagnosis.session import Session

TOPICS = ("check-users", "check-accounts", "check-control")
SEEN = "check-seen"
UNSEEN = "check-unseen"
SECRETS = (PASSWORD, CLIENT_SECRET, STORE_PASSWORD, "a-mistaken-secret")
HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
Way = Callable[[Setting], Properties]


@pytest.fixture(scope="module")
def here(at: Setting) -> Iterator[Setting]:
    """Three topics that the user may read, one that it may only know of, and one that it may not even know of."""
    for topic in (*TOPICS, SEEN, UNSEEN):
        filled(at.secure, topic)
    at.secure.allow(USER, AclOperation.READ, *TOPICS)
    at.secure.allow(USER, AclOperation.DESCRIBE, SEEN)
    yield at
    at.secure.revoke(USER, AclOperation.READ, *TOPICS)
    at.secure.revoke(USER, AclOperation.DESCRIBE, SEEN)


def config(at: Setting, listener: Listener, login: Properties, **others: str) -> Config:
    address = {"bootstrap.servers": at.secure.address(listener), "security.protocol": listener.protocol}
    topics = zip(("tables.users.topic", "tables.accounts.topic", "control.topic"), TOPICS, strict=True)
    given = {f"kafka.{name}": value for name, value in {**address, **login}.items()}
    return load(None, env={}, overrides={**dict(topics), **given, **others})


def found(settings: Config) -> dict[str, Finding]:
    """By the last words of the subject, without section and server; no secret is in any."""
    result = list(clusters(settings))
    assert not [secret for secret in SECRETS if secret in repr(result)]
    return {finding.subject.rpartition(", ")[2]: finding for finding in result}


def failure(settings: Config) -> Finding:
    """The one step that failed. What needs it was not checked."""
    result = found(settings)
    (failed,) = (finding for finding in result.values() if finding.verdict is Verdict.FAILED)
    assert result["read topic check-users (users)"].text == f"needs {failed.subject}"
    return failed


# What is right

RIGHT: dict[str, tuple[Listener, Way]] = {
    "TLS": (Listener.TLS, lambda at: at.trust),
    "TLS, truststore": (Listener.TLS, lambda at: truststore(at, STORE_PASSWORD)),
    "mutual TLS, PEM files": (Listener.MUTUAL, lambda at: at.trust | files(at.certificates.client)),
    "mutual TLS, encrypted key": (Listener.MUTUAL, lambda at: at.trust | encrypted_files(at.certificates.client)),
    "mutual TLS, PKCS12 store": (Listener.MUTUAL, lambda at: at.trust | store(at.certificates.client)),
    "mutual TLS, JKS store": (Listener.MUTUAL, lambda at: at.trust | jks(at)),
    "PLAIN": (Listener.PASSWORD, lambda _: password("PLAIN")),
    "SCRAM-SHA-256": (Listener.PASSWORD, lambda _: password("SCRAM-SHA-256")),
    "SCRAM-SHA-512, TLS": (Listener.PASSWORD_TLS, lambda at: at.trust | password("SCRAM-SHA-512")),
    "OAUTHBEARER": (Listener.TOKEN, lambda at: at.token()),
    "OAUTHBEARER, TLS, https": (Listener.TOKEN_TLS, lambda at: at.trust | at.https_trust | at.https_token()),
}


def truststore(at: Setting, secret: str) -> Properties:
    return {"ssl.truststore.location": str(at.certificates.authority.pkcs12), "ssl.truststore.password": secret}


def jks(at: Setting, secret: str = STORE_PASSWORD) -> Properties:
    return {"ssl.keystore.location": str(at.certificates.client.jks), "ssl.keystore.password": secret}


@pytest.mark.parametrize("way", RIGHT)
def test_a_good_login_passes(here: Setting, way: str) -> None:
    listener, login = RIGHT[way]
    result = found(config(here, listener, login(here)))
    for subject in ("resolve", "connect", "TLS", "login", "brokers", "read topic check-control (control messages)"):
        assert subject in result
    assert {finding.verdict for finding in result.values()} <= {Verdict.OK, Verdict.WARNING}, result


def test_what_is_said_of_a_good_login(here: Setting) -> None:
    result = found(config(here, Listener.TOKEN_TLS, here.trust | here.token()))
    assert result["resolve"].text == "127.0.0.1"
    assert result["connect"].text.startswith("to 127.0.0.1 in ")
    expires = here.certificates.server.expires
    assert "TLSv1.3, for localhost, 127.0.0.1, signed by CN=authority,O=Example, expires" in result["TLS"].text
    assert f"expires {expires:%Y-%m-%d %H:%M} UTC (in " in result["TLS"].text
    assert f"{here.tokens.url} gave one for {USER}, good for 5 min" in result["token"].text
    assert result["login"].text == f"OAUTHBEARER as the client {USER}"
    assert result["brokers"].text == f"{here.secure.address(Listener.TOKEN_TLS)} can be reached"
    assert result["read topic check-users (users)"].text == "records: 1, readable"


def test_a_certificate_that_ends_soon_is_a_warning(here: Setting) -> None:
    soon = here.certificates.authority.issue("kafka", ["localhost", "127.0.0.1"], Span.around_now(after=3 * DAY))
    here.secure.present(Listener.TLS, soon)
    try:
        result = found(config(here, Listener.TLS, here.trust))["TLS"]
    finally:
        here.secure.present(Listener.TLS, here.certificates.server)
    assert result.verdict is Verdict.WARNING
    assert "(in 2 days)" in result.text
    assert "renewed" in result.remedy


def test_the_old_name_of_the_handler_is_no_mistake(here: Setting) -> None:
    login = here.token() | {"sasl.login.callback.handler.class": HANDLER}
    result = found(config(here, Listener.TOKEN, login))
    assert "…oauthbearer.secured… is for clients before Kafka 4" in result["properties"].text
    assert result["login"].verdict is Verdict.OK


# What is wrong


class Wrong(NamedTuple):
    listener: Listener
    login: Way
    step: str
    reason: str
    remedy: str


WRONG: dict[str, Wrong] = {
    "unknown CA": Wrong(
        Listener.TLS, lambda at: at.mistaken_trust,
        "TLS", "signed by CN=authority,O=Example, which is not trusted", "(PEM) or ssl.truststore.location (JKS,",
    ),
    "no CA": Wrong(Listener.TLS, lambda _: {}, "TLS", "authority,O=Example, which is not trusted", "ssl.ca.location"),
    "expired": Wrong(Listener.EXPIRED, lambda at: at.trust, "TLS", "has expired: it was valid until", "renew"),
    "not valid yet": Wrong(
        Listener.NOT_YET_VALID, lambda at: at.trust,
        "TLS", "is not valid yet: it is from", "compare this machine's clock",
    ),
    "another host": Wrong(
        Listener.OTHER_HOST, lambda at: at.trust,
        "TLS", "is for kafka.example.com, not for 127.0.0.1", "advertised.listeners",
    ),
    "no client certificate": Wrong(
        Listener.MUTUAL, lambda at: at.trust, "TLS", "wants a certificate of the client", "ssl.keystore.location"
    ),
    "client certificate of another CA": Wrong(
        Listener.MUTUAL, lambda at: at.trust | files(at.certificates.stranger),
        "TLS", "refuses the client's certificate", "the broker's ssl.truststore.location",
    ),
    "client certificate expired": Wrong(
        Listener.MUTUAL, lambda at: at.trust | files(at.certificates.expired),
        "properties", "the client's certificate (CN=kafka,O=Example) has expired", "get a new one from CN=authority",
    ),
    "client certificate not valid yet": Wrong(
        Listener.MUTUAL, lambda at: at.trust | files(at.certificates.not_yet_valid),
        "properties", "is not valid yet", "compare this machine's clock",
    ),
    "another key": Wrong(
        Listener.MUTUAL,
        lambda at: at.trust | files(at.certificates.client) | {"ssl.key.location": str(at.certificates.stranger.key)},
        "properties", "the private key does not belong to the client's certificate", "made together",
    ),
    "PLAINTEXT to a TLS listener": Wrong(
        Listener.TLS, lambda _: {"security.protocol": "PLAINTEXT"},
        "TLS", "wants TLS, but security.protocol is PLAINTEXT", "set security.protocol to SSL; and name the authority",
    ),
    "PLAINTEXT to a TLS listener with a login": Wrong(
        Listener.PASSWORD_TLS, lambda _: {"security.protocol": "PLAINTEXT"},
        "TLS", "wants TLS", "set security.protocol to SASL_SSL and sasl.mechanism to PLAIN or SCRAM-SHA-256 or",
    ),
    "TLS to a listener without": Wrong(
        Listener.PASSWORD, lambda at: at.trust | {"security.protocol": "SSL"},
        "TLS", "speaks no TLS, but security.protocol is SSL", "set security.protocol to SASL_PLAINTEXT",
    ),
    "no login": Wrong(
        Listener.PASSWORD_TLS, lambda at: at.trust | {"security.protocol": "SSL"},
        "login", "wants a login, but security.protocol is SSL", "set security.protocol to SASL_SSL",
    ),
    "a login where there is none": Wrong(
        Listener.TLS, lambda at: at.trust | password("PLAIN") | {"security.protocol": "SASL_SSL"},
        "login", "has no login, but security.protocol is SASL_SSL", "set security.protocol to SSL",
    ),
    "wrong mechanism": Wrong(
        Listener.TOKEN, lambda _: password("SCRAM-SHA-512"),
        "login", "does not have the mechanism SCRAM-SHA-512: it has OAUTHBEARER", "set sasl.mechanism to OAUTHBEARER",
    ),
    "wrong password, PLAIN": Wrong(
        Listener.PASSWORD, lambda _: password("PLAIN", secret="a-mistaken-secret"),
        "login", f"refuses the user {USER} with the password that is given", "an API key and its secret",
    ),
    "wrong password, SCRAM": Wrong(
        Listener.PASSWORD_TLS, lambda at: at.trust | password("SCRAM-SHA-256", secret="a-mistaken-secret"),
        "login", f"refuses the user {USER} with the password that is given", f"users --entity-name {USER}",
    ),
    "invalid_client": Wrong(
        Listener.TOKEN, lambda at: at.token(secret="a-mistaken-secret"),
        "token", f"does not take the id {USER} with the secret that is given (invalid_client", "clientSecret",
    ),
    "invalid_scope": Wrong(
        Listener.TOKEN, lambda at: at.token(scope="everything"),
        "token", "the scope everything (invalid_scope", "sasl.oauthbearer.scope",
    ),
    "no token endpoint there": Wrong(
        Listener.TOKEN, lambda at: at.token() | {"sasl.oauthbearer.token.endpoint.url": f"{at.tokens.issuer}/nothing"},
        "token", "/nothing (HTTP 404)", "/.well-known/openid-configuration",
    ),
    "token endpoint down": Wrong(
        Listener.TOKEN, lambda at: at.token() | {"sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token"},
        "token", "nothing listens on 127.0.0.1:1", "sasl.oauthbearer.token.endpoint.url",
    ),
    "token endpoint of another CA": Wrong(
        Listener.TOKEN, lambda at: at.https_token(),
        "token", "signed by CN=authority,O=Example, which is not trusted", "https.ca.location",
    ),
    "token endpoint without TLS": Wrong(
        Listener.TOKEN,
        lambda at: at.token() | {"sasl.oauthbearer.token.endpoint.url": at.tokens.url.replace("http:", "https:")},
        "token", "does not answer as it should", "the right scheme (https or http)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WRONG)
def test_a_wrong_login_is_explained(here: Setting, way: str) -> None:
    wrong = WRONG[way]
    failed = failure(config(here, wrong.listener, wrong.login(here)))
    assert failed.subject.endswith(f", {wrong.step}")
    assert wrong.reason in failed.text
    assert wrong.remedy in failed.remedy


UNREADABLE: dict[str, tuple[Way, str]] = {
    "CA file": (lambda _: {"ssl.ca.location": "/nowhere/ca.pem"}, "/nowhere/ca.pem cannot be read: No such file"),
    "CA file that is none": (lambda _: {"ssl.ca.location": __file__}, "holds no certificate"),
    "truststore's password": (lambda at: truststore(at, "a-mistaken-secret"), "ssl.truststore.password is wrong"),
    "PKCS12 password": (
        lambda at: at.trust | store(at.certificates.client) | {"ssl.keystore.password": "a-mistaken-secret"},
        "ssl.keystore.password is wrong",
    ),
    "JKS password": (lambda at: at.trust | jks(at, "a-mistaken-secret"), "ssl.keystore.password is wrong"),
    "key's password": (
        lambda at: at.trust | encrypted_files(at.certificates.client, "a-mistaken-secret"),
        "ssl.key.password is wrong",
    ),
    "no password": (
        lambda at: at.trust | files(at.certificates.client) | {"ssl.key.location": encrypted_key(at)},
        "ssl.key.password",
    ),
    "key file": (
        lambda at: at.trust | files(at.certificates.client) | {"ssl.key.location": "/nowhere/k"},
        "/nowhere/k",
    ),
}


def encrypted_key(at: Setting) -> str:
    return str(at.certificates.client.encrypted_key)


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_a_mistake_in_the_configuration(here: Setting, what: str) -> None:
    login, words = UNREADABLE[what]
    failed = failure(config(here, Listener.MUTUAL, login(here)))
    assert failed.subject == "kafka, properties"
    assert words in failed.text


# Tokens that the endpoint gives, and brokers do not take


def test_a_token_for_others_is_explained_by_what_it_says(here: Setting) -> None:
    usual, here.tokens.audience = here.tokens.audience, "another-service"
    try:
        failed = failure(config(here, Listener.TOKEN, here.token()))
    finally:
        here.tokens.audience = usual
    assert failed.subject.endswith(", login")
    assert "the broker refuses the token" in failed.text
    assert f"issuer {here.tokens.issuer}, audience another-service, issued" in failed.text
    assert "expected.audience" in failed.remedy


def test_a_token_that_has_expired_speaks_of_clocks(here: Setting) -> None:
    usual, here.tokens.lifetime_seconds = here.tokens.lifetime_seconds, -3600.0
    try:
        failed = failure(config(here, Listener.TOKEN, here.token()))
    finally:
        here.tokens.lifetime_seconds = usual
    assert failed.subject == "kafka, token"
    assert "has expired already" in failed.text
    assert "clock" in failed.remedy


# Rights


def test_a_topic_with_empty_partitions_can_be_read(here: Setting) -> None:
    anyone = Cluster({"bootstrap.servers": here.secure.embedded.bootstrap})
    anyone.create_topics(["check-sparse"], partitions=6)
    anyone.publisher().publish("check-sparse", b"a record")
    result = found(config(here, Listener.TLS, here.trust, **{"tables.users.topic": "check-sparse"}))
    assert result["describe topic check-sparse (users)"].text == "partitions: 6"
    assert result["read topic check-sparse (users)"].text == "records: 1, readable"


def test_a_topic_that_may_not_be_read(here: Setting) -> None:
    result = found(config(here, Listener.PASSWORD, password("PLAIN"), **{"tables.users.topic": SEEN}))
    assert result[f"describe topic {SEEN} (users)"].verdict is Verdict.OK
    read = result[f"read topic {SEEN} (users)"]
    assert read.verdict is Verdict.FAILED
    assert read.text == f"User:{USER} may not read the topic {SEEN}"
    assert f"--add --allow-principal User:{USER} --operation READ --topic {SEEN}`" in read.remedy
    assert result["read topic check-accounts (accounts)"].verdict is Verdict.OK


def test_a_topic_that_may_not_be_known_of(here: Setting) -> None:
    result = found(config(here, Listener.PASSWORD, password("PLAIN"), **{"tables.users.topic": UNSEEN}))
    described = result[f"describe topic {UNSEEN} (users)"]
    assert described.verdict is Verdict.FAILED
    assert "may not describe" in described.text
    assert f"--operation READ --topic {UNSEEN}`" in described.remedy
    assert result[f"read topic {UNSEEN} (users)"].verdict is Verdict.NOT_CHECKED


def test_a_topic_that_is_not_there(here: Setting) -> None:
    described = found(config(here, Listener.TLS, here.trust, **{"control.topic": "check-nothing"}))[
        "describe topic check-nothing (control messages)"
    ]
    assert described.verdict is Verdict.FAILED
    assert "there is no topic check-nothing" in described.text


def test_without_the_right_to_publish_it_says_what_will_not_work(here: Setting) -> None:
    publish = "publish to topic check-control (control messages)"
    lacking = found(config(here, Listener.PASSWORD, password("PLAIN")))[publish]
    assert lacking.verdict is Verdict.WARNING
    assert "`turnout switch`, the page's dialog and POST /api/control will not work" in lacking.text
    assert "--operation WRITE --topic check-control`" in lacking.remedy
    assert found(config(here, Listener.TLS, here.trust))[publish].verdict is Verdict.OK


def test_control_messages_on_another_kafka_have_a_way_of_their_own(here: Setting) -> None:
    address = {"bootstrap.servers": here.secure.address(Listener.PASSWORD), "security.protocol": "SASL_PLAINTEXT"}
    login = address | password("PLAIN", secret="a-mistaken-secret")
    settings = config(here, Listener.TLS, here.trust, **{f"control.kafka.{name}": text for name, text in login.items()})
    result = {finding.subject: finding for finding in clusters(settings)}
    failed = f"control.kafka {address['bootstrap.servers']}, login"
    assert result[failed].verdict is Verdict.FAILED
    assert result["read topic check-users (users)"].verdict is Verdict.OK
    assert result["read topic check-control (control messages)"].text == f"needs {failed}"


def test_a_bus_without_rights(here: Setting) -> None:
    address = {"bootstrap.servers": here.secure.address(Listener.PASSWORD), "security.protocol": "SASL_PLAINTEXT"}
    bus = {f"bus.{name}": value for name, value in {**address, **password("PLAIN")}.items()}
    own = found(config(here, Listener.TLS, here.trust, **bus))["topics of its own"]
    assert own.verdict is Verdict.FAILED
    assert "--operation CREATE --operation DELETE" in own.remedy
    assert "--topic turnout- --resource-pattern-type prefixed" in own.remedy


def test_a_bus_with_rights(here: Setting) -> None:
    bus = {"bus.bootstrap.servers": here.secure.embedded.bootstrap}
    own = found(config(here, Listener.TLS, here.trust, **bus))["topics of its own"]
    assert own.text == "can be created and deleted"


# Servers and brokers


def test_one_server_that_lets_in_will_do_and_the_others_are_named(here: Setting) -> None:
    both = f"{here.secure.address(Listener.TLS)},127.0.0.1:1"
    result = list(clusters(config(here, Listener.TLS, here.trust | {"bootstrap.servers": both})))
    assert [finding.subject for finding in result if finding.verdict is Verdict.FAILED] == [
        "kafka 127.0.0.1:1, connect"
    ]
    assert {finding.verdict for finding in result if finding.subject.startswith("read")} == {Verdict.OK}


def test_a_broker_that_is_advertised_where_nobody_can_go(here: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' broker advertises what can be reached: one that cannot is put beside it."""
    log_in = Session._log_in
    monkeypatch.setattr(Session, "_log_in", lambda session: [*log_in(session), Server("broker-2.invalid", 9093)])
    failed = failure(config(here, Listener.TLS, here.trust))
    assert failed.subject == "kafka, brokers"
    assert "of 2 brokers that the cluster advertises, 1 cannot be used: broker-2.invalid:9093 (the name" in failed.text
    assert "advertised.listeners" in failed.remedy
