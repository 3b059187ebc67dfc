"""A stream that goes on, whatever happens between it and the server, or to the server."""

import threading
import time

import pytest

from tests.client.fed import Fed, free_port
from tests.client.wire import Wire
from tests.waiting import until
from turnout.client import Change, Client, Event, Snapshot, Swap, TableMissing, TurnoutError, Unreachable
from turnout.client.changes import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS

pytestmark = pytest.mark.usefixtures("quick")


def ids(event: Event) -> list[str]:
    assert not isinstance(event, Change)
    return list(event.rows)


def test_a_snapshot_comes_first_then_changes_and_swaps(fed: Fed, client: Client) -> None:
    fed.swap(1, [("a", 1), ("b", None)])
    with client.table("users_ui").changes() as changes:
        first = next(changes)
        row = {"userId": "ua", "name": "name a", "email": None, "age": 1}
        assert first == Snapshot(1, {"a": row, "b": {**row, "userId": "ub", "name": "name b", "age": None}})
        fed.change([("a", 2)], ["b"])
        assert next(changes) == Change(1, {"a": {**row, "age": 2}}, ["b"])
        fed.swap(2, [("a", 1)])
        assert next(changes) == Swap(2, {"a": row})


def test_a_connection_that_is_cut_is_made_again_and_begins_with_a_snapshot(
    fed: Fed, wire: Wire, client: Client
) -> None:
    fed.swap(1, [("a", 1)])
    told: list[TurnoutError | None] = []
    changes = client.table("users_ui").changes(on_connection=told.append)
    next(changes)
    for number in range(3):
        wire.cut()
        fed.change([(str(number), number)])
        assert ids(next(changes)) == ["a", *map(str, range(number + 1))]
        assert changes.problem is None
    assert [type(problem) for problem in told] == [Unreachable, type(None)] * 3


def test_a_server_that_restarts_shows_nothing_at_first_and_nobody_sees_that(fed: Fed, client: Client) -> None:
    fed.swap(4, [("a", 1)])
    heard: list[Event] = []
    with client.table("users_ui").changes() as changes:
        threading.Thread(target=lambda: heard.extend(changes)).start()
        until(lambda: heard, "the snapshot has come")
        fed.stop()
        again = Fed(fed.port)
        try:
            until(lambda: again.followers == 1, "the client is back, and has been told that there is nothing yet")
            again.swap(5, [("b", 1)])
            until(lambda: len(heard) > 1, "rows are shown again")
            assert heard[1:] == [Swap(5, again.held())]
        finally:
            again.stop()


def test_while_there_is_no_server_the_problem_is_told_in_words(fed: Fed, wire: Wire, client: Client) -> None:
    fed.swap(1, [("a", 1)])
    with client.table("users_ui").live() as live:
        wire.lead(None)
        until(lambda: live.problem is not None, "it notices")
        assert str(live.problem).startswith(f"The connection to {wire.url} ")
        assert len(live) == 1, "what is held stays"
        fed.change([("b", 1)])
        wire.lead(fed.port)
        until(lambda: len(live) == 2, "it is back")
        assert live.problem is None


def test_a_connection_that_is_half_dead_is_given_up(fed: Fed, wire: Wire, client: Client) -> None:
    fed.swap(1, [("a", 1)])
    changes = client.table("users_ui").changes(quiet_seconds=0.3)
    next(changes)
    wire.silence()
    fed.change([("b", 1)])

    def resume() -> None:
        until(lambda: wire.connections > 1, "it has given it up, and comes anew")
        wire.resume()

    threading.Thread(target=resume).start()
    assert ids(next(changes)) == ["a", "b"]


def test_one_may_want_an_end_instead(fed: Fed, wire: Wire, client: Client) -> None:
    changes = client.table("users_ui").changes(reconnect=False)
    next(changes)
    wire.cut()
    with pytest.raises(Unreachable):
        next(changes)


def test_a_server_that_is_not_there_at_first_is_an_error() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Unreachable, match=f"There is no Turnout at {url}: start one with `turnout demo`"):
        next(Client(url).table("users_ui").changes())


def test_a_table_that_is_not_there_is_an_error_that_names_those_that_are(client: Client) -> None:
    with pytest.raises(TableMissing, match="there is no table 'nosuch'; there are users_ui, accounts_ui"):
        next(client.table("nosuch").changes())


def test_what_waits_for_an_event_ends_when_the_stream_is_closed(fed: Fed, client: Client) -> None:
    changes = client.table("users_ui").changes()
    heard: list[Event] = []
    thread = threading.Thread(target=lambda: heard.extend(changes))
    thread.start()
    until(lambda: fed.followers == 1, "it is connected")
    client.close()
    thread.join(30)
    assert not thread.is_alive()
    assert list(changes) == []


def test_a_pause_between_attempts_ends_when_the_stream_is_closed(
    wire: Wire, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.client.changes.FIRST_PAUSE_SECONDS", 60.0)
    changes = client.table("users_ui").changes()
    next(changes)
    wire.lead(None)

    def close() -> None:
        until(lambda: changes.problem, "it waits")
        changes.close()

    threading.Thread(target=close).start()
    began = time.monotonic()
    assert list(changes) == []
    assert time.monotonic() - began < 30


def test_pauses_grow_to_a_bound() -> None:
    assert 0 < FIRST_PAUSE_SECONDS < LONGEST_PAUSE_SECONDS <= 8


def test_a_stream_that_nobody_holds_any_more_is_disconnected(fed: Fed, client: Client) -> None:
    for event in client.table("users_ui").changes():
        assert isinstance(event, Snapshot)
        break
    until(lambda: fed.followers == 0, "the server has noticed")


def test_follow_gives_all_rows_each_time(fed: Fed, client: Client) -> None:
    fed.swap(1, [("a", 1)])
    following = client.table("users_ui").follow()
    assert [row["userId"] for row in next(following)] == ["ua"]
    fed.change([("b", 1)])
    assert [row["userId"] for row in next(following)] == ["ua", "ub"]
    fed.swap(2, [("c", 1)])
    assert [row["userId"] for row in next(following)] == ["uc"]


def test_a_live_table_is_there_when_it_is_entered_and_changes_by_itself(fed: Fed, client: Client) -> None:
    fed.swap(1, [("a", 1)])
    with client.table("users_ui").live() as live:
        assert [row["age"] for row in live.rows] == [1]
        assert not live.changed(0)
        fed.change([("a", 2)])
        assert live.changed(30)
        assert live.by_id == fed.held()
        fed.swap(2, [])
        assert live.changed(30)
        assert (len(live), live.generation) == (0, 2)


def test_a_live_table_that_cannot_be_had_is_an_error_at_once(client: Client) -> None:
    with pytest.raises(TableMissing), client.table("nosuch").live():
        pass


def test_a_live_table_that_has_ended_says_why(fed: Fed, wire: Wire, client: Client) -> None:
    with client.table("users_ui").live(reconnect=False) as live:
        wire.cut()
        with pytest.raises(Unreachable):
            live.changed(30)
        assert isinstance(live.problem, Unreachable)
