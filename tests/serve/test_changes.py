import asyncio
import json
import logging
import random
import socket
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, schemas
from tests.serve.feeding import change, swap, users
from tests.shown import NAMES, Shown
from tests.waiting import until
from turnout.schema import JoinSchema, JoinType, Match
from turnout.serve.changes import PIECE_ROWS, QUEUED_ROWS, Changes, _encoded
from turnout.service import Service
from turnout.tables.delta import ROW
from turnout.tables.registry import Listener, Registry, Snapshot

WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Event:
    kind: str
    data: Any

    @property
    def ids(self) -> list[str]:
        """Of the rows in it."""
        return [row[ROW] for row in self.data.get("rows", self.data.get("upserts"))]


def parsed(text: str) -> Event:
    kind, data, *rest = text.split("\n")
    assert rest == []
    assert kind.startswith("event: ")
    assert data.startswith("data: ")
    return Event(kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))


@contextmanager
def stream(http: httpx.Client, table: str = "users_ui") -> Iterator[Iterator[Event]]:
    with http.stream("GET", f"/api/tables/{table}/changes", timeout=WAIT_SECONDS) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"

        def events() -> Iterator[Event]:
            rest = ""
            for part in response.iter_text():
                *whole, rest = (rest + part).split("\n\n")
                yield from (parsed(text) for text in whole if not text.startswith(":"))

        yield events()


class Copy:
    """A table kept by its events alone."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, object]] = {}
        self.generation = -1

    def take(self, event: Event) -> None:
        self.generation = event.data["generation"]
        if event.kind == "change":
            for id_ in event.data["removes"]:
                self.rows.pop(id_, None)
            self.rows.update({row[ROW]: row for row in event.data["upserts"]})
        else:
            self.rows = {row[ROW]: row for row in event.data["rows"]}

    def shows(self, service: Service, table: str = "users_ui") -> bool:
        return self.state == state_of(service.tables.registry, table)

    @property
    def state(self) -> "State":
        return self.generation, self.rows


State = tuple[int, dict[str, dict[str, object]]]


def state_of(registry: Registry, table: str) -> State:
    snapshot = registry.snapshot(table)
    return snapshot.generation, {row[ROW]: row for row in snapshot.rows.to_dicts()}


def test_first_comes_a_snapshot_then_each_change_and_swap_in_order(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 10)])
    with stream(http) as events:
        assert next(events) == Event(
            "snapshot",
            {
                "generation": 0,
                "rows": [{ROW: "1", "userId": "u1", "name": "name 1", "email": None, "age": 10}],
            },
        )
        change(service, [("2", 20)], removes=["1"])
        swap(service, 1, [("3", 30), ("4", 40)])
        change(service, [("3", 31)])
        changed, swapped, changed_again = next(events), next(events), next(events)
    assert changed.kind == "change"
    assert changed.data["generation"] == 0
    assert changed.data["upserts"] == [{ROW: "2", "userId": "u2", "name": "name 2", "email": None, "age": 20}]
    assert changed.data["removes"] == ["1"]
    assert (swapped.kind, swapped.data["generation"], swapped.ids) == ("swap", 1, ["3", "4"])
    assert (changed_again.kind, changed_again.data["generation"], changed_again.ids) == ("change", 1, ["3"])


def test_a_table_is_empty_before_there_is_anything_and_its_stream_goes_on(http: httpx.Client, service: Service) -> None:
    with stream(http) as events:
        assert next(events).data == {"generation": 0, "rows": []}
        change(service, [("1", 1)])
        assert next(events).ids == ["1"]


def test_integers_are_exact_in_every_event(http: httpx.Client, service: Service) -> None:
    numbers = [2**63 - 1, -(2**63), 2**53 + 1]
    rows = [(str(number), number) for number in numbers]
    change(service, rows)
    with stream(http) as events:
        assert [row["age"] for row in next(events).data["rows"]] == numbers
        change(service, rows)
        assert [row["age"] for row in next(events).data["upserts"]] == numbers
        swap(service, 1, rows)
        assert [row["age"] for row in next(events).data["rows"]] == numbers


def test_line_breaks_in_a_value_do_not_break_the_stream(http: httpx.Client, service: Service) -> None:
    text = 'a\nb\r\nc\n\ndata: x\u2028"☃'
    with stream(http, "orchestrator_logs") as events:
        next(events)
        service.tables.log_handler.emit(_log_record(text))
        assert next(events).data["upserts"][0]["msg"] == text


def _log_record(text: str) -> logging.LogRecord:
    return logging.LogRecord("turnout", logging.INFO, __file__, 1, text, None, None)


def test_a_swap_to_nothing_is_a_swap(http: httpx.Client, service: Service) -> None:
    change(service, [("1", 1)])
    with stream(http) as events:
        next(events)
        swap(service, 1, [])
        assert next(events) == Event("swap", {"generation": 1, "rows": []})


def test_only_the_table_asked_for_is_told_of(http: httpx.Client, service: Service) -> None:
    with stream(http, "orchestrator_logs") as events:
        next(events)
        change(service, [("1", 1)])
        service.tables.log_handler.emit(_log_record("a line"))
        assert next(events).data["upserts"][0]["msg"] == "a line"


def test_clients_that_come_while_all_changes_see_all_of_it(http: httpx.Client, service: Service) -> None:
    done = threading.Event()

    def work() -> None:
        chance = random.Random(7)
        for number in range(200):
            rows = {str(chance.randrange(30)): number for _ in range(5)}
            if number % 20 == 19:
                swap(service, number, rows.items())
            else:
                change(service, rows.items(), {str(chance.randrange(30, 40))} - rows.keys())
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(3):
        with stream(http) as events:
            copy = Copy()
            while not (done.is_set() and copy.shows(service)):
                copy.take(next(events))
    worker.join()


def test_a_client_that_went_away_is_told_no_more(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, told, gone = service.tables.registry, list[Listener](), list[Listener]()
    subscribe, unsubscribe = registry.subscribe, registry.unsubscribe

    def note_subscribed(name: str, listener: Listener) -> Snapshot:
        told.append(listener)
        return subscribe(name, listener)

    def note_unsubscribed(name: str, listener: Listener) -> None:
        unsubscribe(name, listener)
        gone.append(listener)

    monkeypatch.setattr(registry, "subscribe", note_subscribed)
    monkeypatch.setattr(registry, "unsubscribe", note_unsubscribed)
    with stream(http) as events:
        next(events)
        assert len(told) == 1
    until(lambda: gone == told, "the stream has ended")


@contextmanager
def slow_stream(server: str, table: str = "users_ui") -> Iterator[Iterator[Event]]:
    """As `stream`, with next to no room on the client's side for what is not read."""
    with socket.socket() as connection:
        connection.settimeout(WAIT_SECONDS)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = server.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        asked = HTTPConnection(host)
        asked.sock = connection
        asked.request("GET", f"/api/tables/{table}/changes")
        with asked.getresponse() as response:
            lines = (line.decode().removesuffix("\n") for line in iter(response.readline, b""))
            yield (parsed(f"{line}\n{next(lines)}") for line in lines if line.startswith("event: "))


def test_a_client_that_stops_reading_takes_up_little_and_goes_on_with_a_new_snapshot(
    server: str, http: httpx.Client, service: Service
) -> None:
    told: list[weakref.ref[object]] = []
    service.tables.registry.subscribe("users_ui", lambda event: told.append(weakref.ref(event)))
    with slow_stream(server) as events:
        copy, kinds = Copy(), list[str]()
        copy.take(next(events))
        for number in range(400):  # 25 MB: more than all buffers between the two take
            rows = [(str(row), number) for row in range(number, number + 800)]
            if number % 150 == 149:
                swap(service, number, rows)
            else:
                change(service, rows, removes=[str(number - 1)])
        # Wherever it waits. Texts that every client gets are kept for a while.
        until(
            lambda: sum(event() is not None for event in told) <= QUEUED_ROWS // 800 + 64 + 2,
            "what is not read is given up",
        )
        while not copy.shows(service):
            event = next(events)
            kinds.append(event.kind)
            copy.take(event)
        assert "snapshot" in kinds
        assert len(kinds) < 400
        shown = http.get("/api/tables/users_ui").json()
        assert shown["generation"] == copy.generation
        assert shown["rows"] == [{name: row[name] for name in row if name != ROW} for row in copy.rows.values()]
        change(service, [("later", 2)])
        assert next(events).ids == ["later"]


def test_a_large_table_is_sent_only_as_fast_as_it_is_read(
    server: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[object] = []

    def note(state: Snapshot, name: str, start: int) -> bytes:
        encoded.append(state)
        return _encoded(state, name, start)

    monkeypatch.setattr("turnout.serve.changes._encoded", note)
    rows, pieces = 150_000, 150_000 // PIECE_ROWS  # 13 MB
    change(service, [(str(row), row) for row in range(rows)])
    with slow_stream(server) as slow:
        until(lambda: encoded, "the first piece is sent")
        with slow_stream(server) as other:
            assert len(next(other).ids) == rows
        # The other one began later and has it all: so the first one has been waiting.
        assert 0 < encoded.count(encoded[0]) < pieces
        change(service, [("later", 2)])
        copy = Copy()
        while not copy.shows(service):
            copy.take(next(slow))
    assert encoded.count(encoded[0]) == pieces


# -- without a server: what a client does not read is under control


@contextmanager
def one_stream(registry: Registry, table: str = "users_ui") -> Iterator["Reader"]:
    with asyncio.Runner() as runner:

        async def start() -> AsyncIterator[bytes]:
            return Changes(registry, table).stream()

        reader = Reader(runner, runner.run(start()))
        try:
            yield reader
        finally:
            runner.run(reader.close())


class Reader:
    """A client that reads only when told to."""

    def __init__(self, runner: asyncio.Runner, texts: AsyncIterator[bytes]) -> None:
        self._runner, self._texts = runner, texts

    def read(self) -> str:
        async def read() -> bytes:
            return await asyncio.wait_for(anext(self._texts), WAIT_SECONDS)

        return self._runner.run(read()).decode()

    def event(self) -> Event:
        text = self.read()
        while not text.endswith("\n\n"):  # a large one comes in pieces
            text += self.read()
        return parsed(text.removesuffix("\n\n"))

    async def close(self) -> None:
        async with aclosing(self._texts):  # type: ignore[type-var]  # it is a generator
            pass


def test_what_does_not_fit_into_the_queue_is_replaced_by_one_snapshot(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.serve.changes.QUEUED_EVENTS", 3)
    with one_stream(service.tables.registry) as reader:
        assert reader.event().kind == "snapshot"
        for number in range(3):
            change(service, [(str(number), number)])
        assert [reader.event().ids for _ in range(3)] == [["0"], ["1"], ["2"]]
        for number in range(3, 10):
            change(service, [(str(number), number)])
        swap(service, 1, [("x", 1)])
        change(service, [("y", 2)])
        assert reader.event() == Event(
            "snapshot", {"generation": 1, "rows": users(service, [("x", 1), ("y", 2)]).to_dicts()}
        )
        change(service, [("z", 3)])
        assert reader.event().ids == ["z"]


def test_a_quiet_table_says_that_it_is_still_there(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.serve.changes.KEEP_ALIVE_SECONDS", 0.01)
    with one_stream(service.tables.registry) as reader:
        reader.read()
        assert reader.read() == reader.read() == ": still here\n\n"
        change(service, [("1", 1)])
        assert reader.event().ids == ["1"]


# -- what a viewer makes of the events


@st.composite
def bounded_schemas(draw: st.DrawFn) -> JoinSchema:
    schema, limits = draw(schemas()), st.sampled_from([1, 3, 6, 1_000])
    left, right = (replace(side, max_rows=draw(limits)) for side in (schema.left, schema.right))
    return replace(schema, left=left, right=right, max_rows=draw(limits))


@given(data=st.data())
@settings(max_examples=60)
def test_whoever_replays_the_events_only_ever_has_what_a_snapshot_had_and_ends_with_what_it_has(
    data: st.DataObject,
) -> None:
    schema = data.draw(bounded_schemas())
    shown, table = Shown(schema), data.draw(st.sampled_from([NAMES.left, NAMES.right, NAMES.joined]))
    history, copy, at = [state_of(shown.registry, table)], Copy(), 0

    def read() -> None:
        """The next state of the copy: one that the table has had, never one before the last."""
        nonlocal at
        copy.take(reader.event())
        assert copy.state in history[at:]
        at = history.index(copy.state, at)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("turnout.serve.changes.QUEUED_EVENTS", data.draw(st.sampled_from([2, 1_000])))
        patched.setattr("turnout.serve.changes.QUEUED_ROWS", data.draw(st.sampled_from([4, 1_000])))
        patched.setattr("turnout.serve.changes.PIECE_ROWS", data.draw(st.sampled_from([1, 2, 1_000])))
        with one_stream(shown.registry, table) as reader:
            read()
            for message in data.draw(histories(schema)):
                if shown.registry.generation == 0 or data.draw(st.integers(0, 3)) == 0:
                    join, match = data.draw(st.sampled_from(JoinType)), data.draw(st.sampled_from(Match))
                    shown.show(join, match, shown.registry.generation + 1)
                    history.append(state_of(shown.registry, table))
                shown.send(message)
                history.append(state_of(shown.registry, table))
                if copy.state != history[-1] and data.draw(st.booleans()):
                    read()
            while copy.state != history[-1]:
                read()
