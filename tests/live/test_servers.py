"""Several servers on one bus: one leads, one stands by, one only serves. Whoever is asked shows the same."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.client.wire import Wire
from tests.loaded import PAIRS, READY_SECONDS, Load, config, create_topics, shows, switch, undo
from tests.torture.process import BROKER, SPARK, ServiceProcess, Unreachable
from tests.torture.users_kafka import free_port
from tests.waiting import until
from turnout.client import Client
from turnout.java import JavaParts
from turnout.kafka.embedded import EmbeddedBroker

TAKEOVER_SECONDS = 10.0
LEFT_ALONE_SECONDS = 60.0
LEADS, STANDS_BY = "This Turnout leads", "Standing by: "
TABLES = (
    "users_ui",
    "accounts_ui",
    "final_ui",
    "control_raw",
    "orchestrator_logs",
    "orchestrator_status",
    "rejected_ui",
)

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def kafka(parts: JavaParts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """One of its own: with a control topic that nobody else has sent to."""
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), parts.broker) as broker:
        create_topics(broker.bootstrap)
        yield broker


@dataclass
class Servers:
    """On one bus, each with a port and a directory of its own; those that may lead share the state directory."""

    kafka: EmbeddedBroker
    home: Path

    def start(self, name: str, command: str = "run", state_dir: str = "shared", **more: object) -> ServiceProcess:
        directory, port = self.home / name, free_port()
        directory.mkdir()
        # Open to all on purpose: so it is written down who switches, whoever that is.
        more |= {"state_dir": str(self.home / state_dir), "serve": {"port": port, "auth": {"open": True}}}
        (directory / "turnout.yaml").write_text(yaml.safe_dump(config(self.kafka.bootstrap, port, **more)))
        server = ServiceProcess(directory, port, command)
        server.start()
        return server


@pytest.fixture(scope="module")
def servers(kafka: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Servers:
    return Servers(kafka, tmp_path_factory.mktemp("servers"))


@pytest.fixture(scope="module")
def leader(servers: Servers) -> Iterator[ServiceProcess]:
    process = servers.start("leader")
    process.until_state("live", "", READY_SECONDS)
    yield process
    process.discard()


@pytest.fixture(scope="module")
def stand_by(servers: Servers, leader: ServiceProcess) -> Iterator[ServiceProcess]:
    process = servers.start("stand-by")
    until_said(process, STANDS_BY)
    yield process
    process.discard()


@pytest.fixture(scope="module")
def server(servers: Servers, leader: ServiceProcess) -> Iterator[ServiceProcess]:
    process = servers.start("server", "serve")
    process.until_state("live", "", READY_SECONDS)
    yield process
    process.discard()


@pytest.fixture(scope="module")
def load(kafka: EmbeddedBroker) -> Load:
    return Load(kafka.bootstrap)


def said(server: ServiceProcess) -> str:
    """What stands in its log since it was started last."""
    return server.log.read_text().rpartition("--- start")[2]


def until_said(server: ServiceProcess, text: str, seconds: float = READY_SECONDS) -> None:
    until(lambda: text in said(server), f"{server.directory.name} says {text!r}", seconds)


def has_switched(server: ServiceProcess, pair: tuple[str, str], join: str) -> None:
    """Whatever was shown before."""
    assert switch(server, pair, join) in ("applied", "no change")


def shown_by(server: ServiceProcess) -> int:
    """The generation that its status tells; 0: it does not answer now."""
    with suppress(Unreachable):
        return int(server.status()["generation"])
    return 0


def seen(server: ServiceProcess) -> dict[str, Any] | None:
    """What a viewer of each table is told first: the generation, and the rows with their ids."""
    try:
        return {name: snapshot(server, name) for name in TABLES}
    except httpx.HTTPError:
        return None


def snapshot(server: ServiceProcess, table: str) -> tuple[int, dict[str, Any]]:
    with httpx.stream("GET", f"{server.url}/api/tables/{table}/changes", timeout=10) as answer:
        data = next(line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
    told = json.loads(data)
    return told["generation"], {row["_row"]: row for row in told["rows"]}


def all_show_the_same(*servers: ServiceProcess) -> None:
    def views() -> list[dict[str, Any]]:
        return [seen(server) or {} for server in servers]

    def agree() -> bool:
        first, *others = views()
        return bool(first) and all(other == first for other in others)

    try:
        until(agree, "", LEFT_ALONE_SECONDS)
    except AssertionError:
        first, *others = views()
        assert [other for other in others if other != first] == [first], "all show the same"


def test_whoever_is_asked_shows_the_same_rows_under_the_same_ids(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    load.send(200)
    for one in (leader, stand_by, server):
        shows(one, load, PAIRS[0], "left")
    all_show_the_same(leader, stand_by, server)
    assert not [*server.java(SPARK), *server.java(BROKER)], "it needs none"


def test_a_client_that_is_moved_from_server_to_server_goes_on(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    balancer = Wire(leader.port)
    try:
        with Client(balancer.url).table("final_ui").live() as live:
            generation = live.generation
            empty = []

            def holds(rows: dict[str, Any]) -> bool:
                held = live.by_id
                empty.append(not held)
                return {id_: {"_row": id_, **row} for id_, row in held.items()} == rows

            for one in (server, stand_by, leader):
                balancer.lead(one.port)
                load.send(20)
                shows(one, load, PAIRS[0], "left")
                _, rows = snapshot(one, "final_ui")
                until(partial(holds, rows), f"it holds what {one.directory.name} shows", READY_SECONDS)
                assert live.generation == generation
            assert not any(empty)
    finally:
        balancer.close()


def test_a_switch_that_a_server_is_asked_for_is_shown_by_it_once_it_is_applied(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    with load:
        assert switch(server, PAIRS[1], "inner") == "applied"
        generation, _ = server.table("final_ui")
        # The leader tells the outcome before the status: by now the rows are there, and the status is about to be.
        server.until_state("live", "users_b + accounts_b (inner)", LEFT_ALONE_SECONDS)
        _, [row] = server.table("orchestrator_status")
        assert (row["usersTopic"], row["joinType"], row["state"]) == ("users_b", "inner", "live")
        assert generation == row["generation"], "not the tables of before"
    for one in (leader, stand_by, server):
        shows(one, load, PAIRS[1], "inner")
    all_show_the_same(leader, stand_by, server)
    for one in (leader, stand_by, server):
        asked = [row["msg"] for row in one.table("orchestrator_logs")[1] if "Switch over HTTP" in row["msg"]]
        assert len(asked) == 1, asked
        assert re.fullmatch(
            rf"Switch over HTTP by anyone from 127.0.0.1: accepted by .+, process {server.pid}: .*inner.*", asked[0]
        )
    assert undo(server) == "applied"
    for one in (leader, stand_by, server):
        shows(one, load, PAIRS[0], "left")
    status, answer = server.post("/api/control", b'{"usersTopic": "nowhere"}')
    assert status == 422
    assert "topic 'nowhere' does not exist" in answer["outcome"]


def test_one_that_is_stopped_while_it_warms_up_ends_in_order(servers: Servers, leader: ServiceProcess) -> None:
    brief = servers.start("brief")
    try:
        until_said(brief, "Spark started")
        assert brief.terminate() == 0
        # What is only told or warned of may have the word in it.
        rest = [line for line in said(brief).splitlines() if not re.match(r"\S+ (INFO|WARNING) ", line)]
        assert not [line for line in rest if re.search("error|exception|traceback", line, re.IGNORECASE)]
    finally:
        brief.discard()


def test_the_leader_is_killed_under_load_and_the_one_that_stands_by_takes_over(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    with load:
        leader.kill()
        until_said(stand_by, LEADS, TAKEOVER_SECONDS)
        stand_by.until_state("live", "", READY_SECONDS)
        assert switch(server, PAIRS[1], "full") == "applied"
    for one in (stand_by, server):
        shows(one, load, PAIRS[1], "full")
    all_show_the_same(stand_by, server)


def test_one_that_was_frozen_ends_once_another_leads(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    if leader.running:
        first, second = leader, stand_by
    else:  # it was killed
        first, second = stand_by, leader
        second.start()
    until_said(first, LEADS)
    until_said(second, STANDS_BY)
    has_switched(server, PAIRS[1], "full")
    all_show_the_same(first, server, second)
    with load:
        os.kill(first.pid, signal.SIGSTOP)
        until_said(second, LEADS, LEFT_ALONE_SECONDS)
        server.until_state("live", "", READY_SECONDS)
        os.kill(first.pid, signal.SIGCONT)
        until(lambda: not first.running, "it ends", LEFT_ALONE_SECONDS)
    assert "Another Turnout leads now" in said(first)
    for one in (second, server):
        shows(one, load, PAIRS[1], "full")
    all_show_the_same(second, server)


def test_one_with_another_state_directory_is_told_what_to_do(servers: Servers, leader: ServiceProcess) -> None:
    stranger = servers.start("stranger", state_dir="another")
    try:
        until(lambda: not stranger.running, "it ends", READY_SECONDS)
    finally:
        stranger.discard()
    words = " ".join(said(stranger).split())
    assert "Another Turnout leads on this bus" in words
    assert "`changelog.prefix` of your own" in words


def test_one_that_shares_no_directory_takes_over_by_the_bus_and_the_checkpoints(
    servers: Servers, load: Load, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"changelog": {"prefix": "apart-"}, "spark": {"checkpoints": f"file://{tmp_path}"}}
    first = servers.start("first", state_dir="first-state", **more)
    second = None
    try:
        first.until_state("live", "", READY_SECONDS)
        second = servers.start("second", state_dir="second-state", **more)
        until_said(second, STANDS_BY)
        has_switched(first, PAIRS[1], "full")
        generation, _ = first.table("final_ui")
        with load:
            first.kill()
            until_said(second, LEADS, TAKEOVER_SECONDS)
            until(lambda: shown_by(second) > generation, "it shows a generation", READY_SECONDS)
        shows(second, load, PAIRS[1], "full")
        assert "Resuming pipeline" in second.log.read_text(), "not built anew"
        assert not (servers.home / "second-state" / "pipelines").exists()
    finally:
        first.discard()
        if second is not None:
            second.discard()


def test_a_server_that_comes_before_the_first_leader_waits_for_it(servers: Servers) -> None:
    early = servers.start("early", "serve", changelog={"prefix": "nobody-"})
    try:
        early.until_state("starting", "no Turnout has led on this bus with the prefix 'nobody-' yet", READY_SECONDS)
        assert early.get("/api/tables/final_ui")["rows"] == []
        assert "ERROR" not in early.log.read_text()
        assert early.terminate() == 0
    finally:
        early.discard()


def test_without_a_leader_a_server_says_so_and_goes_on_showing(
    leader: ServiceProcess, stand_by: ServiceProcess, server: ServiceProcess, load: Load
) -> None:
    has_switched(server, PAIRS[1], "full")
    load.send(20)
    shows(server, load, PAIRS[1], "full")
    for one in (stand_by, leader):
        if one.running:  # it was not made to end before
            assert one.terminate() == 0
    server.until_state("degraded", "no Turnout leads", TAKEOVER_SECONDS)
    shows(server, load, PAIRS[1], "full")
    assert server.terminate() == 0
