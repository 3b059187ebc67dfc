"""The least that Turnout may be allowed: the rights that the document names, and no others."""

import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
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
    to_read, to_publish, to_write = documented_rights()
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


def environment(at: Setting, topics: Mapping[str, str], port: int) -> dict[str, str]:
    """What differs from the example on this machine: addresses, the authority, names of topics."""
    address, authority = at.secure.address(Listener.PASSWORD_TLS), str(at.certificates.authority.certificate)
    here = {"SERVE__PORT": str(port), "STATE_DIR": "state", "SWITCH__READY_TIMEOUT_SECONDS": str(SERVICE_SECONDS)}
    for kafka in ("KAFKA", "CONTROL__KAFKA", "BUS"):
        here |= {f"{kafka}__BOOTSTRAP_SERVERS": address, f"{kafka}__SSL_CA_LOCATION": authority}
    for table in ("users", "accounts"):
        here |= {f"TABLES__{table}__TOPIC": topics[table], f"TABLES__{table}__START": "earliest"}
    return {f"TURNOUT_{name}": value for name, value in here.items()} | {"TURNOUT_CONTROL__TOPIC": topics["control"]}


def shown(service: ServiceProcess) -> set[tuple[str, float | None]]:
    """The rows of the join; none as long as it does not answer."""
    with suppress(Unreachable):
        return {(row["name"], row["balance"]) for row in service.table("final_ui")[1]}
    return set()


def test_a_whole_service_with_a_login_for_each_kafka(
    at: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example with three users, each of whom may do his part alone."""
    topics = {name: f"{name}-{uuid4().hex[:8]}" for name in ("users", "accounts", "control", "others")}
    Cluster({"bootstrap.servers": at.secure.embedded.bootstrap}).create_topics([*topics.values()])
    secrets = {f"{kafka}-password": f"{PASSWORD} of {user}" for kafka, user in USERS.items()}
    for kafka, user in USERS.items():
        at.secure.set_password(user, secrets[f"{kafka}-password"])
    to_read, _, to_write = documented_rights()
    allow(at, USERS["kafka"], to_read, [topics["users"], topics["accounts"], topics["others"]])
    allow(at, USERS["control"], to_read, [topics["control"]])
    allow(at, USERS["bus"], to_write, [])

    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    for name, value in environment(at, topics, port).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "turnout.yaml").write_text(Examples(tmp_path, at.certificates, secrets, {}).text("separate-logins"))
    anybody, service = Sender(at.secure.embedded.bootstrap), ServiceProcess(tmp_path, port)
    anybody.send_row(topics["users"], {"userId": "u1", "name": "first"})
    anybody.send_row(topics["accounts"], {"userId": "u1", "balance": 1.0})
    anybody.send_row(topics["others"], {"userId": "u1", "name": "other"})
    service.start()
    try:
        until(lambda: shown(service) == {("first", 1.0)}, "the rows", SERVICE_SECONDS)
        anybody.send_row(topics["control"], {"usersTopic": topics["others"]})
        until(lambda: shown(service) == {("other", 1.0)}, "the other topic's rows", SERVICE_SECONDS)
        status, answer = service.post("/api/control", b'{"joinType": "inner"}')
        assert status == 403
        assert f"may not write to topic '{topics['control']}'" in str(answer)
        assert service.status()["state"] == "live"
    finally:
        service.discard()
