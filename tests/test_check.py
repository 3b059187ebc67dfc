from pathlib import Path

import pytest
from typer.testing import CliRunner

from turnout.address import listen
from turnout.check import Finding, Verdict, findings
from turnout.cli import app
from turnout.config import Config, ServeConfig, load


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.kafka.client.REQUEST_SECONDS", 0.2)


def config(tmp_path: Path, **overrides: object) -> Config:
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1", "state_dir": str(tmp_path / "deep" / "state"), "serve.port": 0}
    return load(None, env={}, overrides={**nowhere, **{k.replace("__", "."): v for k, v in overrides.items()}})


def found(settings: Config) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings(settings)}


def test_without_kafka_its_topics_are_not_checked_and_the_rest_is(tmp_path: Path) -> None:
    result = found(config(tmp_path))
    assert result["Kafka"].verdict is Verdict.FAILED
    assert "Kafka at 127.0.0.1:1 does not answer" in result["Kafka"].text
    assert "`bootstrap.servers`" in result["Kafka"].text
    for subject in ("topic users (users)", "topic accounts (accounts)", "topic control (control messages)"):
        assert result[subject].verdict is Verdict.NOT_CHECKED
    for subject in ("Python", "Java", "bus", "state directory", "port"):
        assert result[subject].verdict is Verdict.OK, result[subject]
    assert result["bus"].text.startswith("embedded")


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    found(config(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_bus_that_cannot_be_reached_fails(tmp_path: Path) -> None:
    result = found(config(tmp_path, bus__bootstrap__servers="127.0.0.1:2"))
    assert result["bus"].verdict is Verdict.FAILED
    assert "127.0.0.1:2" in result["bus"].text


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
    assert any(line.startswith("✗ failed      Kafka: Kafka at 127.0.0.1:1 does not answer") for line in lines)
    assert "- not checked topic users (users): Kafka does not answer" in lines
    assert len(lines) == 11


def test_the_command_says_what_is_wrong_with_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text("serve: {port: many}\n")
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert result.stdout == "✗ failed      configuration: turnout.yaml:1: serve.port: 'many' is not a whole number\n"
