"""What Turnout needs of each Kafka of the configuration: to read data and control messages, and a bus of its own."""

import uuid
from collections.abc import Iterator, Mapping
from functools import partial

from turnout.changelog.topic import CHANGELOG_TOPIC
from turnout.check.approach import Approach
from turnout.check.finding import Finding, Steps, Verdict, Warned
from turnout.config import ChangelogConfig, Config
from turnout.errors import KafkaError
from turnout.kafka.client import Cluster
from turnout.kafka.diagnosis.obstacle import Obstacle
from turnout.kafka.diagnosis.rights import is_about_rights
from turnout.kafka.diagnosis.session import Described


def clusters(config: Config) -> Iterator[Finding]:
    data = Approach("kafka", config.kafka)
    yield from data.findings()
    for name in (config.join.left, config.join.right):
        yield from _Topic(data, config.tables[name].topic, name).readable()
    control = data
    if config.control.kafka and config.control.kafka != config.kafka:
        control = Approach("control.kafka", config.control.kafka)
        yield from control.findings()
    messages = _Topic(control, config.control.topic, "control messages")
    yield from messages.readable()
    yield messages.writable()
    yield from _bus(config)


class _Topic:
    """A topic that is read."""

    def __init__(self, approach: Approach, topic: str, use: str) -> None:
        self._approach, self._topic, self._use = approach, topic, use
        self._steps = Steps(approach.steps.failed)
        self._described: Described | None = None

    def readable(self) -> Iterator[Finding]:
        yield self._steps.take(f"describe topic {self._topic} ({self._use})", self._describe)
        yield self._steps.take(f"read topic {self._topic} ({self._use})", self._read)

    def writable(self) -> Finding:
        return self._steps.take(f"publish to topic {self._topic} ({self._use})", self._may_write)

    def _describe(self) -> str:
        self._described = self._approach.rights.describe(self._topic)
        return f"partitions: {self._described.partitions}"

    def _read(self) -> str:
        assert self._described is not None, "it was described"
        records = self._approach.rights.read(self._topic, self._described)
        return f"records: {records}, readable"

    def _may_write(self) -> str | Warned:
        assert self._described is not None, "it was described"
        if self._described.operations is None:
            return "the broker does not tell whether this login may: a switch will"
        rights = self._approach.rights
        if rights.may_write(self._described):
            return "allowed"
        return Warned(
            f"{rights.principal} may not: `turnout switch`, the page's dialog and POST /api/control will not work with "
            "this login; control messages that others publish will",
            f"if they should work, grant it WRITE: {rights.grant('WRITE', self._topic)}",
        )


def _bus(config: Config) -> Iterator[Finding]:
    if not config.bus:
        yield Finding("bus", Verdict.OK, f"embedded, in {config.state_dir / 'kafka'}")
        return
    bus = Approach("bus", config.bus)
    yield from bus.findings()
    yield bus.steps.take("bus, topics of its own", partial(_own_topics, bus, config.bus, config.changelog))


def _own_topics(bus: Approach, properties: Mapping[str, str], changelog: ChangelogConfig) -> str:
    cluster, prefix = Cluster(properties), changelog.prefix
    topic = f"{prefix}check-{uuid.uuid4().hex[:12]}"
    try:
        # As it will be: brokers may have a policy for what is created, such as how large its records may be.
        cluster.create_topics([topic], changelog.partitions, CHANGELOG_TOPIC, changelog.replication)
        cluster.delete_topics([topic])
    except KafkaError as error:
        if not is_about_rights(error):
            raise
        rights = bus.rights
        needs = "CREATE --operation DELETE --operation READ --operation WRITE"
        raise Obstacle(
            f"{rights.principal} may not create and delete topics that begin with {prefix}",
            f"leave `bus` out, for an embedded one, or grant it that: {rights.grant(needs, prefix, prefixed=True)}",
        ) from None
    return "can be created and deleted"
