"""What viewers may do, held to the requests that Perspective's own client really sends."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import httpx
import perspective
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.serve.feeding import change, swap
from tests.waiting import until
from turnout.serve import perspective_table
from turnout.serve.perspective_requests import MAKE_PORT, READING, asked, reads_only, unused_port
from turnout.serve.perspective_session import TRY_AGAIN_LATER, Session
from turnout.serve.perspective_table import PerspectiveTable
from turnout.serve.security.refusal import POLICY_VIOLATION
from turnout.serve.shared_lock import SharedLock
from turnout.service import Service

WRITING = frozenset(
    {
        MAKE_PORT,
        27,  # make a table
        28,  # delete one
        31,  # remove rows
        32,  # replace rows
        33,  # update rows
        38,  # make a table that is a join
    }
)

MAKE_VIEW = 6


# -- the allow-list


class Recorder:
    """A Perspective client and server side by side, and the requests between them."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._server = perspective.Server()
        self.client = perspective.Client(self._send)
        self._session = self._server.new_session(lambda answer: self.client.handle_response(bytes(answer)))
        self.local = self._server.new_local_client()
        self.owned = self.local.table({"id": [1, 2], "text": ["x", "y"]}, index="id", name="t")
        self.table = self.client.open_table("t")
        self.view = self.table.view()
        self.grouped = self.table.view(group_by=["text"])

    def _send(self, request: bytes) -> None:
        self.sent.append(bytes(request))
        self._session.handle_request(bytes(request))

    def requests(self, do: "Operation") -> list[bytes]:
        self.sent.clear()
        do(self)
        assert self.sent, "nothing was asked"
        return list(self.sent)

    def close(self) -> None:
        self._session.close()


Operation = Callable[[Recorder], object]


def ignore(*_: object) -> None:
    """A callback that is never called."""


READS: dict[str, Operation] = {
    "names of tables": lambda on: on.client.get_hosted_table_names(),
    "open a table": lambda on: on.client.open_table("t"),
    "memory in use": lambda on: on.client.system_info(),
    "news of tables": lambda on: on.client.on_hosted_tables_update(ignore),
    "no more news of tables": lambda on: on.client.remove_hosted_tables_update(
        on.client.on_hosted_tables_update(ignore)
    ),
    "columns": lambda on: on.table.columns(),
    "schema": lambda on: on.table.schema(),
    "size": lambda on: on.table.size(),
    "describe": lambda on: on.table.describe(),
    "validate expressions": lambda on: on.table.validate_expressions({"e": '"id" + 1'}),
    "table's deletion": lambda on: on.table.on_delete(ignore),
    "no more of it": lambda on: on.table.remove_delete(on.table.on_delete(ignore)),
    "view": lambda on: on.table.view(),
    "view with everything": lambda on: on.table.view(
        columns=["text", "e"],
        group_by=["text"],
        split_by=["id"],
        filter=[["id", ">", 0]],
        sort=[["text", "desc"]],
        aggregates={"e": "sum"},
        expressions={"e": '"id" * 2'},
    ),
    "delete a view": lambda on: on.table.view().delete(),
    "collapse": lambda on: on.grouped.collapse(0),
    "expand": lambda on: on.grouped.expand(0),
    "column paths": lambda on: on.view.column_paths(),
    "dimensions": lambda on: on.view.dimensions(),
    "expression schema": lambda on: on.view.expression_schema(),
    "config": lambda on: on.view.get_config(),
    "smallest and largest": lambda on: on.view.get_min_max("id"),
    "number of rows": lambda on: on.view.num_rows(),
    "number of columns": lambda on: on.view.num_columns(),
    "view's schema": lambda on: on.view.schema(),
    "Arrow": lambda on: on.view.to_arrow(),
    "a window as Arrow": lambda on: on.view.to_arrow(start_row=0, end_row=1),
    "columns as JSON": lambda on: on.view.to_columns(),
    "rows as JSON": lambda on: on.view.to_json(),
    "rows as NDJSON": lambda on: on.view.to_ndjson(),
    "CSV": lambda on: on.view.to_csv(),
    "updates": lambda on: on.view.on_update(ignore),
    "updates with rows": lambda on: on.view.on_update(ignore, mode="row"),
    "no more updates": lambda on: on.view.remove_update(on.view.on_update(ignore)),
    "removes": lambda on: on.view.on_remove(ignore),
    "no more removes": lambda on: on.view.remove_remove(on.view.on_remove(ignore)),
    "view's deletion": lambda on: on.view.on_delete(ignore),
    "no more of that": lambda on: on.view.remove_delete(on.view.on_delete(ignore)),
}

WRITES: dict[str, Operation] = {
    "make a table": lambda on: on.client.table({"a": [1]}),
    "make a table of the same name": lambda on: on.client.table({"a": [1]}, name="t"),
    "make a table from CSV": lambda on: on.client.table("a,b\n1,2"),
    "join": lambda on: on.client.join("t", "t", "id"),
    "update": lambda on: on.table.update([{"id": 1, "text": "z"}]),
    "update through a port": lambda on: on.table.update([{"id": 1, "text": "z"}], port_id=1),
    "replace": lambda on: on.table.replace([{"id": 1, "text": "z"}]),
    "remove": lambda on: on.table.remove([1]),
    "clear": lambda on: on.table.clear(),
    "delete": lambda on: on.table.delete(),
    "make a port": lambda on: on.table.make_port(),
}


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


@pytest.mark.parametrize("name", READS)
def test_what_reads_is_allowed(recorder: Recorder, name: str) -> None:
    assert all(map(reads_only, recorder.requests(READS[name])))


@pytest.mark.parametrize("name", WRITES)
def test_what_writes_is_refused(recorder: Recorder, name: str) -> None:
    with suppress(perspective.PerspectiveError):  # here nobody is in between, and it may make no sense
        recorder.requests(WRITES[name])
    assert not any(map(reads_only, recorder.sent))


def test_a_table_made_from_a_view_is_a_write_after_reads(recorder: Recorder) -> None:
    requests = recorder.requests(lambda on: on.client.table(on.view))
    assert [reads_only(request) for request in requests] == [*[True] * (len(requests) - 1), False]


def varint(number: int) -> bytes:
    *more, last = [number >> shift & 0x7F for shift in range(0, max(1, number.bit_length()), 7)]
    return bytes(byte | 0x80 for byte in more) + bytes([last])


def field(number: int, content: bytes = b"") -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def request(number: int, content: bytes = b"") -> bytes:
    """A request of the kind with this number, about table t."""
    return varint(1 << 3) + varint(7) + field(2, b"t") + field(number, content)


def test_every_request_that_perspective_knows_is_known_here_to_read_or_to_write() -> None:
    known = set()
    for number in range(3, 100):
        server, answers = perspective.Server(on_poll_request=ignore), list[bytes]()
        session = server.new_session(answers.append)
        session.handle_request(request(number))
        session.close()
        if not any(b"Client request unknown variant" in answer for answer in answers):
            known.add(number)
    assert known == READING | WRITING
    assert not READING & WRITING


def test_only_the_numbers_of_reading_requests_are_allowed() -> None:
    assert {number for number in range(1_000) if reads_only(request(number))} == READING


@pytest.mark.parametrize("number", sorted(WRITING))
@pytest.mark.parametrize("read", [4, 6])
def test_a_write_hidden_before_or_behind_a_read_is_refused(number: int, read: int) -> None:
    assert not reads_only(request(read) + field(number))
    assert not reads_only(request(number) + field(read))
    # Written with more bytes than needed, as another number or another type of field.
    assert not reads_only(request(read) + bytes([number << 3 & 0x7F | 0x82, number >> 4 | 0x80, 0, 0]))
    assert not reads_only(request(read) + varint((number << 3 | 2) + (1 << 32)) + b"\0")
    assert not reads_only(request(read) + varint(number << 3) + b"\1")


@pytest.mark.parametrize(
    "cut_off", [b"", request(4)[:-1], request(4) + b"\x80", b"\x08", field(2, b"t"), b"\xff" * 20, request(4) + b"\x0b"]
)
def test_what_is_not_one_whole_request_is_refused(cut_off: bytes) -> None:
    assert not reads_only(cut_off)
    assert unused_port(cut_off) is None


@given(st.binary(max_size=30))
def test_any_bytes_are_judged_and_none_that_write_are_let_through(message: bytes) -> None:
    if reads_only(message):
        assert unused_port(message) is None
        for number in WRITING:
            assert not reads_only(message + field(number))


@given(st.sampled_from(sorted(READING)), st.binary(max_size=20), st.sampled_from(sorted(WRITING)))
def test_what_is_inside_a_request_does_not_matter(number: int, content: bytes, write: int) -> None:
    assert reads_only(request(number, content))
    assert reads_only(request(number, field(write)))
    assert not reads_only(request(write, content))


def test_a_viewer_that_asks_for_a_port_gets_one_that_nobody_has(recorder: Recorder) -> None:
    (asked,) = recorder.requests(lambda on: on.table.make_port())
    answered = perspective.Client(lambda _: None)
    answer = unused_port(asked)
    assert answer is not None
    assert asked[:-2] == answer[: len(asked) - 2]
    answered.handle_response(answer)  # understood, though nobody waits for it
    for other in (b"", request(4), request(MAKE_PORT, b"\x08\x01"), request(MAKE_PORT) + field(4)):
        assert unused_port(other) is None


# -- over the socket


class Viewer:
    """A client at the other end of the socket, which reads while it is awake."""

    def __init__(self, socket: ClientConnection, awake: threading.Event) -> None:
        self.socket, self._awake = socket, awake
        self.sent: list[bytes] = []
        self.client = perspective.Client(self._send)
        self.closed: int | None = None
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _send(self, message: bytes) -> None:
        self.sent.append(bytes(message))
        with suppress(ConnectionClosed):
            self.socket.send(bytes(message))

    def _listen(self) -> None:
        try:
            for message in self.socket:
                self._awake.wait()
                assert isinstance(message, bytes)
                self.client.handle_response(message)
        except ConnectionClosed:
            pass
        self.closed = self.socket.close_code

    def table(self, name: str = "users_ui") -> Any:
        return self.client.open_table(name)

    def wait_until_closed(self) -> int | None:
        """By the other side; with which code."""
        until(lambda: self.closed is not None, "the socket is closed")
        return self.closed

    def close(self) -> None:
        self.socket.close()
        self._listener.join()


@pytest.fixture
def address(server: str) -> str:
    return server.replace("http://", "ws://") + "/perspective"


@contextmanager
def viewing(address: str, awake: threading.Event | None = None) -> Iterator[Viewer]:
    awake = awake or _always()
    # What is compressed takes long to fill the buffers between the two.
    with connect(address, max_size=None, max_queue=1, compression=None, ping_interval=None) as socket:
        viewer = Viewer(socket, awake)
        try:
            yield viewer
        finally:
            awake.set()
            viewer.close()


def _always() -> threading.Event:
    awake = threading.Event()
    awake.set()
    return awake


@pytest.fixture
def viewer(address: str) -> Iterator[Viewer]:
    with viewing(address) as viewer:
        yield viewer


def ages(view: Any) -> dict[str, int | None]:
    columns = view.to_columns()
    ids = [key.removeprefix("u") for key in columns.get("userId", [])]
    return dict(zip(ids, columns.get("age", []), strict=True))


def test_every_public_table_is_there_from_the_first_moment(viewer: Viewer, service: Service) -> None:
    assert sorted(viewer.client.get_hosted_table_names()) == sorted(service.tables.registry.tables)
    assert viewer.table().schema() == {
        "userId": "string",
        "name": "string",
        "email": "string",
        "age": "integer",
        "_place": "integer",
    }
    for name in service.tables.names.of_turnout:  # by these a page knows old lines from new ones
        assert "_row" in viewer.table(name).schema()
    status = viewer.table("orchestrator_status").view()
    until(lambda: status.to_columns().get("state") == ["starting"], "the status row is shown")


def test_rows_that_were_there_before_the_server_are_shown(service: Service, request: pytest.FixtureRequest) -> None:
    change(service, [("1", 10)])
    with viewing(request.getfixturevalue("address")) as viewer:
        view = viewer.table().view()
        until(lambda: ages(view) == {"1": 10}, "the row is shown")


def test_changes_reach_a_view_and_it_is_told(viewer: Viewer, service: Service) -> None:
    view, told = viewer.table().view(), threading.Event()
    view.on_update(lambda *_: told.set())
    change(service, [("1", 10), ("2", 20)])
    assert told.wait(10)
    assert ages(view) == {"1": 10, "2": 20}
    change(service, [("1", None)], removes=["2"])
    until(lambda: ages(view) == {"1": None}, "the change is shown")


def test_a_view_with_filter_sort_and_groups_goes_on_through_a_swap(viewer: Viewer, service: Service) -> None:
    view = viewer.table().view(filter=[["age", ">", 10]], sort=[["age", "desc"]], columns=["userId", "age"])
    grouped = viewer.table().view(group_by=["name"], columns=["age"])
    change(service, [("1", 10), ("2", 20), ("3", 30)])
    until(lambda: list(ages(view)) == ["3", "2"], "the rows are shown")
    swap(service, 1, [("3", 15), ("4", 40)])
    until(lambda: list(ages(view)) == ["4", "3"], "the other rows are shown")
    assert grouped.to_columns()["age"] == [55, 15, 40]


def test_integers_are_exact(viewer: Viewer, service: Service) -> None:
    numbers = [2**63 - 1, -(2**63), 2**53 + 1, 3_000_000_000]
    view = viewer.table().view()
    change(service, [(str(number), number) for number in numbers])
    until(lambda: len(ages(view)) == len(numbers), "the numbers are shown")
    assert ages(view) == {str(number): number for number in numbers}
    assert sorted(pl.read_ipc_stream(view.to_arrow())["age"]) == sorted(numbers)


def test_texts_are_exact_and_not_cut_at_a_nul(viewer: Viewer, service: Service) -> None:
    texts = {text: text for text in ("", '"', "☃ 𝄞", "a\nb", "null", "x" * 100_000)} | {"a\0b": "a␀b"}
    view = viewer.table("rejected_ui").view()
    for offset, text in enumerate(texts):
        _reject(service, offset, text)
    until(lambda: view.num_rows() == len(texts), "the texts are shown")
    shown = view.to_columns()
    assert dict(zip(shown["offset"], shown["reason"], strict=True)) == dict(enumerate(texts.values()))


def _reject(service: Service, offset: int, reason: str) -> None:
    service.tables.rejected([{"ts": 0, "topic": "t", "partition": 0, "offset": offset, "reason": reason, "value": ""}])


def test_a_swap_of_all_tables_is_one_update_of_each_view(viewer: Viewer, service: Service) -> None:
    view, updates = viewer.table().view(), list[object]()
    change(service, [(str(number), 1) for number in range(1_000)])
    until(lambda: len(ages(view)) == 1_000, "the old rows are shown")
    view.on_update(updates.append)
    swap(service, 1, [(str(number), 2) for number in range(500, 1_500)])
    until(lambda: updates, "the view is told")
    assert ages(view) == {str(number): 2 for number in range(500, 1_500)}
    change(service, [("last", 3)])
    until(lambda: len(updates) > 1, "the view is told of the next change")
    assert "last" in ages(view)
    assert len(updates) == 2


def test_no_viewer_sees_that_a_worn_table_is_filled_anew(
    viewer: Viewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perspective_table, "FEWEST_WORN", 1)
    monkeypatch.setattr(perspective_table, "TIMES_WORN", 1)
    refills, refill = list[str](), PerspectiveTable.refill

    def noted(table: PerspectiveTable, rows: pl.DataFrame) -> None:
        refills.append(table.name)
        refill(table, rows)

    monkeypatch.setattr(PerspectiveTable, "refill", noted)
    rows = [(str(number), number) for number in range(1_000)]
    change(service, rows)
    view, fewest, told = viewer.table().view(), set[int](), 0
    until(lambda: view.num_rows() == len(rows), "the rows are shown")
    while len(refills) < 5:
        told += 1
        change(service, [(id_, told) for id_, _ in rows])
        fewest.add(view.num_rows())
    assert fewest == {len(rows)}
    until(lambda: set(ages(view).values()) == {told}, "the last change is shown")
    assert set(ages(view)) == {id_ for id_, _ in rows}


def test_no_viewer_ever_sees_a_mix_of_two_generations_or_an_empty_table(viewer: Viewer, service: Service) -> None:
    table = viewer.table()
    view = table.view()
    swap(service, 1, [(f"{1}-{number}", 1) for number in range(200)])
    until(lambda: len(ages(view)) == 200, "the first generation is shown")
    stop = threading.Event()

    def keep_swapping() -> None:
        generation = 1
        while not stop.is_set():
            generation += 1
            swap(service, generation, [(f"{generation}-{number}", generation) for number in range(200)])
            stop.wait(0.02)

    swapper = threading.Thread(target=keep_swapping)
    swapper.start()
    try:
        seen = set[int | None]()
        while len(seen) < 10:
            fresh = table.view()
            for shown in (ages(view), ages(fresh)):
                assert len(shown) == 200
                assert len(set(shown.values())) == 1
                seen |= set(shown.values())
            fresh.delete()
    finally:
        stop.set()
        swapper.join()


ATTEMPTS: dict[str, Callable[[Viewer], object]] = {
    "update": lambda viewer: viewer.table().update([{"_place": 0, "age": 99}]),
    "replace": lambda viewer: viewer.table().replace([{"_place": 0, "age": 99}]),
    "remove": lambda viewer: viewer.table().remove([0]),
    "clear": lambda viewer: viewer.table().clear(),
    "delete": lambda viewer: viewer.table().delete(),
    "make a table": lambda viewer: viewer.client.table({"a": [1]}, name="mine"),
    "take a name": lambda viewer: viewer.client.table({"a": [1]}, name="users_ui"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_write_is_refused_the_socket_is_closed_and_nothing_has_changed(
    address: str, service: Service, viewer: Viewer, attempt: str
) -> None:
    view = viewer.table().view()
    change(service, [("1", 10)])
    until(lambda: ages(view) == {"1": 10}, "the row is shown")
    with viewing(address) as other:
        # It never gets an answer, so it asks from a thread that nobody waits for.
        threading.Thread(target=lambda: ATTEMPTS[attempt](other), daemon=True).start()
        assert other.wait_until_closed() == POLICY_VIOLATION
        assert other.socket.close_reason == "tables can only be read here"
    assert ages(view) == {"1": 10}
    assert "mine" not in viewer.client.get_hosted_table_names()


def test_rubbish_closes_the_socket_and_nothing_else(address: str, viewer: Viewer) -> None:
    rubbish: list[bytes | str] = [b"", b"\xff\xff", b"rubbish", "text"]
    for message in rubbish:
        with viewing(address) as other:
            other.socket.send(message)
            other.wait_until_closed()
    assert viewer.table().size() == 0


def test_a_viewer_gets_a_port_and_goes_on(viewer: Viewer) -> None:
    table = viewer.table()
    assert table.make_port() == table.make_port() == 1
    assert table.size() == 0


class Sessions:
    """The server's side of every viewer, in the order in which they came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[Session] = []
        self.over: list[Session] = []
        sessions = self

        class Noted(Session):
            def __init__(
                self, websocket: WebSocket, server: perspective.Server, pool: ThreadPoolExecutor, asking: SharedLock
            ) -> None:
                super().__init__(websocket, server, pool, asking)
                sessions.begun.append(self)
                self._server = SimpleNamespace(new_session=lambda emit: noted(self, server.new_session(emit)))

        def noted(session: Session, inner: Any) -> SimpleNamespace:
            def close() -> None:
                inner.close()
                sessions.over.append(session)

            return SimpleNamespace(handle_request=inner.handle_request, close=close)

        monkeypatch.setattr("turnout.serve.perspective.Session", Noted)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    return Sessions(monkeypatch)


@pytest.mark.parametrize("bound", [("QUEUED_MESSAGES", 5), ("QUEUED_BYTES", 1_000_000)], ids=["messages", "bytes"])
def test_a_viewer_that_asks_and_does_not_read_is_told_to_start_over(
    address: str, service: Service, sessions: Sessions, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int]
) -> None:
    monkeypatch.setattr(f"turnout.serve.perspective_session.{bound[0]}", bound[1])
    change(service, [(str(number), number) for number in range(5_000)])
    with viewing(address) as viewer:
        view = viewer.table().view()
        until(lambda: view.num_rows() == 5_000, "the rows are shown")
        view.to_csv()
        with connect(address, max_size=None, max_queue=1) as socket:
            with suppress(ConnectionClosed):
                for _ in range(200):
                    socket.send(viewer.sent[-1])
            until(lambda: sessions.over == sessions.begun[1:], "Perspective works for it no more")
            with suppress(ConnectionClosed):
                while True:
                    socket.recv(timeout=10)
            assert socket.close_code == TRY_AGAIN_LATER
        assert view.num_rows() == 5_000
        metrics = httpx.get(address.replace("ws", "http", 1).removesuffix("/perspective") + "/metrics").text
        assert 'turnout_viewers_fell_behind_total{protocol="perspective"} 1.0' in metrics


def test_a_viewer_that_falls_asleep_is_dropped_and_the_others_go_on(
    address: str, service: Service, sessions: Sessions, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnout.serve.perspective_session.QUEUED_BYTES", 1_000_000)
    view, awake = viewer.table().view(), threading.Event()
    awake.set()
    with viewing(address, awake) as sleeper:
        sleeper.table().view().on_update(lambda *_: None, mode="row")
        awake.clear()
        rows = [(str(number), number) for number in range(20_000)]

        def dropped() -> bool:
            change(service, rows)
            return sessions.over == sessions.begun[1:]

        until(dropped, "Perspective works for it no more", seconds=60)
        change(service, [("last", 1)])
        until(lambda: view.num_rows() == 20_001, "the other one sees what comes")
        awake.set()
        assert sleeper.wait_until_closed() == TRY_AGAIN_LATER


def test_viewers_that_come_and_go_in_the_middle_of_a_question_do_no_harm(
    address: str, service: Service, viewer: Viewer
) -> None:
    change(service, [(str(number), number) for number in range(1_000)])
    for _ in range(20):
        with viewing(address) as other:
            threading.Thread(target=lambda other=other: other.table().view().to_csv(), daemon=True).start()
    view = viewer.table().view()
    until(lambda: len(ages(view)) == 1_000, "the rows are shown")


def test_a_viewer_that_comes_back_makes_its_views_again_under_their_names(address: str, service: Service) -> None:
    """As the page does: the old socket may look alive to the server long after it is dead to the viewer."""
    change(service, [("a", 1)])
    with viewing(f"{address}?viewer=v") as before:
        view = before.table().view(sort=[["age", "desc"]])
        until(lambda: ages(view) == {"a": 1}, "the row is shown")
        make_view, *_ = (message for message in before.sent if asked(message) == [MAKE_VIEW])
        with connect(f"{address}?viewer=v", compression=None) as after:
            before.wait_until_closed()
            after.send(make_view)
            made = after.recv(10)
            assert isinstance(made, bytes)
            assert asked(made) == [MAKE_VIEW], "a view of the same name, not an error"
            after.send(before.sent[-1])  # the last question about the view
            answer = after.recv(10)
            assert isinstance(answer, bytes)
            assert b'"ua"' in answer


def test_other_viewers_go_on_when_one_comes_back(address: str, service: Service, viewer: Viewer) -> None:
    change(service, [("a", 1)])
    view = viewer.table().view()
    with (
        viewing(f"{address}?viewer=v") as first,
        viewing(f"{address}?viewer=v"),
        viewing(f"{address}?viewer=w") as other,
    ):
        first.wait_until_closed()
        others = other.table().view()
        until(lambda: ages(others) == {"a": 1}, "the row is shown to another")
    until(lambda: ages(view) == {"a": 1}, "the row is shown")


def test_who_comes_when_a_generation_is_shown_sees_its_rows_and_no_empty_table(address: str, service: Service) -> None:
    """As a page does that waits for a restarted server: it comes as soon as it hears of a generation."""
    for generation in range(1, 4):
        swap(service, generation, [(f"{generation}-{number}", number) for number in range(20_000)])
        with viewing(address) as viewer:
            seen = ages(viewer.table().view())
        assert len(seen) == 20_000
        assert all(id_.startswith(f"{generation}-") for id_ in seen)
