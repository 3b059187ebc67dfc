"""What stays on screen: a live table, a live status, a log that is followed; and what is printed once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.fed import Fed, free_port
from tests.commands.screen import on_screen
from tests.waiting import until
from turnout.client import Client
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics

REPO = Path(__file__).parent.parent.parent


@pytest.fixture
def fed() -> Iterator[Fed]:
    fed = Fed()
    yield fed
    fed.stop()


def people(count: int) -> list[tuple[str, int | None]]:
    return [(f"{number:02d}", number) for number in range(count)]


def test_a_live_table_keeps_its_filter_its_sort_and_its_columns(fed: Fed) -> None:
    fed.swap(1, people(50))
    query = ("--filter", "age>=40", "--filter", "name!=name 49", "--sort", "age:desc", "--columns", "name,age")
    with on_screen("tail", "users_ui", "-n", "3", *query, "--url", fed.url) as screen:
        screen.until_shown("users_ui: 9 of 50 rows · generation 1 · ● connected")
        assert [line.split() for line in screen.lines[:1] + screen.lines[2:-1]] == [
            ["name", "age"],
            ["name", "48", "48"],
            ["name", "47", "47"],
            ["name", "46", "46"],
        ]
        fed.change([("07", 70), ("48", 1)], ["47"])
        screen.until_shown("users_ui: 8 of 49 rows")
        assert [line.split()[-1] for line in screen.lines[2:-1]] == ["70", "46", "45"]
        fed.swap(2, [("10", 41), ("11", 42), ("12", 3)])
        screen.until_shown("users_ui: 2 of 3 rows · generation 2 · ● connected")
        assert [line.split()[-1] for line in screen.lines[2:-1]] == ["42", "41"]
        screen.ctrl_c()
        assert screen.lines[-1] == "users_ui: 2 of 3 rows · generation 2 · ● connected"


def test_a_live_table_fits_the_terminal(fed: Fed) -> None:
    fed.swap(1, people(60))
    row = {"ts": "0", "topic": "t" * 200, "partition": 0, "offset": 0, "reason": "line\nbreak", "value": "\x1b[2J"}
    fed.service.tables.rejected([{**row, "offset": offset} for offset in range(40)])
    for table in ("users_ui", "rejected_ui"):
        with on_screen("tail", table, "-n", "50", "--url", fed.url, width=60, height=12) as screen:
            screen.until_shown(f"{table}: {60 if table == 'users_ui' else 40} rows · generation 1")
            assert len(screen.lines) == 11, "the names, a line, eight rows, what is below"
            assert screen.lines[0].split()[0] in ("userId", "ts")
            assert screen.lines[-2].split()[:1] == ["u59" if table == "users_ui" else screen.lines[-3].split()[0]]
            screen.ctrl_c()


@contextmanager
def server_process(port: int, generation: int, rows: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.client.fed", str(port), str(generation), str(rows)]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


def test_what_is_on_screen_goes_on_after_the_server_was_killed_and_started_again() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (
        server_process(port, 3, 5) as first,
        on_screen("tail", "users_ui", "--url", url) as table,
        on_screen("status", "--watch", "--url", url) as status,
        on_screen("logs", "-f", "--url", url) as log,
        Client(url).table("users_ui").live() as live,
    ):
        table.until_shown("users_ui: 5 rows · generation 3 · ● connected", "u4")
        status.until_shown("usersTopic", "● connected")
        log.until_shown("INFO", "up")
        until(lambda: (len(live), live.generation) == (5, 3), "the client has the rows")
        first.kill()
        for screen in (table, status):
            screen.until_shown("○ connection lost, trying again")
        log.until_shown("Connection lost, trying again.")
        assert "u4" in table.text, "what is held stays"
        until(lambda: live.problem is not None, "the client notices")
        again = Fed(port)
        try:
            table.until_shown("users_ui: 5 rows · generation 3 · ◐ connected, the server is starting", "u4")
            until(lambda: live.starting and len(live) == 5, "the client waits for rows")
            again.swap(4, people(2))
            table.until_shown("users_ui: 2 rows · generation 4 · ● connected")
            status.until_shown("● connected")
            log.until_shown("Connected again.")
            again.log("back again")
            log.until_shown("back again")
            until(lambda: (len(live), live.generation) == (2, 4), "the client has the new rows")
            assert live.problem is None
            for screen in (table, status, log):
                screen.ctrl_c()
        finally:
            again.stop()


def test_a_live_status_shows_each_state(fed: Fed) -> None:
    with on_screen("status", "-w", "--url", fed.url) as screen:
        screen.until_shown("usersTopic     users", "state          starting", "uptime         0:00:")
        live = Status(Desired(Topics("users_b", "accounts"), JoinType.INNER), 0, State.LIVE, 7, "live: users_b")
        fed.service.tables.status(live)
        screen.until_shown("usersTopic     users_b", "joinType       inner", "generation     7", "● connected")
        screen.ctrl_c()


def once(fed: Fed, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "turnout.cli", *arguments, "--url", fed.url]
    return subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)


def test_a_pipe_gets_what_matches_once(fed: Fed) -> None:
    fed.swap(1, people(20))
    shown = once(fed, "tail", "users_ui", "-n", "2", "--filter", "age>10", "--sort", "age", "--columns", "age,name")
    assert shown.returncode == 0, shown.stderr
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["age", "name"],
        ["─" * 13],
        ["11", "name", "11"],
        ["12", "name", "12"],
        ["users_ui:", "9", "rows", "that", "match"],
    ]
    assert "\x1b" not in shown.stdout


def test_what_cannot_be_asked_is_refused_in_one_line_on_screen_and_in_a_pipe(fed: Fed) -> None:
    asked = ("tail", "users_ui", "--filter", "salary>1")
    refusal = "Error: there is no column 'salary'; there are userId, name, email, age"
    piped = once(fed, *asked)
    assert (piped.returncode, piped.stdout, piped.stderr) == (1, "", refusal + "\n")
    with on_screen(*asked, "--url", fed.url) as screen:
        assert screen.process.wait(30) == 1
        until(lambda: screen.lines == [refusal], "it says why, and nothing else")


def test_a_live_status_without_a_server_is_an_error() -> None:
    with on_screen("status", "--watch", "--url", f"http://127.0.0.1:{free_port()}") as screen:
        assert screen.process.wait(30) == 1
        until(lambda: "Error: There is no Turnout at" in screen.text, "it says so")
