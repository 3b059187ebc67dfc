"""Why a client of librdkafka gets nowhere: it tells that beside what it is asked, again and again, not always well."""

import re

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException

# What the client says over and over while no broker answers; the reason is in what it says besides.
_NO_REASON = (BrokerError._ALL_BROKERS_DOWN, BrokerError._TIMED_OUT, BrokerError._MSG_TIMED_OUT)
# A broker that can be reached and refuses says more than one that hangs up, or is not there yet.
_TELLING = (
    BrokerError._AUTHENTICATION,
    BrokerError._SSL,
    BrokerError.SASL_AUTHENTICATION_FAILED,
    BrokerError.UNSUPPORTED_SASL_MECHANISM,
    BrokerError.TOPIC_AUTHORIZATION_FAILED,
    BrokerError.CLUSTER_AUTHORIZATION_FAILED,
)
# Also said as failures of the login: a broker has hung up in the middle of it; or the client had no new token when the
# broker asked for one, which is told apart.
_CONSEQUENCES = ("Broker transport failure", "Request not valid in current SASL state")
# How long it took, and how often it was said: with it the same reason would be another one each time.
_ASIDE = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)")

# Who leads a partition is not known everywhere yet: it was created, or moved, a moment ago. The client calls none of
# them retriable when they come as answers to an admin's question.
_PASSING = (
    BrokerError.NOT_LEADER_FOR_PARTITION,
    BrokerError.LEADER_NOT_AVAILABLE,
    BrokerError.FENCED_LEADER_EPOCH,
    BrokerError.UNKNOWN_LEADER_EPOCH,
)


class Reasons:
    """Keeps the most telling of the reasons that were heard, and of those the first, until the trouble is over."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._is_telling = False

    @property
    def reason(self) -> str | None:
        return self._reason

    def note(self, error: BrokerError) -> None:
        """A client's `error_cb`."""
        is_telling = error.code() in _TELLING and not any(text in error.str() for text in _CONSEQUENCES)
        if error.code() not in _NO_REASON and (self._reason is None or (is_telling and not self._is_telling)):
            self._reason, self._is_telling = _ASIDE.sub("", error.str()), is_telling

    def forget(self) -> None:
        self._reason, self._is_telling = None, False


def text_of(error: Exception) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, BrokerError) else str(cause)


def is_passing(error: KafkaException) -> bool:
    """Is it over by itself in a moment?"""
    cause = error.args[0]
    return isinstance(cause, BrokerError) and (cause.retriable() or cause.code() in _PASSING)
