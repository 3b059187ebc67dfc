"""The whole of it, as a person runs it: real child processes, a real terminal's signals, real Kafka and Spark."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from tests.processes import is_running
from tests.torture.users_kafka import free_port
from tests.waiting import in_time, until
from turnout.client import Client, Event, Held
from turnout.errors import TurnoutError
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

REPO = Path(__file__).parent.parent.parent
READY_SECONDS = 180
"""For a demo to be live, on a machine that is busy with other things."""

TICK_SECONDS = 60
"""For what takes a running demo a second or two."""

END_SECONDS = 5
"""What is promised."""

KILLED_SECONDS = 2.0
"""For a child that was killed to be gone. One that was left would be there for longer: a broker's guard takes three."""

pytestmark = pytest.mark.timeout(2 * READY_SECONDS + 60)


class Command:
    """A `turnout` that runs until it is told to stop."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self._output = directory / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "turnout.cli", *arguments],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(REPO)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # as in a terminal: a process group of its own
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def until_said(self, text: str, seconds: float = READY_SECONDS) -> None:
        def said() -> bool:
            assert self.process.poll() is None or text in self.output, f"it ended:\n{self.output}"
            return text in self.output

        until(said, f"it says {text!r}", seconds)

    def ctrl_c(self) -> None:
        """A terminal tells the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ends_in_time(self, ask: Callable[[], None]) -> None:
        """Once it is asked to: with exit code 0, without a traceback, and without leaving a child."""
        family = set(family_of(self.process.pid))
        with in_time(END_SECONDS, "it ends"):
            ask()
            family.update(family_of(self.process.pid))  # there may be new ones
            until(lambda: self.process.poll() is not None, "it ends", READY_SECONDS)
        assert self.process.returncode == 0, self.output
        assert "Traceback" not in self.output
        until(lambda: not any(map(is_running, family)), "its children end with it", KILLED_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def family_of(pid: int) -> list[int]:
    """A process and all that it started, directly or not."""
    ps = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = {int(child): int(parent) for child, parent in (line.split() for line in ps.stdout.splitlines())}
    found = [pid]
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor]
    return found


class Demo(Command):
    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        super().__init__(directory, "demo", "--port", str(self.port))
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = Client(self.url)

    @property
    def kafka(self) -> str:
        file = self.directory / ".turnout" / f"demo-{self.port}" / "turnout.yaml"
        return str(yaml.safe_load(file.read_text())["kafka"]["bootstrap.servers"])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return turnout(self.directory, *arguments, "--url", self.url)

    def keys(self, table: str) -> set[str]:
        return {row["userId"] for row in self.client.table(table).rows()}


def turnout(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turnout.cli", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=READY_SECONDS,
        check=False,
    )


class Viewer:
    """A client that has opened a table and keeps it: the rows it holds after each event."""

    def __init__(self, client: Client, table: str) -> None:
        self.kinds: list[str] = []
        self.held: dict[str, Any] = {}
        self.fewest: int | None = None
        self._rows = Held()
        self._stream = client.table(table).changes(reconnect=False)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        until(lambda: self.kinds, "the snapshot has come", TICK_SECONDS)

    def _follow(self) -> None:
        with suppress(TurnoutError):  # it has ended
            for event in self._stream:
                self._take(event)

    def _take(self, event: Event) -> None:
        self._rows.take(event)
        self.held = self._rows.by_id
        self.fewest = len(self.held) if self.fewest is None else min(self.fewest, len(self.held))
        self.kinds.append(type(event).__name__.lower())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo"))
    try:
        demo.until_said("Ctrl-C ends all of it.")
        yield demo
    finally:
        demo.kill()


def test_the_demo_says_where_to_look_and_how_to_switch(demo: Demo) -> None:
    assert demo.url in demo.output
    assert "switch --users-topic users_b --accounts-topic accounts_b --join inner" in demo.output
    for step in ("Starting Kafka …", "Starting Spark", "Catching up", "Swapped"):
        assert step in demo.output


def test_a_second_demo_on_the_same_port_says_that_it_is_taken(demo: Demo) -> None:
    result = turnout(demo.directory, "demo", "--port", str(demo.port))
    assert result.returncode == 1
    assert result.stdout == ""
    assert f"Port {demo.port} on 127.0.0.1 is taken" in result.stderr
    assert "--port" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_status_tail_and_logs_show_the_demo(demo: Demo) -> None:
    status = json.loads(demo.run("status", "--json").stdout)
    assert status["state"] == "live"
    assert set(status["lag"]) == {"users", "accounts"}
    tail = demo.run("tail", "final_ui", "--once", "-n", "3")
    assert tail.stdout.splitlines()[0].split() == ["userId", "name", "email", "age", "accountType", "balance"]
    assert tail.stdout.endswith("final_ui: 60 rows\n")
    assert "INFO Swapped nothing to users + accounts (left), generation 1" in demo.run("logs").stdout


def test_rows_of_the_demo_tick(demo: Demo) -> None:
    viewer = Viewer(demo.client, "final_ui")
    until(lambda: viewer.kinds.count("change") > 10, "rows change", TICK_SECONDS)
    assert viewer.kinds[0] == "snapshot"
    assert len(viewer.held) == 60


def test_a_switch_reaches_a_viewer_who_never_sees_an_empty_table(demo: Demo) -> None:
    viewer = Viewer(demo.client, "final_ui")
    assert {row["userId"][:2] for row in viewer.held.values()} == {"u0"}
    result = demo.run("switch", "--users-topic", "users_b", "--accounts-topic", "accounts_b", "--join", "inner")
    assert result.returncode == 0, result
    steps = [line.split(maxsplit=2)[2].split()[0] for line in result.stdout.splitlines()[:-1]]
    assert steps[:4] == ["Received", "Resolved", "Changed:", "Building"]
    assert "Swapped" in steps
    assert result.stdout.splitlines()[-1].startswith("✓ applied: users_b + accounts_b (inner), generation ")
    until(lambda: "swap" in viewer.kinds, "the viewer sees the swap", TICK_SECONDS)
    after = viewer.kinds.index("swap")
    until(lambda: "change" in viewer.kinds[after:], "the new rows tick", TICK_SECONDS)
    assert {row["userId"][:2] for row in viewer.held.values()} == {"u5"}
    assert all(row["balance"] is not None for row in viewer.held.values())
    assert viewer.fewest == 50, "it held 60 rows of the one and 50 of the other, and never fewer"


def test_a_switch_to_what_is_live_already_is_no_change(demo: Demo) -> None:
    result = demo.run("switch", "--join", demo.client.status()["joinType"])
    assert result.returncode == 0
    assert "✓ no change: " in result.stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--join", "cross"], "'cross' is not a join type; allowed: left, inner, right, full, semi, anti"),
        (["--users-topic", "nosuch"], "topic 'nosuch' does not exist"),
    ],
)
def test_a_switch_that_is_rejected_says_why(demo: Demo, options: list[str], reason: str) -> None:
    before = demo.client.status()
    result = demo.run("switch", *options)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith("✗ rejected: ")
    assert reason in result.stdout.splitlines()[-1]
    assert in_force(demo.client.status()) == in_force(before)


def in_force(status: Mapping[str, object]) -> list[object]:
    return [status[name] for name in ("usersTopic", "accountsTopic", "joinType", "generation", "state", "lastApplied")]


def test_rubbish_changes_nothing_but_the_tables_about_it(demo: Demo) -> None:
    before = demo.client.status()
    topics = [before["usersTopic"], before["accountsTopic"]]
    keys = {table: demo.keys(table) for table in ("users_ui", "accounts_ui", "final_ui")}
    rubbish = f"rubbish {uuid.uuid4()}"
    viewer = Viewer(demo.client, "final_ui")
    producer = Producer({"bootstrap.servers": demo.kafka})
    for topic in (*topics, "control"):
        producer.produce(topic, rubbish.encode())
    assert producer.flush(10) == 0

    def rejected() -> set[str]:
        return {row["topic"] for row in demo.client.table("rejected_ui").rows() if row["value"] == rubbish}

    def outcomes() -> list[str]:
        return [row["outcome"] for row in demo.client.table("control_raw").rows() if row["value"] == rubbish]

    until(lambda: rejected() == set(topics), "both data topics' rubbish is rejected", TICK_SECONDS)
    until(outcomes, "the control message is rejected", TICK_SECONDS)
    assert outcomes()[0].startswith("rejected: not JSON")
    assert any("Rejected control message" in row["msg"] for row in demo.client.table("orchestrator_logs").rows())
    seen = len(viewer.kinds)
    until(lambda: len(viewer.kinds) > seen + 5, "rows go on ticking", TICK_SECONDS)
    assert in_force(demo.client.status()) == in_force(before)
    assert {table: demo.keys(table) for table in keys} == keys
    assert "swap" not in viewer.kinds


def test_ctrl_c_ends_the_demo_and_all_its_children_in_time_although_people_watch(demo: Demo) -> None:
    viewers = [Viewer(demo.client, table) for table in ("final_ui", "users_ui")]
    assert all(viewer.held for viewer in viewers)
    assert sum("java" in Path(f"/proc/{pid}/comm").read_text() for pid in family_of(demo.process.pid)) == 2
    demo.ends_in_time(demo.ctrl_c)
    assert demo.output.endswith("Stopping …\n")


@pytest.fixture
def config_file(broker: EmbeddedBroker, tmp_path: Path) -> Path:
    """A config for topics of its own on the shared broker."""
    tag = uuid.uuid4().hex[:8]
    topics = [f"{name}-{tag}" for name in ("orders", "payments", "control")]
    Cluster({"bootstrap.servers": broker.bootstrap}).create_topics(topics)
    file = tmp_path / "orders.yaml"
    file.write_text(
        f"""
kafka: {{bootstrap.servers: "{broker.bootstrap}"}}
tables:
  orders:   {{topic: orders-{tag}, columns: {{orderId: long, product: string}}}}
  payments: {{topic: payments-{tag}, columns: {{orderId: long, amount: double}}}}
join: {{left: orders, right: payments, on: orderId}}
control: {{topic: control-{tag}}}
serve: {{port: 0}}
"""
    )
    return file


@pytest.mark.parametrize("moment", ["Starting Turnout", "Starting Spark", "Building", "Spark started"])
def test_ctrl_c_in_the_middle_of_starting_ends_all_of_it_in_time(config_file: Path, moment: str) -> None:
    command = Command(config_file.parent, "run", "-c", config_file.name)
    try:
        command.until_said(moment)
        command.ends_in_time(command.ctrl_c)
    finally:
        command.kill()


def test_sigterm_ends_a_service_and_the_next_start_goes_on(config_file: Path) -> None:
    outputs: list[str] = []
    for _ in range(2):
        command = Command(config_file.parent, "run", "-c", config_file.name)
        try:
            command.until_said("Turnout is live: open http://127.0.0.1:")
            if not outputs:
                a_second_run_says_why_it_cannot(config_file)
            command.ends_in_time(command.process.terminate)
        finally:
            command.kill()
        outputs.append(command.output)
    assert ["INFO Resuming pipeline" in output for output in outputs] == [False, True]


def a_second_run_says_why_it_cannot(config_file: Path) -> None:
    second = turnout(config_file.parent, "run", "-c", config_file.name)
    assert second.returncode == 1
    assert "Another Kafka broker is using" in second.stderr
    assert "Traceback" not in second.stderr + second.stdout


def test_check_finds_all_well_or_says_what_to_do(config_file: Path) -> None:
    well = turnout(config_file.parent, "check", "-c", config_file.name)
    assert well.returncode == 0, well.stdout
    assert all(line.startswith("✓ ok ") for line in well.stdout.splitlines())
    config_file.write_text(config_file.read_text().replace("topic: payments-", "topic: missing-"))
    ill = turnout(config_file.parent, "check", "-c", config_file.name)
    assert ill.returncode == 1
    failures = [line for line in ill.stdout.splitlines() if line.startswith("✗ failed ")]
    assert len(failures) == 1
    assert "(payments): there is no topic missing-" in failures[0]
    assert failures[0].endswith("→ create it, or name another in the configuration")
