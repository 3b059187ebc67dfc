"""Logins that change under a running Turnout: it says so, goes on serving, and picks up what was put in their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, FILLED, fill, first_generation
from tests.secure.broker import Listener
from tests.secure.certificates import LOOPBACK
from tests.secure.logins import CLIENT_SECRET, USER, Properties, Setting, password
from tests.waiting import until

SOON_SECONDS = 60.0
"""Attempts follow each other after 1, 2, 4 … seconds, and each takes a few."""
TOKEN_SECONDS = 10.0


def prepared(at: Setting, spark: SparkSession, directory: Path, listener: Listener, login: Properties) -> Rig:
    """Topics with rows, which the login may read."""
    address = {"bootstrap.servers": at.secure.address(listener), "security.protocol": listener.protocol}
    rig = Rig(at.secure.embedded, spark, directory, CONFIG, login=address | login)
    needed = {rig.topics.left, rig.topics.right, rig.config.control.topic}
    at.secure.allow(login.get("sasl.username", USER), AclOperation.READ, *needed)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    until(lambda: needed <= set(rig.cluster.topics()), "the rights are known")
    return rig


def state(rig: Rig) -> str:
    return str(rig.tables.status_row()["state"])


def must_degrade(rig: Rig, why: str) -> None:
    """It says so, with the reason, and shows what it has."""

    def is_so() -> bool:
        status = rig.tables.status_row()
        return status["state"] == "degraded" and why in str(status["message"])

    until(is_so, f"it says that it is degraded: {why}", SOON_SECONDS)
    assert rig.table("final_ui").total() == FILLED


def must_show(rig: Rig, user: str) -> None:
    """A row that is sent now, and nothing that was sent is lost."""
    rows = rig.table("final_ui").total()
    rig.sender.send_row(rig.topics.left, {"userId": user, "name": "later"})
    until(lambda: rig.table("final_ui").total() == rows + 1, f"the row of {user}", SOON_SECONDS)


@pytest.fixture
def user(at: Setting) -> Iterator[str]:
    name = f"user-{uuid4().hex[:8]}"
    at.secure.set_password(name, "first-secret")
    yield name
    at.secure.remove_user(name)


@pytest.mark.timeout(300)
def test_a_password_that_is_changed(at: Setting, user: str, spark: SparkSession, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("first-secret\n")
    login = password("SCRAM-SHA-512", user, f"file:{secret}")
    rig = prepared(at, spark, tmp_path, Listener.BRIEF, login)
    with first_generation(rig) as running:
        at.secure.set_password(user, "second-secret")
        must_degrade(rig, "uthentication")  # when it has to log in again
        rig.sender.send_row(rig.topics.left, {"userId": "meanwhile", "name": "meanwhile"})
        secret.write_text("second-secret\n")
        until(lambda: rig.table("final_ui").total() == FILLED + 1, "the row that came meanwhile", SOON_SECONDS)
        until(lambda: state(rig) == "live", "all is well", SOON_SECONDS)
        assert running.control(joinType="full") == "applied"
        must_show(rig, "later")
        said = " ".join(rig.rows("orchestrator_logs")["msg"])
        assert f"The login to {rig.cluster.bootstrap} has changed, and is used from now on" in said
        assert "-secret" not in said


@pytest.mark.timeout(300)
def test_an_authority_that_is_replaced(at: Setting, spark: SparkSession, tmp_path: Path) -> None:
    """Before it is in its file the old connections go on; from then on all are new ones, which trust it."""
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(at.certificates.authority.certificate.read_bytes())
    rig = prepared(at, spark, tmp_path, Listener.TLS, {"ssl.ca.location": str(trusted)})
    with first_generation(rig) as running:
        before = running.live
        at.secure.present(Listener.TLS, at.certificates.other_authority.issue("kafka", LOOPBACK, file="moved"))
        try:
            must_show(rig, "before")
            trusted.write_bytes(at.certificates.other_authority.certificate.read_bytes())
            until(lambda: running.live is not before, "it begins anew", SOON_SECONDS)
            until(lambda: state(rig) == "live", "all is well", SOON_SECONDS)
            must_show(rig, "after")
            assert running.control(joinType="full") == "applied"
        finally:
            at.secure.present(Listener.TLS, at.certificates.server)


@pytest.mark.timeout(300)
def test_a_certificate_of_the_client_that_is_renewed(at: Setting, spark: SparkSession, tmp_path: Path) -> None:
    """First with another's key, as when two files are written one after the other: the old login goes on."""
    own, key = tmp_path / "client.pem", tmp_path / "client.key"
    own.write_bytes(at.certificates.client.certificate.read_bytes())
    key.write_bytes(at.certificates.client.key.read_bytes())
    renewed = at.certificates.authority.issue(USER, file="renewed-client")
    login = at.trust | {"ssl.certificate.location": str(own), "ssl.key.location": str(key)}
    rig = prepared(at, spark, tmp_path, Listener.MUTUAL, login)
    with first_generation(rig) as running:
        before = running.live
        own.write_bytes(renewed.certificate.read_bytes())
        must_degrade(rig, "has changed, and does not work")
        must_show(rig, "before")
        key.write_bytes(renewed.key.read_bytes())
        until(lambda: running.live is not before, "it begins anew", SOON_SECONDS)
        until(lambda: state(rig) == "live", "all is well", SOON_SECONDS)
        must_show(rig, "after")


@contextmanager
def changed_secrets(at: Setting) -> Iterator[None]:
    """What is changed here is put back."""
    try:
        yield
    finally:
        at.tokens.clients[USER] = CLIENT_SECRET


@pytest.mark.timeout(300)
def test_a_clients_secret_that_is_changed(at: Setting, spark: SparkSession, tmp_path: Path) -> None:
    """For tokens, which are asked for every few seconds."""
    secret = tmp_path / "client-secret"
    secret.write_text(CLIENT_SECRET)
    with at.tokens.lasting(TOKEN_SECONDS), changed_secrets(at):
        rig = prepared(at, spark, tmp_path, Listener.TOKEN, at.token(secret=f"${{file:{secret}}}"))
        with first_generation(rig):
            at.tokens.clients[USER] = "changed-secret"
            must_degrade(rig, "token")  # when it needs the next one
            secret.write_text("changed-secret")
            until(lambda: state(rig) == "live", "all is well", SOON_SECONDS)
            must_show(rig, "later")
            assert "-secret" not in " ".join(rig.rows("orchestrator_logs")["msg"])


@pytest.mark.timeout(300)
def test_a_certificate_of_the_broker_that_expires(at: Setting, spark: SparkSession, tmp_path: Path) -> None:
    """Connections that there are go on. A restart of the broker cuts them."""
    rig = prepared(at, spark, tmp_path, Listener.TLS, at.trust)
    with first_generation(rig) as running:
        at.secure.present(Listener.TLS, at.certificates.expired)
        try:
            at.secure.stop()
            at.secure.start()
            must_degrade(rig, "certificate")
            rig.sender.send_row(rig.topics.left, {"userId": "meanwhile", "name": "meanwhile"})
        finally:
            at.secure.present(Listener.TLS, at.certificates.server)
        until(lambda: rig.table("final_ui").total() == FILLED + 1, "the row that came meanwhile", SOON_SECONDS)
        until(lambda: state(rig) == "live", "all is well", SOON_SECONDS)
        assert running.control(joinType="full") == "applied"
