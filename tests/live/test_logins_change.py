"""Logins that change under a running Turnout: it says so, goes on serving, and picks up what was put in their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Self
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclOperation
from pyspark.sql import SparkSession

from tests.histories import encode
from tests.live.rig import Rig
from tests.live.running import CONFIG, FILLED, fill, first_generation
from tests.secure.broker import Listener
from tests.secure.certificates import LOOPBACK
from tests.secure.logins import CLIENT_SECRET, USER, Properties, Setting, password
from tests.waiting import until
from turnout.bus.announcer import Announcer
from turnout.bus.bulletin import Row, Showing, Undo
from turnout.bus.lease import Lease, Tenure
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.config import Config, load
from turnout.follower import Follower
from turnout.kafka.client import Cluster
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.pipeline.manifest import fingerprint
from turnout.schema import JoinType, Topics
from turnout.tables.delta import ROW
from turnout.tables.public import STATUS_ROW, PublicTables

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


# -- of a server that shows what another Turnout leads to

DATA = Topics("users", "accounts")
"""Which nobody reads here: the leader has no Spark."""
PIPELINE = "a" * 12


class Leader:
    """Holds the lease and tells what it shows, as a Turnout does, with a login of its own."""

    def __init__(self, config: Config, bus: Cluster) -> None:
        self._config, self._bus, self._topics = config, bus, BusTopics(config.changelog.prefix)
        self._publisher, self._sent = bus.publisher(), 0
        self.deposed_by: list[str] = []
        self._held = Event()
        self._lease = Lease(bus, self._topics, "the leader", "a home", self._held.set, self.deposed_by.append)

    def __enter__(self) -> Self:
        self._lease.start()
        until(self._held.is_set, "it leads", SOON_SECONDS)
        self._announcer = Announcer(self._bus, self._topics, "the leader", self._lease.term)
        self._bus.create_topics([self._topics.changelog(PIPELINE), self._topics.rejected(PIPELINE)])
        self._announcer.tell(Undo(None), self._status(), self._showing())
        self._announcer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._announcer.stop()
        self._lease.stop()

    @property
    def tenure(self) -> Tenure | None:
        return self._lease.leader

    def send(self, user: str) -> None:
        """A row of the users, as its pipeline would."""
        row = {"v": {"userId": user}, "t": 0, "o": self._sent, "p": 0}
        record = encode({"k": user, "l": [row], "ln": 1, "rn": 0, "at": f"l/0/{self._sent}"})
        self._publisher.publish(self._topics.changelog(PIPELINE), record, user.encode())
        self._sent += 1

    def say(self, line: str) -> None:
        """In its log."""
        self._announcer.tell(Row("orchestrator_logs", line, {"ts": "now", "level": "INFO", "msg": line}))

    def _status(self) -> Row:
        shown = {"usersTopic": DATA.left, "accountsTopic": DATA.right, "joinType": "left", "lastApplied": None}
        return Row("orchestrator_status", STATUS_ROW, shown | {"state": "live", "generation": 1, "message": "live"})

    def _showing(self) -> Showing:
        starts = {topic: {"0": 0} for topic in (DATA.left, DATA.right)}
        columns = fingerprint(self._config.join_schema())
        return Showing(1, Desired(DATA, JoinType.LEFT), PIPELINE, self._topics.prefix, starts, columns)


class Server:
    """What `turnout serve` consists of, but for HTTP."""

    def __init__(self, config: Config, bus: Cluster) -> None:
        self._tables = PublicTables(config)
        self._tables.status(Status(Desired(DATA, JoinType.LEFT), None, State.STARTING, 0, "starting"))
        self.lease = Lease(bus, BusTopics(config.changelog.prefix), "the server")
        self._follower = Follower(config, bus, bus, self._tables, Intake(), lambda: self.lease.leader is not None)

    def __enter__(self) -> Self:
        self.lease.start()
        self._follower.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._follower.stop()
        self.lease.stop()

    @property
    def users(self) -> set[object]:
        return set(self._tables.registry.snapshot("users_ui").rows["userId"])

    @property
    def lines(self) -> list[object]:
        """Of the leader's log."""
        return self._tables.registry.snapshot("orchestrator_logs").rows[ROW].to_list()

    @property
    def said(self) -> tuple[str, str]:
        row = self._tables.status_row()
        return str(row["state"]), str(row["message"])


@pytest.mark.timeout(300)
def test_a_password_of_a_server_that_is_changed(
    at: Setting, user: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it reads of the bus it reads anew: the bulletin, the changelog and the lease."""
    secret = tmp_path / "password"
    secret.write_text("first-secret\n")
    prefix = f"led-{uuid4().hex[:8]}-"
    config = load(None, env={}, overrides={"changelog.prefix": prefix})
    bus = at.cluster(Listener.BRIEF, password("SCRAM-SHA-512", user, f"file:{secret}"))
    at.secure.allow_prefixed(user, prefix, AclOperation.READ)
    caplog.set_level("INFO", "turnout")
    with Leader(config, Cluster({"bootstrap.servers": at.secure.embedded.bootstrap})) as leader:
        leader.send("before")
        with Server(config, bus) as server:
            until(lambda: server.users == {"before"} and server.said[0] == "live", "it shows", SOON_SECONDS)
            led_by, first = server.lease.leader, bus.credentials
            assert led_by is not None
            at.secure.set_password(user, "second-secret")

            def is_out() -> bool:
                return server.said[0] == "degraded" and "uthentication" in server.said[1]

            until(is_out, "it says why it reads nothing", SOON_SECONDS)  # when it has to log in again
            assert server.users == {"before"}
            leader.send("meanwhile")
            leader.say("meanwhile")
            secret.write_text("second-secret\n")
            until(lambda: bus.credentials is not first, "there is another login", SOON_SECONDS)
            leader.send("later")
            leader.say("later")
            until(lambda: server.users == {"before", "meanwhile", "later"}, "all rows", SOON_SECONDS)
            until(lambda: server.lines == ["meanwhile", "later"], "all that the leader has said", SOON_SECONDS)
            until(lambda: server.lease.leader == led_by, "it hears who leads", SOON_SECONDS)
            until(lambda: server.said == ("live", "live"), "all is well", SOON_SECONDS)
            assert leader.tenure == led_by
            assert not leader.deposed_by
    assert f"The login to {bus.bootstrap} has changed, and is used from now on" in caplog.text
    assert "-secret" not in caplog.text
