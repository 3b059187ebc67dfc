import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from turnout.cli import app
from turnout.config import load
from turnout.errors import ConfigError
from turnout.serve.security.exposure import refuse_exposure, warn_of_exposure
from turnout.serve.security.tokens import hash_of

TOKEN = {"TURNOUT_SERVE__AUTH__TOKENS": f"{{a: {{role: viewer, hash: '{hash_of('a')}'}}}}"}


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TURNOUT_CONFIG", raising=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_loopback_nothing_has_to_be_said(host: str) -> None:
    refuse_exposure(load(None, env={"TURNOUT_SERVE__HOST": host}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "turnout.example.com"])
def test_off_loopback_it_has_to_be_said_who_may_come_in(host: str) -> None:
    Path("turnout.yaml").write_text(f"# mine\nserve:\n  host: '{host}'\n")
    with pytest.raises(ConfigError) as refused:
        refuse_exposure(load(None, env={}))
    said = str(refused.value)
    assert said.startswith(f"turnout.yaml:3: serve.host: '{host}' can be reached from the network")
    for remedy in ("serve.auth.tokens", "serve.auth.oidc", "serve.auth.open: true"):
        assert remedy in said
    refuse_exposure(load(None, env=TOKEN))
    refuse_exposure(load(None, env={"TURNOUT_SERVE__AUTH__OPEN": "true"}))


def test_the_place_is_told_whichever_it_is() -> None:
    with pytest.raises(ConfigError, match=r"^environment TURNOUT_SERVE__HOST: serve\.host"):
        refuse_exposure(load(None, env={"TURNOUT_SERVE__HOST": "0.0.0.0"}))
    with pytest.raises(ConfigError, match=r"^command line: serve\.host"):
        refuse_exposure(load(None, env={}, overrides={"serve.host": "0.0.0.0"}))


@pytest.mark.parametrize("command", ["run", "demo"])
def test_it_does_not_start(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--host", "0.0.0.0", "--port", "0"])
    assert done.exit_code == 1
    assert "command line: serve.host: '0.0.0.0' can be reached from the network" in done.output


def test_deliberately_open_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "turnout")
    warn_of_exposure(load(None, env={"TURNOUT_SERVE__AUTH__OPEN": "true"}))
    assert caplog.messages == [], "not on loopback"
    warn_of_exposure(load(None, env={"TURNOUT_SERVE__AUTH__OPEN": "true", "TURNOUT_SERVE__HOST": "0.0.0.0"}))
    warn_of_exposure(load(None, env={**TOKEN, "TURNOUT_SERVE__HOST": "0.0.0.0"}))
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.messages[0] == "Anyone who reaches 0.0.0.0 may read and switch: serve.auth.open is true"
    assert "plain text" in caplog.messages[1]
