"""A login to a cluster as librdkafka uses it: clients are made with it, and one asks the brokers."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from turnout.errors import ConfigError, KafkaError
from turnout.kafka.credentials import Credentials
from turnout.kafka.reasons import Reasons, text_of
from turnout.kafka.security import for_librdkafka
from turnout.kafka.topic_state import TopicState
from turnout.properties import MASK, Properties, is_secret

_UNREACHABLE = (
    BrokerError._TIMED_OUT,
    BrokerError._TRANSPORT,
    BrokerError._ALL_BROKERS_DOWN,
    BrokerError._DESTROY_BROKER,
    BrokerError._AUTHENTICATION,
    BrokerError._SSL,
)
LEARN_SECONDS = 1.0
"""For the brokers to be asked who they are."""

ANEW_SECONDS = 15.0
"""Between two clients that ask them, if the first has no answer: the one before is kept for so long, since it takes the
questions that it was asked with it, which may wait for ten seconds."""

AnyClient = TypeVar("AnyClient")
Settings = dict[str, str | int | float | bool]


class NoAnswer(KafkaError):
    """No broker, or none that takes this login."""


class Link:
    """Whoever asks holds on to it: a client that is dropped takes its unanswered requests with it."""

    def __init__(self, credentials: Credentials) -> None:
        """Raises ConfigError for what the client does not even begin with: a wrong key password, a missing file."""
        self.credentials = credentials
        # As Spark's connector has it, unless the configuration says otherwise to both.
        isolation = {"isolation.level": "read_uncommitted"}
        self._properties = Properties.plain({**isolation, **for_librdkafka(credentials.properties), "log_level": "2"})
        self._reasons = Reasons()
        self._is_lost = False  # whether the last question had no answer
        self._replacing = threading.Lock()
        self._former: AdminClient | None = None
        self.admin = self.make(AdminClient, self._reasons, {})
        self._began = time.monotonic()

    @property
    def bootstrap(self) -> str:
        return self.credentials.properties["bootstrap.servers"]

    @property
    def reads_committed(self) -> bool:
        return self._properties["isolation.level"] == "read_committed"

    def make(self, kind: Callable[[dict[str, Any]], AnyClient], reasons: Reasons, settings: Settings) -> AnyClient:
        """A client with this login, whose troubles are noted."""
        try:
            return kind({**self._properties, **settings, "error_cb": reasons.note})
        except KafkaException as error:
            raise ConfigError(
                f"the login to {self.bootstrap} cannot be used: {self._without_secrets(text_of(error))}: "
                "check the files that it names, and their passwords"
            ) from None

    def describe(self, topics: Sequence[str], seconds: float) -> dict[str, TopicState | None]:
        """Topic -> what it is now, None if it is not there."""
        if self._is_lost:
            self._learn_anew()
        # Described, not looked up in the metadata: most brokers create a topic that the latter asks for.
        answers = self.admin.describe_topics(TopicCollection(list(topics)), request_timeout=seconds)
        found: dict[str, TopicState | None] = {}
        for topic, answer in answers.items():
            try:
                state = answer.result()
                found[topic] = TopicState(str(state.topic_id), tuple(sorted(part.id for part in state.partitions)))
            except KafkaException as error:
                if error.args[0].code() != BrokerError.UNKNOWN_TOPIC_OR_PART:
                    raise self.explained(error, f"topic {topic!r}") from None
                found[topic] = None
        self.admin.poll(0)  # what was said until now is of the past
        self._reasons.forget()
        self._is_lost = False
        return found

    def _learn_anew(self) -> None:
        """A broker that was away for a while is dropped from those that the client knows, the controller too. By itself
        it asks for them again only every five minutes."""
        try:
            self.admin.list_topics(timeout=LEARN_SECONDS)
        except KafkaException:
            self._ask_by_another()

    def _ask_by_another(self) -> None:
        """A client that has dropped all brokers, as happens when they were frozen, never finds one again by itself."""
        with self._replacing, suppress(ConfigError):  # of files that are being changed
            if time.monotonic() - self._began >= ANEW_SECONDS:
                self._former, self.admin = self.admin, self.make(AdminClient, self._reasons, {})
                self._began = time.monotonic()

    def explained(self, error: KafkaException, what: str) -> KafkaError:
        """A failure of the admin client, with the reason; `what` it was asked for."""
        if error.args[0].code() not in _UNREACHABLE:
            return KafkaError(f"{what} on {self.bootstrap}: {text_of(error)}")
        self._is_lost = True
        self.admin.poll(0)  # hear what the client has to say
        return NoAnswer(
            f"Kafka at {self.bootstrap} does not answer ({self._reasons.reason or text_of(error)}): "
            "check that it runs, that `bootstrap.servers` names it, and the login"
        )

    def _without_secrets(self, text: str) -> str:
        """The client quotes a value now and then."""
        for name, value in self._properties.items():
            if value and is_secret(name, value):
                text = text.replace(value, MASK)
        return text
