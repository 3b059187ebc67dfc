"""A client and a Turnout that asks who it is."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.serve.security.guarded import OPERATOR, TOKENS, VIEWER, WRONG, Guarded, guarded
from turnout.cli import app
from turnout.client import AsyncClient, Client, NotLoggedIn, NotPermitted
from turnout.config import load
from turnout.serve.security.tokens import hash_of


@pytest.fixture
def turnout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    monkeypatch.chdir(tmp_path)
    for name in ("TURNOUT_CONFIG", "TURNOUT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "server").mkdir()
    with guarded(tmp_path / "server", {"auth": {"tokens": TOKENS}}) as turnout:
        yield turnout


def test_with_a_token_it_reads_follows_and_switches(turnout: Guarded) -> None:
    with Client(turnout.url, token=OPERATOR) as client:
        assert client.status().state == "starting"
        with client.table("users_ui").changes() as changes:
            assert next(changes).generation == 0
        assert client.control({"joinType": "inner"}).applied
    assert asyncio.run(AsyncClient(turnout.url, token=VIEWER).status()).state == "starting"


@pytest.mark.parametrize("token", [None, WRONG])
def test_without_a_good_one_it_says_what_to_do(turnout: Guarded, token: str | None) -> None:
    client = Client(turnout.url, token=token)
    with pytest.raises(NotLoggedIn, match=r"--token or the variable TURNOUT_TOKEN, in Python Client\(token=…\)"):
        client.status()
    with client.table("users_ui").changes() as changes, pytest.raises(NotLoggedIn):
        next(changes)


def test_a_viewer_that_switches_is_told_that_it_may_not(turnout: Guarded) -> None:
    with pytest.raises(NotPermitted, match="wall-screen is a viewer: only an operator may switch"):
        Client(turnout.url, token=VIEWER).control({"joinType": "inner"})


def test_commands_take_it_as_an_option_or_a_variable(turnout: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    run = CliRunner().invoke
    refused = run(app, ["status", "--url", turnout.url])
    assert refused.exit_code == 1
    assert "a login is needed" in refused.output
    assert "TURNOUT_TOKEN" in refused.output
    assert "starting" in run(app, ["status", "--url", turnout.url, "--token", VIEWER]).output
    assert "only an operator" in run(app, ["switch", "-j", "inner", "--url", turnout.url, "--token", VIEWER]).output
    monkeypatch.setenv("TURNOUT_TOKEN", VIEWER)
    for command in (["status"], ["tail", "users_ui"], ["logs"]):
        assert run(app, [*command, "--url", turnout.url]).exit_code == 0
    monkeypatch.setenv("TURNOUT_TOKEN", OPERATOR)
    assert run(app, ["undo", "--url", turnout.url]).exit_code == 0


def test_a_token_is_made_with_what_the_configuration_needs(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["token", "--role", "operator", "--days", "90", "deploy-bot"]).output
    token = said.split("\n\n")[1].strip()
    file = tmp_path / "turnout.yaml"
    file.write_text(said[said.index("serve:") : said.index("\nIt is sent")])
    known = load(file, env={}).serve.auth.tokens["deploy-bot"]
    assert (known.role, known.hash) == ("operator", hash_of(token))
    assert known.expires is not None
    assert len(token) == 43
    assert CliRunner().invoke(app, ["token"]).output != CliRunner().invoke(app, ["token"]).output
    assert "'admin' is not a role" in CliRunner().invoke(app, ["token", "--role", "admin"]).output
