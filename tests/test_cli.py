"""The commands as a person runs them, against a real server whose tables are filled by hand: no Kafka, no Spark."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner, Result

from tests.orchestrator.fakes import World
from tests.waiting import until
from turnout.address import listen, url_at
from turnout.cli import app
from turnout.commands.words import switch_command, topic_option
from turnout.config import ServeConfig, load
from turnout.serve.app import create_app
from turnout.service import Service

REPO = Path(__file__).parent.parent
ORDERS = """
tables:
  new_orders: {topic: orders, columns: {orderId: long}}
  payments:   {topic: payments, columns: {orderId: long}}
join: {left: new_orders, right: payments, on: orderId}
serve: {port: 1}
"""


class Turnout:
    """A server, and the command line with its address."""

    def __init__(self, service: Service, url: str) -> None:
        self.service, self.url = service, url

    def run(self, *arguments: str) -> Result:
        return run(*arguments, "--url", self.url)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TURNOUT_CONFIG", raising=False)


@pytest.fixture(scope="module")
def turnout() -> Iterator[Turnout]:
    with serving(Service(load(None, env={}))) as turnout:
        yield turnout


@contextmanager
def serving(service: Service) -> Iterator[Turnout]:
    with listen(ServeConfig(port=0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(service), log_config=None, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        until(lambda: server.started, "the server is up")
        yield Turnout(service, url_at(listener))
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def logged(turnout: Turnout) -> None:
    for number in range(3):
        record = logging.LogRecord("turnout", logging.INFO, "", 0, "line %d", (number,), None)
        turnout.service.tables.log_handler.emit(record)


def test_the_help_shows_every_command() -> None:
    shown = run("--help").output
    for command in (
        "demo",
        "run",
        "serve",
        "samples",
        "switch",
        "undo",
        "status",
        "tail",
        "logs",
        "check",
        "config",
        "gc",
    ):
        assert f"│ {command} " in shown
        assert run(command, "--help").exit_code == 0


def test_the_version_is_told() -> None:
    assert run("--version").output == "turnout 0.1.0\n"


def test_the_command_starts_without_what_only_a_server_needs() -> None:
    heavy = "{'pyspark', 'perspective', 'polars', 'confluent_kafka', 'pydantic', 'fastapi'}"
    program = f"import sys, turnout.cli; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_server_without_spark_does_not_even_load_it() -> None:
    program = "import sys, turnout.serve.run, turnout.follower; print({'pyspark', 'py4j'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_there_is_nothing_to_serve_from_an_embedded_bus() -> None:
    refused = run("serve")
    assert refused.exit_code == 1
    assert "name a Kafka under `bus`" in " ".join(refused.output.split())


def test_the_topic_options_are_called_after_the_tables(tmp_path: Path) -> None:
    assert "--users-topic" in run("switch", "--help").output
    file = tmp_path / "orders.yaml"
    file.write_text(ORDERS)
    for arguments in (["-c", str(file)], [f"--config={file}"]):
        shown = run("switch", *arguments, "--help").output
        assert "--new-orders-topic" in shown
        assert "--payments-topic" in shown
        assert "--users-topic" not in shown
    (tmp_path / "turnout.yaml").write_text(ORDERS)
    assert "--payments-topic" in run("switch", "--help").output


def test_an_unknown_option_of_switch_is_refused() -> None:
    result = run("switch", "--payments-topic", "x")
    assert result.exit_code == 2
    assert "No such option: --payments-topic" in result.output


def test_a_switch_to_nothing_names_what_can_be_switched() -> None:
    result = run("switch")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: There is nothing to switch to: give one or more of --users-topic, --accounts-topic, --join.\n"
    )


@pytest.mark.parametrize("command", [["switch", "--join", "inner"], ["undo"]])
def test_a_switch_before_kafka_is_there_says_so(turnout: Turnout, command: list[str]) -> None:
    result = turnout.run(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Turnout is still starting")


class Switching(Turnout):
    """With an orchestrator among fakes, which is live; what is published goes straight to it."""

    def __init__(self, service: Service, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(service, url)
        self.world = World()
        self.world.start()
        self.world.succeed()
        service.tables.status(self.world.status)
        monkeypatch.setattr(service, "_conductor", self.world.orchestrator)
        monkeypatch.setattr(service, "publish_control", self._publish)

    def _publish(self, value: bytes, *_: object) -> str:
        message = self.world.message(value.decode())
        self.world.orchestrator.step([message])
        self.service.tables.status(self.world.status)
        self.service.tables.outcome(message, self.world.public.outcomes[message.id])
        return message.id


@pytest.fixture
def switching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Switching]:
    file = tmp_path / "sides.yaml"
    file.write_text(
        """
tables: {left: {topic: left, columns: {id: long}}, right: {topic: right, columns: {id: long}}}
join: {left: left, right: right, on: id}
"""
    )
    service = Service(load(file, env={}))
    log, handler = logging.getLogger("turnout"), service.tables.log_handler
    caplog.set_level(logging.INFO, log.name)
    log.addHandler(handler)
    with serving(service) as turnout:
        yield Switching(service, turnout.url, monkeypatch)
    log.removeHandler(handler)


def test_an_undo_shows_each_step_and_its_outcome_and_can_be_undone(switching: Switching) -> None:
    switching.world.send('{"leftTopic": "left_b", "joinType": "inner"}')
    switching.world.succeed()
    for shown, generation in (("left + right (left)", 3), ("left_b + right (inner)", 4)):
        result = switching.run("undo")
        assert result.exit_code == 0, result.output
        *steps, last = result.stdout.splitlines()
        words = [line.split(maxsplit=2)[2].split()[0] for line in steps]
        assert words == ["Received", "Resolved", "Changed:", "Going", "Switching", "Swapped", "Live:", "Lingering:"]
        assert last == f"✓ applied: {shown}, generation {generation}"


def test_an_undo_that_is_rejected_says_why(switching: Switching) -> None:
    switching.world.send('{"leftTopic": "left_b"}')
    switching.world.succeed()
    switching.world.builder.topics.remove("left")
    result = switching.run("undo")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("✗ rejected: topic 'left' does not exist")


def test_nothing_to_undo_is_one_clear_line(switching: Switching) -> None:
    result = switching.run("undo")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "Error: There is nothing to undo: no other topics or join type have been shown before.\n"


def test_a_mistake_in_the_config_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "turnout.yaml").write_text("serve: {port: many}\n")
    for command in (["status"], ["switch", "--join", "left"], ["undo"], ["run"], ["demo"], ["samples"], ["config"]):
        result = run(*command)
        assert result.exit_code == 1
        assert result.stderr == "Error: turnout.yaml:1: serve.port: 'many' is not a whole number\n"


def test_no_server_is_said_to_be_so_and_how_to_start_one(tmp_path: Path) -> None:
    (tmp_path / "turnout.yaml").write_text(ORDERS)
    for command in (["status"], ["tail", "final_ui"], ["logs"], ["switch", "--join", "left"], ["undo"]):
        result = run(*command)
        assert result.exit_code == 1
        assert result.stderr.startswith(
            "Error: There is no Turnout at http://127.0.0.1:1: start one with `turnout demo`"
        )


@pytest.mark.parametrize("url", ["127.0.0.1:8400", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    result = run("status", "--url", url)
    assert result.exit_code == 1
    assert "is not an address such as http://127.0.0.1:8400" in result.stderr


def test_the_status_is_a_line_for_each_value(turnout: Turnout) -> None:
    result = turnout.run("status")
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["usersTopic"].strip() == "users"
    assert lines["joinType"].strip() == "left"
    assert lines["lastApplied"].strip() == "null"
    assert lines["state"].strip() == "starting"
    assert lines["uptime"].startswith("0:0")


def test_the_status_is_also_there_for_programs(turnout: Turnout) -> None:
    answer = json.loads(turnout.run("status", "--json").stdout)
    assert answer["state"] == "starting"
    assert answer["lag"] == {}


def test_tail_shows_the_rows_that_changed_last(turnout: Turnout) -> None:
    for offset in range(5):
        row = {"ts": "0", "topic": "t", "partition": 0, "offset": offset, "reason": "[bold]no JSON", "value": "é" * 300}
        turnout.service.tables.rejected([row])
    result = turnout.run("tail", "rejected_ui", "-n", "2")
    assert result.exit_code == 0
    header, _, *rows, count = (line.rstrip() for line in result.stdout.splitlines())
    assert header.split() == ["ts", "topic", "partition", "offset", "reason", "value"]
    assert [row.split()[3] for row in rows] == ["3", "4"]
    assert "[bold]no JSON" in rows[0]
    assert "é" * 300 in rows[0], "nothing is cut where there is no terminal's edge"
    assert count == "rejected_ui: 5 rows"


def test_tail_of_an_empty_table_says_that_it_is_empty(turnout: Turnout) -> None:
    result = turnout.run("tail", "final_ui", "--once")
    assert result.exit_code == 0
    assert result.stdout == "final_ui: 0 rows\n"


def test_tail_of_no_table_names_those_that_there_are(turnout: Turnout) -> None:
    result = turnout.run("tail", "fina_ui")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: there is no table 'fina_ui'; there are users_ui, accounts_ui, final_ui,")


@pytest.mark.usefixtures("logged")
def test_logs_are_the_newest_lines_oldest_first(turnout: Turnout) -> None:
    lines = turnout.run("logs", "-n", "2").stdout.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["INFO line 1", "INFO line 2"]
    assert turnout.run("logs", "-n", "0").stdout == ""
    assert len(turnout.run("logs").stdout.splitlines()) == 3


@pytest.mark.usefixtures("logged")
def test_logs_can_be_followed_until_ctrl_c(turnout: Turnout) -> None:
    command = [sys.executable, "-m", "turnout.cli", "logs", "-f", "-n", "1", "--url", turnout.url]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().endswith(" INFO line 2\n")
        record = logging.LogRecord("turnout", logging.ERROR, "", 0, "something new", (), None)
        turnout.service.tables.log_handler.emit(record)
        assert process.stdout.readline().endswith(" ERROR something new\n")
        process.send_signal(2)
        assert process.wait(5) == 0
        assert process.stderr.read() == ""


def test_the_config_in_force_is_printed_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    login = "security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: ann, sasl.password: hidden"
    file.write_text(ORDERS + f"kafka: {{bootstrap.servers: 'k.example.com:9092', {login}}}\n")
    result = run("config", "-c", str(file))
    assert result.exit_code == 0
    assert "hidden" not in result.stdout
    assert "sasl.password: '***'" in result.stdout
    copy = tmp_path / "copy.yaml"
    copy.write_text(result.stdout)
    assert load(copy, env={}).tables == load(file, env={}).tables


def test_the_command_to_switch_can_be_pasted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "turnout"
    program.parent.mkdir(parents=True)
    program.touch()
    program.chmod(0o755)
    topics = {"users": "users_b", "a_b": "b topic"}
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    assert switch_command(topics, "inner", {"-c": None, "--url": "http://x"}) == (
        ".venv/bin/turnout switch --users-topic users_b --a-b-topic 'b topic' --join inner --url http://x"
    )
    monkeypatch.setenv("PATH", str(program.parent))
    assert switch_command({}, "left", {}) == "turnout switch --join left"
    monkeypatch.setattr(sys, "argv", ["/x/turnout/cli.py", "demo"])
    assert switch_command({}, "left", {}) == f"{sys.executable} -m turnout.cli switch --join left"
    assert topic_option("a_b") == "--a-b-topic"
