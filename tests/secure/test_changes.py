"""What changes while clients are connected: rights, passwords, tokens, certificates. And that it can be mended."""

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation

from tests.secure.broker import BRIEF_SECONDS, Listener
from tests.secure.logins import (
    CLIENT_SECRET,
    REFUSED_SECONDS,
    USER,
    Setting,
    filled,
    is_in,
    password,
    reading,
)
from tests.secure.token_endpoint import AUDIENCE
from tests.waiting import until
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster, Record

TOKEN_SECONDS = 5.0
SOON_SECONDS = 30.0
"""librdkafka asks again for a token ten seconds after it was refused one."""


@pytest.fixture
def topic(at: Setting) -> str:
    """One that the user may not even know of."""
    name = f"topic-{uuid4().hex[:8]}"
    filled(at.secure, name)
    return name


@pytest.fixture
def short_tokens(at: Setting) -> Iterator[None]:
    with at.tokens.lasting(TOKEN_SECONDS):
        yield


def by_password(at: Setting) -> Cluster:
    return at.cluster(Listener.PASSWORD, password("SCRAM-SHA-512"))


def must_be_let_in(at: Setting, cluster: Cluster) -> None:
    until(lambda: is_in(at, cluster), "it is let in", SOON_SECONDS)


def is_out(at: Setting, cluster: Cluster) -> bool:
    """For good: a connection that is lost and made again is not."""
    return not is_in(at, cluster) and not is_in(at, cluster)


def fails(call: Callable[[], object]) -> bool:
    try:
        call()
    except KafkaError:
        return True
    return False


def came(read: Callable[[], list[Record]]) -> list[Record]:
    """What has come, as long as reading may still fail."""
    try:
        return read()
    except KafkaError:
        return []


def test_a_topic_that_may_not_be_described(at: Setting, topic: str) -> None:
    cluster = by_password(at)
    assert at.topic in cluster.topics()
    assert topic not in cluster.topics()
    with pytest.raises(KafkaError, match=topic):
        cluster.describe([topic])


def test_a_topic_that_may_not_be_read(at: Setting, topic: str) -> None:
    at.secure.allow(USER, AclOperation.DESCRIBE, topic)
    cluster = by_password(at)
    until(lambda: topic in cluster.topics(), "it may be described")
    with reading(cluster, topic) as read:
        until(lambda: fails(read), "it may not be read")
        at.secure.allow(USER, AclOperation.READ, topic)
        until(lambda: came(read), "now it may, without being opened again")


def test_a_topic_that_may_not_be_written(at: Setting) -> None:
    with pytest.raises(KafkaError, match=at.topic):
        by_password(at).publisher().publish(at.topic, b"another record")


def test_a_right_that_is_revoked_while_reading(at: Setting, topic: str) -> None:
    at.secure.allow(USER, AclOperation.READ, topic)
    cluster = by_password(at)
    until(lambda: topic in cluster.topics(), "it may be read")
    with reading(cluster, topic) as read:
        until(read, "the record")
        at.secure.revoke(USER, AclOperation.READ, topic)
        until(lambda: fails(read), "the reader is told")


def test_a_password_that_is_changed(at: Setting, user: str) -> None:
    def cluster(secret: str) -> Cluster:
        return at.cluster(Listener.PASSWORD, password("SCRAM-SHA-256", user, secret))

    until(lambda: is_in(at, cluster("first")), "the first password is good")
    at.secure.set_password(user, "second")
    until(lambda: is_in(at, cluster("second")), "the second is good")
    assert not is_in(at, cluster("first"))


def test_a_login_that_is_asked_for_again(at: Setting, user: str) -> None:
    """The same client all the time: it is out a while after the change, and in again when that is undone."""
    cluster = at.cluster(Listener.BRIEF, password("SCRAM-SHA-512", user, "first"))
    must_be_let_in(at, cluster)
    at.secure.set_password(user, "second")
    until(lambda: is_out(at, cluster), "the login is over", BRIEF_SECONDS + SOON_SECONDS)
    at.secure.set_password(user, "first")
    must_be_let_in(at, cluster)


def test_tokens_are_renewed(at: Setting, short_tokens: None) -> None:
    cluster = at.cluster(Listener.TOKEN, at.token())
    must_be_let_in(at, cluster)
    before = len(at.tokens.given)
    until(lambda: is_in(at, cluster) and len(at.tokens.given) >= before + 2, "new tokens", SOON_SECONDS)
    must_be_let_in(at, cluster)


def test_a_token_outlives_its_endpoint(at: Setting) -> None:
    cluster = at.cluster(Listener.TOKEN, at.token())
    must_be_let_in(at, cluster)
    at.tokens.stop()
    try:
        assert is_in(at, cluster)
    finally:
        at.tokens.start()


def test_a_token_endpoint_that_is_down_for_a_while(at: Setting, short_tokens: None) -> None:
    cluster = at.cluster(Listener.TOKEN, at.token())
    must_be_let_in(at, cluster)
    at.tokens.stop()
    last = at.tokens.given[-1]
    until(lambda: time.time() > last.expires, "the token has expired", 2 * TOKEN_SECONDS)
    assert not is_in(at, cluster)
    at.tokens.start()
    must_be_let_in(at, cluster)
    assert at.tokens.given[-1] is not last


def test_a_token_endpoint_that_is_down_at_the_start(at: Setting) -> None:
    at.tokens.stop()
    try:
        cluster = at.cluster(Listener.TOKEN, at.token())
        with pytest.raises(KafkaError):
            cluster.describe([at.topic], REFUSED_SECONDS)
    finally:
        at.tokens.start()
    must_be_let_in(at, cluster)


def test_a_client_secret_that_is_changed(at: Setting) -> None:
    at.tokens.clients[USER] = "changed"
    try:
        must_be_let_in(at, at.cluster(Listener.TOKEN, at.token(secret="changed")))
        assert not is_in(at, at.cluster(Listener.TOKEN, at.token()))
    finally:
        at.tokens.clients[USER] = CLIENT_SECRET


def test_a_token_that_is_meant_for_others(at: Setting) -> None:
    at.tokens.audience = "somebody-else"
    try:
        assert not is_in(at, at.cluster(Listener.TOKEN, at.token()))
    finally:
        at.tokens.audience = AUDIENCE


def test_a_certificate_that_is_replaced(at: Setting) -> None:
    at.secure.present(Listener.TLS, at.certificates.expired)
    try:
        cluster = at.cluster(Listener.TLS, at.trust)
        assert not is_in(at, cluster)
    finally:
        at.secure.present(Listener.TLS, at.certificates.server)
    must_be_let_in(at, cluster)
