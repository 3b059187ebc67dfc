"""What a login may do with a topic, tried without changing anything; and the command that grants what it lacks."""

import shlex
import time
from contextlib import closing
from dataclasses import dataclass

from confluent_kafka.admin import AclOperation

from turnout.errors import KafkaError
from turnout.kafka.client import Cluster
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.session import Described, NotAuthorized, Session

READ_SECONDS = 10.0
"""For the first record of a topic that has any."""


@dataclass(frozen=True)
class Rights:
    cluster: Cluster
    session: Session
    principal: str

    def describe(self, topic: str) -> Described:
        try:
            described = self.session.describe(topic)
        except NotAuthorized:
            raise Obstacle(
                f"{self.principal} may not describe the topic {topic}, or there is no such topic",
                f"grant it READ, which implies DESCRIBE: {self.grant('READ', topic)}",
            ) from None
        if described is None:
            raise Obstacle(
                f"there is no topic {topic} on {self.cluster.bootstrap}",
                "create it, or name another in the configuration",
            )
        return described

    def read(self, topic: str, described: Described) -> int:
        """How many records there are; one is fetched, if there is one."""
        if not described.may(AclOperation.READ):
            raise self._may_not_read(topic)
        try:
            return self._read(topic)
        except KafkaError as error:
            if is_about_rights(error):
                raise self._may_not_read(topic) from None
            raise

    def _may_not_read(self, topic: str) -> Obstacle:
        return Obstacle(
            f"{self.principal} may not read the topic {topic}", f"grant it READ: {self.grant('READ', topic)}"
        )

    def _read(self, topic: str) -> int:
        starts, ends = self.cluster.start_offsets(topic), self.cluster.end_offsets(topic)
        records = sum(ends.values()) - sum(starts.values())
        deadline = time.monotonic() + READ_SECONDS
        with closing(self.cluster.reader([topic])) as reader:
            while records and not reader.poll(0.1) and not reader.reached(topic, ends):
                if time.monotonic() > deadline:
                    raise Obstacle(
                        f"no record came in {READ_SECONDS:.0f} s, though there are some",
                        "see that all brokers of the topic's partitions are up",
                    )
        return records

    def may_write(self, described: Described) -> bool:
        return described.may(AclOperation.WRITE)

    def grant(self, operation: str, topic: str, *, prefixed: bool = False) -> str:
        """For whoever runs the Kafka."""
        is_subject = "=" in self.principal  # a certificate's
        mapped = "(or the name that the broker's ssl.principal.mapping.rules make of it) " if is_subject else ""
        pattern = " --resource-pattern-type prefixed" if prefixed else ""
        return (
            f"{mapped}`kafka-acls --bootstrap-server {self.cluster.bootstrap} --command-config admin.properties --add "
            f"--allow-principal {shlex.quote(self.principal)} --operation {operation} --topic {topic}{pattern}`"
        )


def is_about_rights(error: KafkaError) -> bool:
    """Kafka's words for a missing right: Topic authorization failed, Authorization failed."""
    return "authorization failed" in str(error).lower()
