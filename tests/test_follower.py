import threading
from collections.abc import Iterator

import pytest

from tests.following import LOG, STATUS, Following
from tests.waiting import until
from turnout.bus import bulletin_reader
from turnout.bus.bulletin import Begin, Row
from turnout.errors import KafkaError
from turnout.kafka import topic_watch
from turnout.schema import JoinType
from turnout.tables.public import STATUS_ROW

A, B, C = "a" * 12, "b" * 12, "c" * 12
WELL = ("live", "as the leader says")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_watch, "ASK_SECONDS", 0.02)
    monkeypatch.setattr(bulletin_reader, "DOUBT_SECONDS", 0.1)
    monkeypatch.setattr("turnout.follower.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("turnout.follower.STOP_SECONDS", 0.1)


@pytest.fixture
def following() -> Iterator[Following]:
    """Pipeline A is shown, which has a row."""
    following = Following()
    following.pipeline(A, "u1")
    following.begin()
    following.tell(following.showing(1, A))
    following.follower.start()
    until(lambda: following.users() == ["u1"] and following.said == WELL, "it is shown")
    yield following
    following.bus.answers.set()
    following.follower.stop()


def never_read(following: Following, pipeline: str, generation: int) -> None:
    """The leader shows a pipeline, whose rows do not come."""
    following.pipeline(pipeline, "other")
    following.bus.held.add(following.topics.changelog(pipeline))
    following.tell(following.showing(generation, pipeline))
    until(lambda: following.is_read(pipeline), "it is being read")


def must_not_matter(following: Following, pipeline: str) -> None:
    """What becomes of a pipeline that nobody wants any more."""
    until(lambda: not following.is_read(pipeline), "it is not read any more")
    following.retire(pipeline)
    assert following.follower.healthy
    following.tell(following.status("live", "and goes on"))
    until(lambda: following.said == ("live", "and goes on"), "all is well")


def test_a_pipeline_that_the_leader_has_gone_back_from_is_let_go_of(following: Following) -> None:
    never_read(following, B, 2)
    following.tell(following.showing(3, A, JoinType.INNER))
    until(lambda: following.generation == 3, "the first one is shown again")
    must_not_matter(following, B)
    assert following.is_read(A)


def test_a_pipeline_that_another_leader_does_not_show_is_let_go_of(following: Following) -> None:
    never_read(following, B, 2)
    following.term = 2
    following.tell(Begin("another"), following.status("live"))
    must_not_matter(following, B)
    assert following.users() == ["u1"]
    assert following.is_read(A)


def test_a_pipeline_that_another_has_overtaken_is_let_go_of(following: Following) -> None:
    never_read(following, B, 2)
    following.pipeline(C, "u3")
    following.tell(following.showing(3, C))
    until(lambda: following.users() == ["u3"], "the last one is shown")
    must_not_matter(following, B)
    assert not following.is_read(A)


def test_trouble_with_what_is_to_be_shown_is_told_until_something_else_is(following: Following) -> None:
    never_read(following, B, 2)
    following.retire(B)
    until(lambda: following.said[0] == "degraded", "it says that it cannot be read")
    following.tell(following.showing(3, A), following.status("live"))
    until(lambda: following.said == WELL, "it is of no matter any more")
    assert following.users() == ["u1"]


def test_what_is_shown_and_lost_is_read_anew(following: Following) -> None:
    following.retire(A)
    until(lambda: following.said[0] == "degraded", "it says that it cannot be read")
    assert not following.follower.healthy
    assert following.users() == ["u1"], "the rows stay"
    following.pipeline(A, "u1", "u2")
    until(lambda: following.said == WELL and following.users() == ["u1", "u2"], "it goes on")


def test_rows_that_cannot_be_taken_are_passed_over_with_one_warning_each(
    following: Following, caplog: pytest.LogCaptureFixture
) -> None:
    number, text = len(following.bus.records(following.topics.bulletin)), following.topics.bulletin
    following.tell(
        following.log_line(1, ["no", "text"]),
        Row(STATUS, STATUS_ROW, {"state": "live", "generation": {"number": 2}}),
        Row("control_raw", "0:7", {"value": "{}", "offset": 2**63}),
        following.log_line(2, "another", by="a newer Turnout"),
        Row("of a newer Turnout", "1", {"what": "ever"}),
        following.status("live", "and goes on"),
    )
    following.bus.put(text, b"row/orchestrator_logs/x", b"1 [")
    until(lambda: following.lines() == ["000000000002"], "what can be taken is taken")
    until(lambda: following.said == ("live", "and goes on"), "all else goes on")
    following.bus.credentials = object()  # all is read once more
    following.tell(following.log_line(3))
    until(lambda: following.lines() == ["000000000002", "000000000003"], "it goes on")
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 4
    expected = [*((number + at, what) for at, what in enumerate([LOG, STATUS, "control_raw"])), (number + 6, "ignored")]
    for line, (offset, what) in zip(said, expected, strict=True):
        assert f"{text}/0 offset {offset}" in line
        assert what in line


def test_a_defect_is_told_and_followed_by_another_try(following: Following, caplog: pytest.LogCaptureFixture) -> None:
    following.bus.defect = ZeroDivisionError("a defect")
    following.bus.credentials = object()
    following.pipeline(B, "u2")
    following.tell(following.log_line(1), following.showing(2, B))
    until(lambda: following.said[0] == "degraded", "it says so")
    assert "ZeroDivisionError" in str(following.said[1])
    assert not following.follower.healthy
    until(lambda: any(record.exc_info for record in caplog.records), "with a traceback in the log")
    following.bus.defect = None
    until(lambda: following.users() == ["u2"] and following.said == WELL, "it goes on")
    assert following.lines() == ["000000000001"]


def test_it_reads_on_with_a_login_that_has_changed(following: Following) -> None:
    [reader] = [one for one in following.bus.readers if following.topics.bulletin in one.topics]
    following.tell(following.log_line(1))
    until(lambda: following.lines() == ["000000000001"], "the line is there")
    following.bus.credentials = object()
    until(lambda: reader.closed, "the old login is not used any more")
    following.tell(following.log_line(2))
    until(lambda: following.lines() == ["000000000001", "000000000002"], "with the new one it goes on")
    until(lambda: following.said == WELL, "all is well")


def test_a_login_that_does_not_work_any_more_is_told(following: Following) -> None:
    following.bus.login_trouble = "the login has changed, and does not work"
    until(lambda: following.said == ("degraded", "the login has changed, and does not work"), "it says so")
    following.bus.login_trouble = None
    until(lambda: following.said == WELL, "all is well")


def test_a_reader_that_is_refused_says_so_although_others_are_answered(following: Following) -> None:
    following.bus.reading_refused = "SASL authentication error"
    following.bus.credentials = object()
    until(lambda: following.said == ("degraded", "SASL authentication error"), "it says so")
    assert following.users() == ["u1"]
    following.bus.reading_refused, following.bus.credentials = None, object()
    until(lambda: following.said == WELL, "all is well")


def test_a_reader_that_came_into_trouble_is_replaced(following: Following) -> None:
    """It does not tell when that is over, if nothing comes."""
    [reader] = [one for one in following.bus.readers if following.topics.bulletin in one.topics]
    reader.trouble = "SASL authentication error"
    until(lambda: reader.closed, "it is replaced")
    following.tell(following.log_line(1))
    until(lambda: following.lines() == ["000000000001"], "the next one goes on")
    assert following.said == WELL


def test_a_bus_that_does_not_answer_is_told(following: Following) -> None:
    following.bus.failure = KafkaError("Kafka does not answer")
    until(lambda: following.said == ("degraded", "Kafka does not answer"), "it says so")
    following.bus.failure = None
    until(lambda: following.said == WELL, "all is well")


def test_of_what_was_there_before_only_the_last_generation_is_shown() -> None:
    following = Following()
    following.pipeline(B, "u2")
    following.begin()
    following.tell(following.showing(1, A), following.log_line(1), following.showing(2, B))
    following.follower.start()
    try:
        until(lambda: following.users() == ["u2"], "it is shown, although what was before it is gone")
        assert following.generation == 2
    finally:
        following.follower.stop()


def test_who_is_stopped_while_the_bus_does_not_answer_does_nothing_any_more(following: Following) -> None:
    following.pipeline(B, "u2")
    following.bus.answers.clear()
    following.tell(following.log_line(1), following.showing(2, B), following.status("live", "of the old leader"))
    until(lambda: "follower" in following.bus.unanswered, "it asks for what is to be shown")
    threads = [thread for thread in threading.enumerate() if thread.name == "follower"]
    following.follower.stop()
    assert any(thread.is_alive() for thread in threads), "nobody waits for it"
    following.tables.forget()
    before = following.users(), following.lines(), following.said, following.generation
    opened = len(following.bus.readers)
    following.bus.answers.set()
    until(lambda: not any(thread.is_alive() for thread in threads), "it has ended")
    assert (following.users(), following.lines(), following.said, following.generation) == before
    assert len(following.bus.readers) == opened, "nothing was begun"
    assert not any(following.is_read(pipeline) for pipeline in (A, B))
