"""The one tree of errors.

A text here is written for the person at 3 in the morning: what happened, where (file and line, topic, partition,
offset), why, and what to do about it. It never holds a secret.
"""


class TurnoutError(Exception):
    """Anything that Turnout tells a person about, instead of showing a traceback."""


class SetupError(TurnoutError):
    """Something that the machine lacks: Java, Python, the Java parts, a browser."""


class ConfigError(TurnoutError):
    """A mistake in the configuration, with the file and line or the path of the key."""


class PropertyError(ConfigError):
    """A mistake in one property of a Kafka or of Spark, which is named so that its line can be told."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class ControlRejected(TurnoutError):
    """A control message that cannot be used; the text is its outcome."""


class NothingToUndo(TurnoutError):
    """There is no earlier state to go back to."""


class KafkaError(TurnoutError):
    """A broker that cannot be reached or refuses what it was asked."""


class TopicMissing(KafkaError):
    """A topic that is not there."""


class NotAllowed(KafkaError):
    """The login works, and may not do this."""


class BuildFailed(TurnoutError):
    """A generation that did not become ready; the old one goes on."""


class QueryRefused(TurnoutError):
    """A snapshot was asked for in a way that its table does not allow (column, sort, filter, limit)."""


class TableMissing(QueryRefused):
    """There is no table of that name."""
