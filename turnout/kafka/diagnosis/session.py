"""The login itself, by librdkafka, and what it shows: the brokers, and what may be done with a topic."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient

from turnout.errors import ConfigError
from turnout.kafka.diagnosis.obstacle import Obstacle, quoted
from turnout.kafka.diagnosis.reach import Server
from turnout.properties import is_secret

LOGIN_SECONDS = 10.0
_NO_REASON = (BrokerError._ALL_BROKERS_DOWN, BrokerError._TIMED_OUT)
"""What librdkafka says besides."""
_AROUND = re.compile(r"^\w+://\S+: |SASL authentication error: | \(after \d+ms in state \w+\)")
"""What librdkafka puts around the reason that a broker gives."""
LISTEN_SECONDS = 0.2
"""librdkafka goes on trying after a refusal: this often it is asked whether there was one."""


@dataclass(frozen=True)
class Described:
    """A topic as this login sees it."""

    partitions: int
    operations: frozenset[AclOperation] | None
    """What may be done with it; None: the broker does not tell."""

    def may(self, operation: AclOperation) -> bool:
        return self.operations is None or operation in self.operations


class NotAuthorized(Exception):
    """Not even to describe it; then Kafka does not tell whether it is there."""


class Refused(Exception):
    """The login was refused; the text is the broker's, or librdkafka's."""


class Session:
    """Logged in at one server. Raises `Refused` if that fails."""

    def __init__(self, client: Mapping[str, str], server: Server) -> None:
        """`client`: the properties as librdkafka takes them."""
        self._secrets = [value for name, value in client.items() if value and is_secret(name, value)]
        self._heard: list[BrokerError] = []
        own: dict[str, Any] = {"bootstrap.servers": str(server), "log_level": "0", "error_cb": self._heard.append}
        try:
            self._admin = AdminClient(own | {name: value for name, value in client.items() if name not in own})
        except KafkaException as error:
            raise ConfigError(f"librdkafka refuses the properties: {self._text(error.args[0])}") from None
        self.brokers = self._log_in()

    def _log_in(self) -> list[Server]:
        """Asks who the brokers are: the first question, which takes a login and no rights."""
        asked = self._admin.describe_cluster(request_timeout=LOGIN_SECONDS)
        while True:
            try:
                found = asked.result(LISTEN_SECONDS)
                return [Server(node.host, node.port) for node in found.nodes]
            except TimeoutError:
                self._admin.poll(0)  # hear what the client has to say
                reasons = self._refusals
            except KafkaException as error:
                self._admin.poll(0)
                told = [one for one in self._heard if one.code() not in _NO_REASON]
                reasons = [*self._refusals, *told, error.args[0]]
            if reasons:
                raise Refused(self._text(reasons[0]))

    @property
    def _refusals(self) -> list[BrokerError]:
        return [heard for heard in self._heard if heard.code() == BrokerError._AUTHENTICATION]

    def _text(self, error: BrokerError) -> str:
        return quoted(_AROUND.sub("", error.str()), self._secrets)

    def describe(self, topic: str) -> Described | None:
        """None: there is no such topic."""
        asked = self._admin.describe_topics(
            TopicCollection([topic]), include_authorized_operations=True, request_timeout=LOGIN_SECONDS
        )
        try:
            found = asked[topic].result()
        except KafkaException as error:
            match error.args[0].code():
                case BrokerError.UNKNOWN_TOPIC_OR_PART:
                    return None
                case BrokerError.TOPIC_AUTHORIZATION_FAILED:
                    raise NotAuthorized from None
            raise Obstacle(
                f"it cannot be described ({self._text(error.args[0])})", "see what the broker's log says at this moment"
            ) from None
        operations = found.authorized_operations
        return Described(len(found.partitions), None if operations is None else frozenset(operations))
