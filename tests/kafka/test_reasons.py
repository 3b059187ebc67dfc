"""Which of the reasons that librdkafka gives is told."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from turnout.kafka.reasons import Reasons, is_passing

DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
REFUSED = KafkaError(KafkaError._TRANSPORT, "localhost:1: Connect failed (after 0ms in state CONNECT)")
HUNG_UP = KafkaError(
    KafkaError._AUTHENTICATION, "localhost:1: SASL PLAIN mechanism handshake failed: Local: Broker transport failure"
)
WRONG = KafkaError(
    KafkaError._AUTHENTICATION,
    "localhost:1: Authentication failed (after 9ms in state AUTH_REQ, 4 identical error(s) suppressed)",
)
NO_TOKEN = KafkaError(
    KafkaError._AUTHENTICATION,
    "localhost:1: SASL OAUTHBEARER mechanism handshake failed: Broker: Request not valid in current SASL state",
)
EXPIRED = KafkaError(KafkaError._SSL, "localhost:1: certificate has expired")


@pytest.mark.parametrize(
    ("heard", "told"),
    [
        ([], None),
        ([DOWN], None),
        ([DOWN, REFUSED, DOWN], "localhost:1: Connect failed"),
        ([WRONG, REFUSED, EXPIRED], "localhost:1: Authentication failed"),
        ([REFUSED, HUNG_UP, WRONG, REFUSED], "localhost:1: Authentication failed"),
        ([NO_TOKEN, WRONG], "localhost:1: Authentication failed"),
        ([REFUSED, EXPIRED, WRONG], "localhost:1: certificate has expired"),
    ],
)
def test_the_most_telling_is_told_and_of_those_the_first(heard: list[KafkaError], told: str | None) -> None:
    reasons = Reasons()
    for error in heard:
        reasons.note(error)
    assert reasons.reason == told
    reasons.forget()
    assert reasons.reason is None
    reasons.note(REFUSED)
    assert reasons.reason == "localhost:1: Connect failed"


@pytest.mark.parametrize(
    ("code", "passing"),
    [
        (KafkaError.NOT_LEADER_FOR_PARTITION, True),
        (KafkaError.LEADER_NOT_AVAILABLE, True),
        (KafkaError.UNKNOWN_LEADER_EPOCH, True),  # the broker learns of a new topic's leader after the client has
        (KafkaError.FENCED_LEADER_EPOCH, True),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
def test_a_leader_that_is_not_known_everywhere_yet_is_waited_for(code: int, passing: bool) -> None:
    assert is_passing(KafkaException(KafkaError(code))) is passing
