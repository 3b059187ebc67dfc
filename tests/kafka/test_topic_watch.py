"""What is told of topics that changed. That it is noticed is tested with real ones (tests/live/test_faults.py)."""

from turnout.kafka.topic_state import TopicState
from turnout.kafka.topic_watch import difference

KNOWN = TopicState("id-1", (0, 1))


def test_a_topic_that_is_as_it_was() -> None:
    assert difference("users", KNOWN, TopicState("id-1", (0, 1))) is None


def test_a_topic_that_is_gone_comes_with_advice() -> None:
    assert difference("users", KNOWN, None) == ("topic 'users' was deleted: create it again, or switch to another")


def test_a_topic_of_the_same_name_is_another_one() -> None:
    assert difference("users", KNOWN, TopicState("id-2", (0, 1))) == "topic 'users' was deleted and created anew"


def test_a_topic_with_more_partitions() -> None:
    found = TopicState("id-1", (0, 1, 2, 3, 4))
    assert difference("users", KNOWN, found) == "topic 'users' has 3 more partitions than before"
