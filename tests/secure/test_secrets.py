"""Logins in files that change while they are used; and what is said of those that do not work, without secrets."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation

from tests.secure.broker import Listener
from tests.secure.certificates import STORE_PASSWORD
from tests.secure.logins import (
    PASSWORD,
    REFUSED_SECONDS,
    USER,
    Properties,
    Setting,
    encrypted_files,
    files,
    is_in,
    password,
    store,
)
from tests.waiting import until
from turnout.errors import ConfigError, KafkaError, NotAllowed
from turnout.kafka.client import Cluster
from turnout.kafka.topic_watch import TopicWatch

SOON_SECONDS = 30.0


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text("first\n")
    return file


def by_file(at: Setting, user: str, secret: Path, listener: Listener = Listener.PASSWORD) -> Cluster:
    cluster = at.cluster(listener, password("SCRAM-SHA-512", user, f"file:{secret}"))
    until(lambda: is_in(at, cluster), "the first password is good")
    return cluster


# Logins that change


def test_a_password_that_changes_on_both_sides_is_picked_up(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret)
    before = cluster.credentials
    at.secure.set_password(user, "second")
    secret.write_text("second")
    until(lambda: is_in(at, cluster) and cluster.credentials is not before, "the second is used", SOON_SECONDS)
    assert cluster.login_trouble is None
    assert is_in(at, cluster)


def test_a_password_that_does_not_work_yet_leaves_the_one_before_in_use(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret)
    before = cluster.credentials
    secret.write_text("second-to-be")
    assert is_in(at, cluster)
    assert cluster.credentials is before
    trouble = str(cluster.login_trouble)
    assert trouble.startswith(f"the login to {cluster.bootstrap} has changed, and does not work: ")
    assert "Authentication failed" in trouble
    assert "second-to-be" not in trouble
    secret.write_text("first")
    assert is_in(at, cluster)
    assert cluster.login_trouble is None
    assert cluster.credentials is before


def test_a_file_that_is_gone_or_empty_for_a_moment_changes_nothing(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret)
    before = cluster.credentials
    for change in (secret.unlink, lambda: secret.write_text("")):
        change()
        assert is_in(at, cluster)
        assert cluster.credentials is before
        assert cluster.login_trouble is None


def test_neither_login_works_and_the_newer_ones_reason_is_told(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret, Listener.BRIEF)
    at.secure.set_password(user, "third")
    until(lambda: not is_in(at, cluster), "the first is refused", SOON_SECONDS)
    secret.write_text("second")
    with pytest.raises(
        KafkaError, match=r"has changed, and does not work: .*Authentication failed.*; nor does the one"
    ):
        cluster.describe([at.topic], REFUSED_SECONDS)
    secret.write_text("third")
    until(lambda: is_in(at, cluster), "the third is used, though the first is refused", SOON_SECONDS)


def test_certificates_that_are_replaced_on_disk(at: Setting, tmp_path: Path) -> None:
    trusted, own = tmp_path / "ca.pem", tmp_path / "client.pem"
    trusted.write_bytes(at.certificates.authority.certificate.read_bytes())
    own.write_bytes(at.certificates.client.pem.read_bytes())
    pem = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(own)}
    cluster = at.cluster(Listener.MUTUAL, {"ssl.ca.location": str(trusted), **pem})
    assert is_in(at, cluster)
    first = cluster.credentials
    for file, wrong in (
        (trusted, at.certificates.other_authority.certificate),
        (own, at.certificates.stranger.pem),
        (own, at.certificates.authority.certificate),
    ):
        right = file.read_bytes()
        file.write_bytes(wrong.read_bytes())
        assert is_in(at, cluster)
        assert cluster.login_trouble
        assert cluster.credentials is first
        file.write_bytes(right + b"renewed\n")
        until(lambda before=first: is_in(at, cluster) and cluster.credentials is not before, "it is used")  # type: ignore[misc]
        first = cluster.credentials


def test_a_watch_ends_with_the_login_that_it_began_with(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret)
    lost: list[KafkaError] = []
    troubles: list[str | None] = []
    watch = TopicWatch(cluster, cluster.credentials, cluster.states([at.topic]), lost.append, troubles.append)
    watch.start()
    try:
        secret.write_text("second")
        until(lambda: troubles, "it says that the login does not work", SOON_SECONDS)
        assert "has changed, and does not work" in str(troubles[0])
        assert not lost
        at.secure.set_password(user, "second")
        until(lambda: lost, "it says that there is another", SOON_SECONDS)
        assert str(lost[0]) == f"the login to {cluster.bootstrap} has changed: going on with the new one"
    finally:
        watch.stop()


def test_a_publisher_takes_the_new_login_too(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret, Listener.BRIEF)
    publisher = cluster.publisher()
    topic = f"topic-{uuid4().hex[:8]}"
    Cluster({"bootstrap.servers": at.secure.embedded.bootstrap}).create_topics([topic])
    at.secure.allow(user, AclOperation.WRITE, topic)
    until(lambda: published(publisher.publish, topic), "the first password is good")
    at.secure.set_password(user, "second")
    until(lambda: not is_in(at, cluster), "the first is refused", SOON_SECONDS)
    secret.write_text("second")
    until(lambda: is_in(at, cluster), "the second is used", SOON_SECONDS)
    assert published(publisher.publish, topic)


def published(publish: Callable[[str, bytes], object], topic: str) -> bool:
    try:
        publish(topic, b"a record")
    except KafkaError:
        return False
    return True


# What is said


@pytest.mark.parametrize(
    ("listener", "login", "said"),
    [
        (Listener.MUTUAL, lambda at: at.trust | encrypted_files(at.certificates.client, "wrong-secret"), "ssl.key"),
        (
            Listener.MUTUAL,
            lambda at: at.trust | store(at.certificates.client) | {"ssl.keystore.password": "wrong-secret"},
            "ssl.keystore",
        ),
        (Listener.TLS, lambda _: {"ssl.ca.location": "/none/ca.pem"}, "ssl.ca.location"),
        (
            Listener.MUTUAL,
            lambda at: (
                at.trust | files(at.certificates.client) | {"ssl.key.location": str(at.certificates.stranger.key)}
            ),
            "key values mismatch",
        ),
    ],
    ids=["key password", "store password", "missing file", "another's key"],
)
def test_what_no_client_can_begin_with_is_said_in_words(
    at: Setting, listener: Listener, login: Callable[[Setting], Properties], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        at.cluster(listener, login(at))
    assert said in str(refused.value)
    assert "wrong-secret" not in str(refused.value)
    assert STORE_PASSWORD not in str(refused.value)


def test_the_most_telling_reason_is_kept(at: Setting) -> None:
    cluster = at.cluster(Listener.PASSWORD, password("SCRAM-SHA-512", secret="wrong-secret"))
    for _ in range(3):
        with pytest.raises(KafkaError, match="Authentication failed"):
            cluster.describe([at.topic], REFUSED_SECONDS)


def test_publishing_with_a_wrong_password_says_so(at: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.kafka.client.REQUEST_SECONDS", REFUSED_SECONDS)
    cluster = at.cluster(Listener.PASSWORD, password("SCRAM-SHA-512", secret="wrong-secret"))
    with pytest.raises(KafkaError, match=r"cannot publish to topic .*Authentication failed") as refused:
        cluster.publisher().publish(at.topic, b"a record")
    assert "wrong-secret" not in str(refused.value)


def test_publishing_without_the_right_to_says_so_and_what_to_do(at: Setting) -> None:
    with pytest.raises(NotAllowed) as refused:
        at.cluster(Listener.PASSWORD, password("PLAIN")).publisher().publish(at.topic, b"a record")
    assert str(refused.value) == (
        f"this login may not write to topic '{at.topic}' on {at.secure.address(Listener.PASSWORD)}: "
        "ask for the right to WRITE to it, or publish the message yourself"
    )


def test_a_reader_knows_why_nothing_comes(at: Setting, user: str, secret: Path) -> None:
    cluster = by_file(at, user, secret, Listener.BRIEF)
    reader = cluster.reader([at.topic])
    try:
        until(lambda: reader.poll(0.1), "the record")
        assert reader.trouble is None
        at.secure.set_password(user, "second")
        until(lambda: not reader.poll(0.1) and "uthentication" in str(reader.trouble), "it is refused", SOON_SECONDS)
    finally:
        reader.close()


def test_a_cluster_does_not_print_its_secrets(at: Setting) -> None:
    cluster = at.cluster(Listener.PASSWORD, password("PLAIN"))
    shown = f"{cluster.properties} {cluster.credentials} {vars(cluster)} {vars(cluster._link)}"
    assert PASSWORD not in shown
    assert USER in shown
