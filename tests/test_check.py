import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from turnout.address import listen
from turnout.check import Finding, Verdict, findings
from turnout.check.approach import Approach
from turnout.check.clusters import _own_topics
from turnout.cli import app
from turnout.config import ChangelogConfig, Config, ServeConfig, load
from turnout.errors import KafkaError
from turnout.kafka.broker_config import LARGEST_RECORD_BYTES


def config(tmp_path: Path, **overrides: object) -> Config:
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1", "state_dir": str(tmp_path / "deep" / "state"), "serve.port": 0}
    return load(None, env={}, overrides={**nowhere, **{k.replace("__", "."): v for k, v in overrides.items()}})


def found(settings: Config) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings(settings)}


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield "{}:{}".format(*listening.getsockname())


@pytest.fixture
def full() -> Iterator[str]:
    """A server that takes no more connections: its queue is full, and whoever comes is left to wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as waiting:
        for _ in range(2):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
        yield "{}:{}".format(*listening.getsockname())


@pytest.fixture
def ssh() -> Iterator[str]:
    """A server that speaks, but not Kafka's protocol."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # the end
                while True:
                    with (
                        listening.accept()[0] as connection,
                        suppress(OSError),
                    ):  # whoever only looks whether it is there hangs up
                        connection.sendall(b"SSH-2.0-example\r\n")
                        connection.recv(1024)

        thread = threading.Thread(target=serve)
        thread.start()
        yield "{}:{}".format(*listening.getsockname())
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_without_kafka_its_topics_are_not_checked_and_the_rest_is(tmp_path: Path) -> None:
    result = found(config(tmp_path))
    assert result["kafka, properties"].verdict is Verdict.OK
    assert result["kafka 127.0.0.1:1, resolve"].verdict is Verdict.OK
    connect = result["kafka 127.0.0.1:1, connect"]
    assert connect.verdict is Verdict.FAILED
    assert connect.text == "nothing listens on 127.0.0.1:1 (connection refused)"
    assert "`listeners` names its ports" in connect.remedy
    for subject in (
        "kafka 127.0.0.1:1, TLS",
        "kafka 127.0.0.1:1, login",
        "kafka, brokers",
        "describe topic users (users)",
        "read topic accounts (accounts)",
        "publish to topic control (control messages)",
    ):
        assert result[subject].verdict is Verdict.NOT_CHECKED
        assert result[subject].text == "needs kafka 127.0.0.1:1, connect"
    for subject in ("Python", "Java", "bus", "state directory", "port"):
        assert result[subject].verdict is Verdict.OK, result[subject]
    assert result["bus"].text.startswith("embedded")


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    result = found(config(tmp_path, kafka__bootstrap__servers="kafka.invalid:9092"))[
        "kafka kafka.invalid:9092, resolve"
    ]
    assert result.verdict is Verdict.FAILED
    assert "the name kafka.invalid is not known here" in result.text
    assert "name server (or /etc/hosts)" in result.remedy


def test_a_port_that_is_none(tmp_path: Path) -> None:
    result = found(config(tmp_path, kafka__bootstrap__servers="localhost:kafka"))["kafka, properties"]
    assert result.verdict is Verdict.FAILED
    assert result.remedy == "write host:port, with a port from 1 to 65535"


def test_every_server_is_looked_at(tmp_path: Path) -> None:
    result = found(config(tmp_path, kafka__bootstrap__servers="127.0.0.1:1, localhost:2,[::1]:3"))
    for one in ("127.0.0.1:1", "localhost:2", "[::1]:3"):
        assert result[f"kafka {one}, connect"].verdict is Verdict.FAILED


def test_a_server_that_says_nothing(tmp_path: Path, silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("wire", "tls", "listener"):
        monkeypatch.setattr(f"turnout.kafka.diagnosis.{module}.ANSWER_SECONDS", 0.1)
    result = found(config(tmp_path, kafka__bootstrap__servers=silent))[f"kafka {silent}, TLS"]
    assert result.verdict is Verdict.FAILED
    assert "says nothing in 0.1 s" in result.text
    assert "those of a Kafka listener" in result.remedy


def test_a_server_that_does_not_answer(tmp_path: Path, full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.kafka.diagnosis.reach.CONNECT_SECONDS", 0.2)
    result = found(config(tmp_path, kafka__bootstrap__servers=full))[f"kafka {full}, connect"]
    assert result.verdict is Verdict.FAILED
    assert result.text == f"{full} does not answer in 0.2 s"
    assert "firewall" in result.remedy


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_server_that_is_no_kafka(tmp_path: Path, ssh: str, protocol: str) -> None:
    given = {"kafka.bootstrap.servers": ssh, "kafka.security.protocol": protocol}
    result = found(config(tmp_path, **given))[f"kafka {ssh}, TLS"]
    assert result.verdict is Verdict.FAILED
    assert "not as a Kafka" in result.text
    assert "those of a Kafka listener" in result.remedy


def test_a_mistake_in_the_properties_is_said_to_be_one(tmp_path: Path) -> None:
    bus = {"bus.bootstrap.servers": "127.0.0.1:2", "bus.security.protocol": "SSL", "bus.ssl.ca.location": "/no/ca.pem"}
    result = found(config(tmp_path, **bus))
    assert result["bus, properties"].verdict is Verdict.FAILED
    assert "/no/ca.pem" in result["bus, properties"].text
    assert "No such file or directory" in result["bus, properties"].text
    assert result["bus, topics of its own"].verdict is Verdict.NOT_CHECKED


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    found(config(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_bus_that_cannot_be_reached_fails(tmp_path: Path) -> None:
    result = found(config(tmp_path, bus__bootstrap__servers="127.0.0.1:2"))
    assert result["bus 127.0.0.1:2, connect"].verdict is Verdict.FAILED
    assert result["bus, topics of its own"].verdict is Verdict.NOT_CHECKED


def test_a_bus_that_refuses_what_changelogs_need_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a policy of its brokers for new topics (`create.topic.policy.class.name`)."""
    monkeypatch.setitem(_own_topics.__globals__, "Cluster", StrictKafka)
    bus = Approach("bus", {"bootstrap.servers": "kafka:9092"})
    with pytest.raises(KafkaError, match=r"max.message.bytes"):
        _own_topics(bus, {}, ChangelogConfig())
    monkeypatch.setattr(StrictKafka, "largest", LARGEST_RECORD_BYTES)
    assert _own_topics(bus, {}, ChangelogConfig()) == "can be created and deleted"


class StrictKafka:
    largest = 10_000_000

    def __init__(self, _: object) -> None:
        self.topics: list[str] = []

    def create_topics(self, names: list[str], _partitions: int, config: Mapping[str, str], _replication: int) -> None:
        if int(config.get("max.message.bytes", 0)) > self.largest:
            raise KafkaError(f"cannot create topic {names[0]!r}: policy: max.message.bytes is too large")
        self.topics += names

    def delete_topics(self, names: list[str]) -> None:
        assert self.topics == names


def test_java_parts_that_are_not_there_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNOUT_CACHE", str(tmp_path / "cache"))
    result = found(config(tmp_path))
    assert result["Java parts"].verdict is Verdict.FAILED
    assert "-m turnout.java`, which fetches them" in result["Java parts"].text
    assert list(tmp_path.rglob("*.jar")) == []


def test_a_java_that_is_not_there_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = found(config(tmp_path))
    assert result["Java"].verdict is Verdict.FAILED
    assert "install Java 17" in result["Java"].text


def test_a_state_directory_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = found(config(tmp_path, state_dir=str(tmp_path / "file" / "state")))
    assert result["state directory"].verdict is Verdict.FAILED
    assert result["state directory"].text.endswith("(Not a directory): choose another `state_dir`")


def test_a_port_that_is_taken_fails(tmp_path: Path) -> None:
    with listen(ServeConfig(port=0)) as taken:
        port = taken.getsockname()[1]
        result = found(config(tmp_path, serve__port=port))
    assert result["port"].verdict is Verdict.FAILED
    assert f"Port {port} on 127.0.0.1 is taken" in result["port"].text


def test_the_command_has_a_line_for_each_and_fails_if_any_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text("kafka: {bootstrap.servers: '127.0.0.1:1'}\nserve: {port: 0}\n")
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "✓ ok          configuration: no mistakes"
    refused = "✗ failed      kafka 127.0.0.1:1, connect: nothing listens on 127.0.0.1:1 (connection refused) → see that"
    assert any(line.startswith(refused) for line in lines)
    assert "- not checked read topic users (users): needs kafka 127.0.0.1:1, connect" in lines
    assert len(lines) == 20


def test_on_a_terminal_a_finding_is_wrapped_and_its_remedy_has_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text("kafka: {bootstrap.servers: '127.0.0.1:1'}\nserve: {port: 0}\n")
    shown = CliRunner().invoke(app, ["check"], env={"FORCE_COLOR": "1", "COLUMNS": "72"}).stdout
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()
    at = lines.index("✗ failed      kafka 127.0.0.1:1, connect: nothing listens on 127.0.0.1:1")
    assert lines[at + 1 : at + 3] == [
        "              (connection refused)",
        "              → see that the server runs, and that host and port are",
    ]


def test_the_command_says_what_is_wrong_with_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text("serve: {port: many}\n")
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert result.stdout == "✗ failed      configuration: turnout.yaml:1: serve.port: 'many' is not a whole number\n"
