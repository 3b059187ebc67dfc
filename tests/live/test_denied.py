"""What Kafka does not allow: a clear reason, and whatever is live goes on."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, Running, fill, first_generation
from tests.waiting import until
from turnout.java import JavaParts
from turnout.kafka.embedded import EmbeddedBroker

PASSWORD = "rails-and-sleepers"

PROPERTIES = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_turnout="{PASSWORD}";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the tests themselves, and the broker
}


class Secured:
    """A broker on which the user `turnout` may do what he is allowed to."""

    def __init__(self, directory: Path, parts: JavaParts) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.broker = EmbeddedBroker(
            directory, parts.broker, properties=PROPERTIES, listeners=[f"SASL://{self.address}"]
        )

    def login(self, password: str = PASSWORD) -> dict[str, str]:
        return {
            "bootstrap.servers": self.address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "turnout",
            "sasl.password": password,
        }

    def allow(self, operation: AclOperation, *topics: str) -> None:
        allowed = [
            AclBinding(
                ResourceType.TOPIC,
                topic,
                ResourcePatternType.LITERAL,
                "User:turnout",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for topic in topics
        ]
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for done in admin.create_acls(allowed).values():
            done.result()


@pytest.fixture(scope="module")
def secured(parts: JavaParts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = Secured(tmp_path_factory.mktemp("secured"), parts)
    with secured.broker:
        yield secured


def test_topics_that_may_not_be_read(
    secured: Secured, broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path
) -> None:
    rig = Rig(secured.broker, spark, tmp_path, CONFIG, bus=broker, login=secured.login())
    secured.allow(AclOperation.READ, rig.topics.left, rig.topics.right, rig.config.control.topic)
    fill(rig, rig.topics.left, rig.topics.right, "first")
    hidden, seen = f"hidden-{rig.topics.left}", f"seen-{rig.topics.left}"
    rig.admin.create_topics([hidden, seen])
    secured.allow(AclOperation.DESCRIBE, seen)
    with first_generation(rig) as running:
        rig.sender.send_row(seen, {"userId": "u1", "name": "may not be read"})
        for topic in (hidden, seen):
            outcome = running.control(usersTopic=topic)
            assert outcome.startswith("rejected: ")
            assert topic in outcome
            assert "authoriz" in outcome.lower()
        assert rig.tables.status_row()["state"] == "live"
        rig.sender.send_row(rig.topics.left, {"userId": "next", "name": "first"})
        until(lambda: rig.table("final_ui").total() == 51, "the next row")


def test_a_wrong_password(secured: Secured, broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> None:
    rig = Rig(secured.broker, spark, tmp_path, CONFIG, bus=broker, login=secured.login("wrong-password"))
    running = Running(rig)
    try:
        until(lambda: rig.tables.status_row()["state"] == "degraded", "it says so", 30)
        message = str(rig.tables.status_row()["message"])
        assert "Authentication failed" in message
        assert secured.address in message
        said = " ".join(rig.rows("orchestrator_logs")["msg"])
        assert "wrong-password" not in message + said
    finally:
        running.stop()
