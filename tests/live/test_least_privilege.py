"""The least that Turnout may be allowed: the rights that the document names, and no others."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from tests.live.rig import Rig, Sender
from tests.live.running import CONFIG, fill, first_generation
from tests.secure.broker import Listener
from tests.secure.examples import Examples
from tests.secure.logins import PASSWORD, Properties, Setting, password
from tests.secure.rights import Rights, documented_rights
from tests.torture.process import ServiceProcess, Unreachable
from tests.waiting import until
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster
from turnout.pipeline.running import RunningPipeline

SOON_SECONDS = 60.0
"""Several pipelines may be starting on this machine."""
SERVICE_SECONDS = 180.0
"""For a Spark of its own."""

pytestmark = pytest.mark.timeout(2 * SERVICE_SECONDS + 60)


def user_of(at: Setting, name: str) -> Properties:
    """The login of a user who may do nothing yet."""
    at.secure.set_password(name, PASSWORD)
    address = {"bootstrap.servers": at.secure.address(Listener.PASSWORD), "security.protocol": "SASL_PLAINTEXT"}
    return address | password("SCRAM-SHA-512", name)


def allow(at: Setting, user: str, rights: Rights, topics: Iterable[str]) -> None:
    """What a command of the document grants, on these topics or on those that begin as it says."""
    for operation in rights.operations:
        if rights.is_prefix:
            at.secure.allow_prefixed(user, rights.topics[0], operation)
        else:
            at.secure.allow(user, operation, *topics)


def may_publish(rig: Rig, value: bytes) -> bool:
    try:
        rig.cluster.publisher().publish(rig.config.control.topic, value)
    except KafkaError:
        return False
    return True


def test_the_rights_that_are_documented_are_all_that_is_needed(
    at: Setting, spark: SparkSession, tmp_path: Path
) -> None:
    """No group, nothing of the cluster. A control message comes from somebody else; what is written goes to the bus."""
    to_read, to_publish, to_write, *_ = documented_rights()
    rig = Rig(
        at.secure.embedded, spark, tmp_path, CONFIG, login=user_of(at, "reader"), bus_login=user_of(at, "bus-writer")
    )
    control, others = rig.config.control.topic, (f"other-{rig.topics.left}", f"other-{rig.topics.right}")
    rig.admin.create_topics(others)
    needed = {rig.topics.left, rig.topics.right, control, *others}
    allow(at, "reader", to_read, needed)
    allow(at, "bus-writer", to_write, [])
    fill(rig, rig.topics.left, rig.topics.right, "first")
    fill(rig, *others, "other")
    until(lambda: needed <= set(rig.cluster.topics()), "the rights are known")
    assert set(rig.cluster.topics()) == needed
    with first_generation(rig) as running:
        assert isinstance(running.live, RunningPipeline)
        left_behind = running.live.manifest.changelog_topic
        assert running.control(usersTopic=others[0], accountsTopic=others[1]) == "applied"
        until(lambda: set(rig.rows("final_ui")["name"]) == {"other"}, "the other topics' rows")
        until(lambda: left_behind not in rig.admin.topics(), "the bus is tidied up", SOON_SECONDS)
        message = b'{"joinType": "inner"}'
        assert not may_publish(rig, message)
        allow(at, "reader", to_publish, [control])
        until(lambda: may_publish(rig, message), "now it may")
        until(lambda: rig.tables.status_row()["joinType"] == "inner", "its own message is applied", SOON_SECONDS)


# -- as a person runs it

USERS = {"kafka": "turnout-reads", "control": "turnout-is-switched", "bus": "turnout-writes"}
"""Of the example."""
SERVERS_USERS = {"kafka": "turnout-measures", "control": "turnout-asks", "bus": "turnout-shows"}
"""Of a server beside it."""


@dataclass
class Example:
    """The one with a login for each Kafka, on topics of its own: a leader, and servers of what it leads to."""

    at: Setting
    home: Path
    leader: ServiceProcess = field(init=False)

    def __post_init__(self) -> None:
        self.topics = {name: f"{name}-{uuid4().hex[:8]}" for name in ("users", "accounts", "control", "others")}
        self.data = [self.topics[name] for name in ("users", "accounts", "others")]
        Cluster({"bootstrap.servers": self.at.secure.embedded.bootstrap}).create_topics([*self.topics.values()])
        self.sender = Sender(self.at.secure.embedded.bootstrap)

    def start(self, name: str, users: Mapping[str, str], command: str = "run") -> ServiceProcess:
        """Each of the users may do his part alone, which is for others to grant."""
        directory = self.home / name
        directory.mkdir()
        secrets = {f"{kafka}-password": f"{PASSWORD} of {user}" for kafka, user in users.items()}
        for kafka, user in users.items():
            self.at.secure.set_password(user, secrets[f"{kafka}-password"])
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        text = Examples(directory, self.at.certificates, secrets, {}).text("separate-logins")
        for kafka, user in users.items():
            text = text.replace(f"sasl.username: {USERS[kafka]}\n", f"sasl.username: {user}\n")
        (directory / "turnout.yaml").write_text(text)
        service = ServiceProcess(directory, port, command)
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in self._environment(port).items():
                patch.setenv(variable, value)
            service.start()
        return service

    def _environment(self, port: int) -> dict[str, str]:
        """What differs from the example on this machine: addresses, the authority, names of topics."""
        address, authority = self.at.secure.address(Listener.PASSWORD_TLS), self.at.certificates.authority.certificate
        here = {"SERVE__PORT": str(port), "STATE_DIR": "state", "SWITCH__READY_TIMEOUT_SECONDS": str(SERVICE_SECONDS)}
        here["CONTROL__TOPIC"] = self.topics["control"]
        for kafka in ("KAFKA", "CONTROL__KAFKA", "BUS"):
            here |= {f"{kafka}__BOOTSTRAP_SERVERS": address, f"{kafka}__SSL_CA_LOCATION": str(authority)}
        for table in ("users", "accounts"):
            here |= {f"TABLES__{table}__TOPIC": self.topics[table], f"TABLES__{table}__START": "earliest"}
        return {f"TURNOUT_{name}": value for name, value in here.items()}


@pytest.fixture(scope="module")
def example(at: Setting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    """Its leader shows a row."""
    example = Example(at, tmp_path_factory.mktemp("example"))
    topics, sender = example.topics, example.sender
    to_read, _, to_write, *_ = documented_rights()
    allow(at, USERS["kafka"], to_read, example.data)
    allow(at, USERS["control"], to_read, [topics["control"]])
    allow(at, USERS["bus"], to_write, [])
    sender.send_row(topics["users"], {"userId": "u1", "name": "first"})
    sender.send_row(topics["accounts"], {"userId": "u1", "balance": 1.0})
    sender.send_row(topics["others"], {"userId": "u1", "name": "other"})
    example.leader = example.start("leader", USERS)
    try:
        until(lambda: shown(example.leader) == {("first", 1.0)}, "the rows", SERVICE_SECONDS)
        yield example
    finally:
        example.leader.discard()


def shown(service: ServiceProcess) -> set[tuple[str, float | None]]:
    """The rows of the join; none as long as it does not answer."""
    with suppress(Unreachable):
        return {(row["name"], row["balance"]) for row in service.table("final_ui")[1]}
    return set()


def may_not_switch(service: ServiceProcess, example: Example) -> bool:
    """And is told which right is missing."""
    status, answer = service.post("/api/control", b'{"joinType": "inner"}')
    return status == 403 and f"may not write to topic '{example.topics['control']}'" in str(answer)


def test_a_whole_service_with_a_login_for_each_kafka(example: Example) -> None:
    """The example with three users, each of whom may do his part alone."""
    example.sender.send_row(example.topics["control"], {"usersTopic": example.topics["others"]})
    until(lambda: shown(example.leader) == {("other", 1.0)}, "the other topic's rows", SERVICE_SECONDS)
    assert may_not_switch(example.leader, example)
    assert example.leader.status()["state"] == "live"


def seen(service: ServiceProcess) -> dict[str, tuple[int, list[str]]]:
    """Table -> generation and rows; nothing as long as it does not answer."""
    found = {}
    with suppress(Unreachable):
        for name in [table["name"] for table in service.get("/api/tables")["tables"]]:
            generation, rows = service.table(name)
            found[name] = generation, sorted(map(repr, rows))
        return found
    return {}


def must_show_the_same(server: ServiceProcess, leader: ServiceProcess) -> None:
    until(lambda: (there := seen(leader)) and seen(server) == there, "it shows what the leader does", SOON_SECONDS)


def lag(service: ServiceProcess) -> set[int | None]:
    return set(service.status()["lag"].values())


def test_a_server_with_a_login_for_each_kafka(at: Setting, example: Example) -> None:
    """It only reads the bus, and reads neither data nor control messages."""
    _, to_publish, _, to_serve, to_measure = documented_rights()
    allow(at, SERVERS_USERS["bus"], to_serve, [])
    leader, server = example.leader, example.start("server", SERVERS_USERS, "serve")
    try:
        server.until_state("live", "", SERVICE_SECONDS)
        must_show_the_same(server, leader)
        assert shown(server)

        assert lag(server) == {None}
        allow(at, SERVERS_USERS["kafka"], to_measure, example.data)
        until(lambda: lag(server) == {0}, "the lag is known", SOON_SECONDS)
        offered = {topic["name"]: topic["messages"] for topic in server.get("/api/topics")["topics"]}
        assert offered == dict.fromkeys(example.data, 1)

        assert may_not_switch(server, example)
        for users in (example.topics["users"], example.topics["others"]):  # one of them is shown
            example.sender.send_row(users, {"userId": "u2", "name": "later"})
        until(lambda: ("later", None) in shown(server), "it goes on", SOON_SECONDS)
        must_show_the_same(server, leader)
        assert server.status()["state"] == "live"

        allow(at, SERVERS_USERS["control"], to_publish, [example.topics["control"]])
        until(lambda: server.post("/api/control", b'{"joinType": "inner"}')[0] == 200, "now it may", SERVICE_SECONDS)
        assert ("later", None) not in shown(server)
        must_show_the_same(server, leader)
    finally:
        server.discard()
