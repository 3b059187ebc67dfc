from dataclasses import dataclass, field

from turnout.staleness import CONFIRM_SECONDS, Look, Staleness


@dataclass
class Topics:
    """Topics that are looked at each second, by a clock that stands still until it is moved."""

    now: float = 1000.0
    unread: bool = True
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.staleness = Staleness(lambda: self.now)

    def look(self, lag: int | None, seen: int, seconds: int = 1) -> None:
        """For so many seconds, it is like this."""
        for _ in range(seconds):
            self.now += 1
            self.staleness.note({"users": Look(lag, {0: seen})}, self._is_unread)

    def _is_unread(self, topic: str) -> bool:
        self.asked.append(topic)
        return self.unread

    @property
    def reasons(self) -> list[str]:
        return list(self.staleness.reasons(30))


def test_a_topic_in_which_nothing_is_sent_is_not_stale() -> None:
    topics = Topics()
    topics.look(0, 7, seconds=3600)
    assert topics.reasons == []
    assert topics.staleness.seconds() == {"users": 0}
    assert topics.asked == []


def test_messages_of_which_some_come_are_not_stale() -> None:
    topics = Topics()
    for seen in range(100):
        topics.look(500 + seen, seen)
    assert topics.reasons == []


def test_messages_of_which_none_comes_are_stale_after_a_while_and_it_says_which() -> None:
    topics = Topics()
    topics.look(3, 7, seconds=30)
    assert topics.reasons == []
    topics.look(12, 7)
    assert topics.reasons == ["12 messages of topic 'users' wait, and for 30 s none of them has come into the tables"]
    assert topics.staleness.seconds() == {"users": 30}


def test_it_is_over_as_soon_as_one_comes() -> None:
    topics = Topics()
    topics.look(3, 7, seconds=60)
    assert topics.reasons
    topics.look(2, 8)
    assert topics.reasons == []


def test_a_broker_that_is_silent_makes_it_stale() -> None:
    topics = Topics()
    topics.look(0, 7)
    topics.look(None, 7, seconds=31)
    assert topics.reasons == ["Kafka has not said for 30 s where topic 'users' ends"]
    topics.look(0, 7)
    assert topics.reasons == []


def test_a_broker_that_is_silent_while_rows_come_does_not() -> None:
    topics = Topics()
    for seen in range(100):
        topics.look(None, seen)
    assert topics.reasons == []


def test_offsets_without_a_message_are_not_waited_for() -> None:
    """As after the last message of a transaction."""
    topics = Topics(unread=False)
    topics.look(1, 7, seconds=3600)
    assert topics.reasons == []
    assert topics.staleness.seconds() == {"users": 0}
    assert len(topics.asked) == 1, "what is known is not asked again"
    topics.unread = True
    topics.look(2, 7, seconds=31)
    assert topics.reasons, "but what comes after it is"


def test_a_short_wait_is_not_looked_into() -> None:
    topics = Topics(unread=False)
    topics.look(1, 7, seconds=int(CONFIRM_SECONDS))
    assert topics.asked == []


def test_topics_that_are_no_longer_shown_are_forgotten() -> None:
    topics = Topics()
    topics.look(3, 7, seconds=60)
    topics.staleness.note({}, lambda _: True)
    assert topics.reasons == []


def test_time_passes_although_nobody_looks() -> None:
    topics = Topics()
    topics.look(3, 7)
    topics.now += 30
    assert topics.reasons
