import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.waiting import until
from turnout.config import LogFormat
from turnout.terminal import LOGGERS, Terminal

REPO = Path(__file__).parent.parent


@pytest.fixture
def file() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def terminal(file: io.StringIO) -> Iterator[Terminal]:
    terminal = Terminal(Console(file=file, highlight=False))
    terminal.listen()
    yield terminal
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(terminal)
        logging.getLogger(name).propagate = True


def test_a_line_is_shown_once_although_a_library_sets_up_logging_for_all(terminal: Terminal, file: io.StringIO) -> None:
    others = logging.StreamHandler(file)
    logging.getLogger().addHandler(others)
    try:
        logging.getLogger("turnout.x").warning("lost")
    finally:
        logging.getLogger().removeHandler(others)
    assert file.getvalue().count("lost") == 1


def test_a_file_gets_the_moment_the_level_and_the_message(terminal: Terminal, file: io.StringIO) -> None:
    record = logging.LogRecord("turnout.x", logging.WARNING, "", 0, "lost %s", ("[red]3[/red]",), None)
    record.created = 1_700_000_000.5
    logging.getLogger("turnout.x").handle(record)
    assert file.getvalue() == "2023-11-14T22:13:20.500Z WARNING lost [red]3[/red]\n"


def test_long_lines_are_not_broken(terminal: Terminal, file: io.StringIO) -> None:
    logging.getLogger("turnout").info("x" * 500)
    assert "x" * 500 in file.getvalue()


def test_an_unexpected_error_comes_with_its_traceback(terminal: Terminal, file: io.StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("turnout").exception("It failed")
    assert "ERROR It failed\nTraceback" in file.getvalue()
    assert file.getvalue().endswith("ValueError: why\n")


def test_a_file_gets_each_step_of_progress_as_a_line(terminal: Terminal, file: io.StringIO) -> None:
    terminal.progress("Starting Kafka …")
    terminal.progress("Starting Spark …")
    terminal.settled()
    assert file.getvalue() == "Starting Kafka …\nStarting Spark …\n"


def test_nothing_is_shown_of_what_parts_say_while_they_are_being_stopped(terminal: Terminal, file: io.StringIO) -> None:
    terminal.stopping()
    logging.getLogger("turnout").error("the other side has gone")
    assert file.getvalue() == "Stopping …\n"


def test_a_terminal_shows_what_is_waited_for_below_the_lines(file: io.StringIO) -> None:
    terminal = Terminal(Console(file=file, highlight=False, force_terminal=True, width=100))
    terminal.progress("Starting Spark …")
    until(lambda: "Starting Spark …" in file.getvalue(), "the wheel turns")
    terminal.emit(logging.LogRecord("turnout", logging.INFO, "", 0, "Catching up", (), None))
    terminal.settled()
    shown = file.getvalue()
    assert "INFO" in shown
    assert "Catching up …" in shown


def test_only_what_others_write_to_stderr_goes_to_the_file(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys; from pathlib import Path; from turnout.terminal import Terminal\n"
        "Terminal().keep_stderr(Path('stderr.log'))\n"
        "subprocess.run(['sh', '-c', 'echo noise >&2'])\n"
        "print('an error', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "an error\n"
    assert (tmp_path / "stderr.log").read_text() == "noise\n"


@pytest.fixture
def in_json(file: io.StringIO) -> Iterator[Terminal]:
    """On a terminal, which makes no difference to it."""
    terminal = Terminal(Console(file=file, force_terminal=True, width=40), LogFormat.JSON)
    terminal.listen()
    yield terminal
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(terminal)
        logging.getLogger(name).propagate = True


def test_in_json_a_line_is_an_object_with_what_it_is_about(in_json: Terminal, file: io.StringIO) -> None:
    record = logging.LogRecord("turnout.x", logging.WARNING, "", 0, 'lost "%s"\nand more', ("[red]3[/red]",), None)
    record.created, record.generation, record.pipeline = 1_700_000_000.5, 4, "5f0c"
    logging.getLogger("turnout.x").handle(record)
    (line,) = file.getvalue().splitlines()
    assert json.loads(line) == {
        "ts": "2023-11-14T22:13:20.500Z",
        "level": "WARNING",
        "logger": "turnout.x",
        "msg": 'lost "[red]3[/red]"\nand more',
        "generation": 4,
        "pipeline": "5f0c",
    }


def test_in_json_a_traceback_stands_by_itself(in_json: Terminal, file: io.StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("turnout").exception("It failed")
    line = json.loads(file.getvalue())
    assert (line["level"], line["msg"]) == ("ERROR", "It failed")
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: why")


def test_in_json_every_line_is_an_object(in_json: Terminal, file: io.StringIO) -> None:
    in_json.progress("Starting …")
    in_json.settled()
    in_json.say("\nTurnout is live.\n\n  Open it      http://localhost:8400\n")
    logging.getLogger("turnout").info("half a pair: \ud800")
    in_json.stopping()
    logging.getLogger("turnout").error("not shown any more")
    told = [json.loads(line)["msg"] for line in file.getvalue().splitlines()]
    assert told == [
        "Starting …",
        "Turnout is live.\n\n  Open it      http://localhost:8400",
        "half a pair: \\ud800",
        "Stopping …",
    ]
