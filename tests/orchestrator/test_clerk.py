from collections.abc import Sequence

import pytest

from tests.orchestrator.fakes import DEFAULT, FIELDS, FakeBuilder
from turnout.control.message import ControlMessage
from turnout.errors import ControlRejected
from turnout.orchestrator.clerk import Clerk
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics


def messages(*values: str) -> list[ControlMessage]:
    return [ControlMessage(0, offset, 0, value.encode()) for offset, value in enumerate(values)]


def offsets(found: Sequence[ControlMessage]) -> list[int]:
    return [message.offset for message in found]


def test_a_broker_that_does_not_answer_is_asked_once_between_two_steps() -> None:
    builder = FakeBuilder(reachable=False)
    clerk = Clerk(FIELDS, builder.missing)
    for message in messages('{"leftTopic": "left_b"}', '{"rightTopic": "right_b"}', '{"joinType": "inner"}'):
        with pytest.raises(ControlRejected, match="does not answer"):
            clerk.resolve(message.value, DEFAULT)
    assert builder.asked == ["left_b", "right"]
    clerk.forget()
    builder.reachable = True
    (message,) = messages('{"leftTopic": "left_b"}')
    assert clerk.resolve(message.value, DEFAULT)[0].topics == Topics("left_b", "right")


def test_while_the_broker_does_not_answer_topics_are_taken_to_exist_in_the_history() -> None:
    builder = FakeBuilder(reachable=False)
    folded = Clerk(FIELDS, builder.missing).fold(DEFAULT, messages('{"leftTopic": "gone"}', '{"joinType": "inner"}'))
    assert folded.desired == Desired(Topics("gone", "right"), JoinType.INNER)
    assert not folded.rejected


def test_a_message_that_is_possible_only_without_one_that_is_left_out_counts() -> None:
    builder = FakeBuilder()
    history = messages('{"leftTopic": "right_b", "rightTopic": "gone"}', '{"rightTopic": "right_b"}')
    folded = Clerk(FIELDS, builder.missing).fold(DEFAULT, history)
    assert folded.desired.topics == Topics("left", "right_b")
    assert offsets([message for message, _ in folded.rejected]) == [0]
    assert folded.last is history[1]


def test_messages_that_nothing_is_left_of_are_superseded() -> None:
    history = messages('{"leftTopic": "gone"}', '{"leftTopic": "left_b"}', "rubbish", '{"leftTopic": "left"}')
    folded = Clerk(FIELDS, FakeBuilder().missing).fold(DEFAULT, history)
    assert folded.desired == DEFAULT
    assert offsets(folded.superseded) == [0, 1]
    assert offsets([message for message, _ in folded.rejected]) == [2]
