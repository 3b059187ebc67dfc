"""Switches, and what becomes of them; what is published goes to a stand-in for Kafka."""

import asyncio
import json
import threading
from collections.abc import Callable

import pytest

from tests.client.fed import Fed
from tests.client.wire import Wire
from tests.serve.publishing import Published
from tests.waiting import until
from turnout.client import (
    AsyncClient,
    Client,
    NothingToUndo,
    Outcome,
    OutcomeUnknown,
    SwitchRejected,
    TurnoutError,
    Unavailable,
    Unreachable,
)
from turnout.control.message import ControlMessage

Publishing = Callable[[str | None], Published]


@pytest.fixture
def publishing(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> Publishing:
    def publishing(outcome: str | None) -> Published:
        published = Published(fed.service, outcome)
        monkeypatch.setattr(fed.service, "publish_control", published)
        return published

    return publishing


def test_keywords_are_the_control_fields_of_the_servers_tables(client: Client, publishing: Publishing) -> None:
    published = publishing("applied")
    outcome = client.switch(users_topic="users_b", join="inner")
    assert (outcome, outcome.applied, outcome.in_force) == (Outcome("0:0", "applied"), True, True)
    assert json.loads(published.values[0]) == {"usersTopic": "users_b", "joinType": "inner"}
    client.switch(accounts_topic="accounts_b", users_topic=None)
    assert json.loads(published.values[1]) == {"accountsTopic": "accounts_b"}


@pytest.mark.parametrize(("text", "in_force"), [("no change", True), ("superseded", False)])
def test_outcomes_that_change_nothing_are_told_apart(
    client: Client, publishing: Publishing, text: str, in_force: bool
) -> None:
    publishing(text)
    outcome = client.switch(join="left")
    assert (outcome.text, outcome.applied, outcome.in_force) == (text, False, in_force)


def test_a_switch_that_is_rejected_raises_the_reason(client: Client, publishing: Publishing) -> None:
    publishing("rejected: topic 'nosuch' does not exist")
    with pytest.raises(SwitchRejected, match=r"^topic 'nosuch' does not exist$") as raised:
        client.switch(users_topic="nosuch")
    outcome = Outcome("0:0", "rejected: topic 'nosuch' does not exist")
    assert raised.value.outcome == outcome
    assert not outcome.in_force


def test_a_keyword_that_the_server_does_not_know_is_not_sent(client: Client, publishing: Publishing) -> None:
    published = publishing("applied")
    with pytest.raises(
        SwitchRejected, match="no 'user_topic' to switch: there are users_topic, accounts_topic and join"
    ):
        client.switch(user_topic="users_b")
    with pytest.raises(SwitchRejected, match="give one or more of users_topic, accounts_topic, join"):
        client.switch()
    assert published.values == []


def test_an_outcome_that_takes_its_time_is_waited_for(
    fed: Fed, client: Client, publishing: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.serve.control_api.OUTCOME_SECONDS", 0.05)
    monkeypatch.setattr("turnout.client.switching.POLL_SECONDS", 0.05)
    published = publishing(None)

    async def switch() -> Outcome:
        switching = asyncio.create_task(AsyncClient(client.url).switch(join="inner"))
        await asyncio.to_thread(until, lambda: published.values, "the message is published")
        fed.service.tables.outcome(ControlMessage(0, 0, 0, published.values[0]), "applied")
        return await switching

    assert asyncio.run(switch()) == Outcome("0:0", "applied")
    with pytest.raises(OutcomeUnknown, match=r"Control message 0:1 has no outcome yet, after 3 s"):
        client.switch(join="left", wait_seconds=3)  # time for the server's own answer, on a busy machine too


def test_a_server_that_says_nothing_in_time_may_still_do_it(client: Client, publishing: Publishing) -> None:
    publishing(None)
    with pytest.raises(OutcomeUnknown, match=r"nothing came for 0.2 s. The control message may have been published"):
        client.switch(join="left", wait_seconds=0.2)


def test_a_connection_that_breaks_before_the_answer_leaves_it_open(
    wire: Wire, client: Client, publishing: Publishing
) -> None:
    published = publishing(None)

    def cut() -> None:
        until(lambda: published.values, "the message is published")
        wire.cut()

    threading.Thread(target=cut).start()
    with pytest.raises(OutcomeUnknown, match="The control message may have been published"):
        client.switch(join="left")


def test_a_server_that_has_no_kafka_yet_says_so(client: Client) -> None:
    with pytest.raises(Unavailable, match="Turnout is still starting"):
        client.switch(join="inner")


def test_nothing_to_undo_is_an_error_of_its_own(
    fed: Fed, client: Client, publishing: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> str:
        raise NothingToUndo("There is nothing to undo")

    monkeypatch.setattr(fed.service, "publish_undo", nothing)
    with pytest.raises(NothingToUndo):
        client.undo()
    published = publishing("applied")
    monkeypatch.setattr(fed.service, "publish_undo", lambda *_: published(b"{}"))
    assert client.undo().applied


def test_the_status_is_there_by_name_and_as_the_server_tells_it(client: Client) -> None:
    status = client.status()
    assert (status.state, status.generation, status.join, status.last_applied) == ("starting", 0, "left", None)
    assert status.topics == {"users": "users", "accounts": "accounts"}
    assert status.lag == {}
    assert status["usersTopic"] == "users"
    assert status.message is None or isinstance(status.message, str)


def test_tables_are_told_with_their_columns(fed: Fed, client: Client) -> None:
    fed.swap(1, [("a", 1)])
    tables = {table.name: table for table in client.tables()}
    assert tables["users_ui"].rows == 1
    assert tables["accounts_ui"].columns == {"userId": "string", "accountType": "string", "balance": "double"}


def test_what_is_no_turnout_is_said_to_be_none(fed: Fed) -> None:
    with pytest.raises(TurnoutError, match="answers with 404 Not Found: is that a Turnout"):
        Client(f"{fed.url}/elsewhere").status()
    with pytest.raises(TurnoutError, match="'ftp://x' is not an address such as http"):
        Client("ftp://x")


def test_all_errors_are_of_one_tree() -> None:
    for kind in (Unreachable, Unavailable, SwitchRejected, OutcomeUnknown, NothingToUndo):
        assert issubclass(kind, TurnoutError)
