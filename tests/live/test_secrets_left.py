"""No secret is left behind: not by a run that goes well, nor by one whose login fails, nor in what it answers."""

import json
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import yaml
from confluent_kafka.admin import AclOperation
from pyspark.sql import SparkSession

from tests.live.rig import Sender
from tests.secure.broker import Listener
from tests.secure.logins import Setting, password
from tests.torture.process import REPO, SPARK, ServiceProcess
from tests.waiting import until
from turnout.descendants import descendants
from turnout.kafka.client import Cluster
from turnout.kafka.login.java_names import JAVA_NAMES
from turnout.properties import is_secret

SOON_SECONDS = 180.0
"""For a Spark of its own, on a machine that is busy with other things."""
SECRETS = {
    "password": "gravel-and-tar",
    "wrong": "lantern-and-whistle",
    "client": "plates-and-bolts",
    "storage": "coal-and-water",
}


class Run:
    """A service that logs in by a password to its data, by a token to its control topic; Spark tells all it knows."""

    def __init__(self, at: Setting, directory: Path, hidden: Path) -> None:
        """`hidden` is where the secrets are."""
        self.at, self.directory, self.hidden = at, directory, hidden
        self.user, self.client = f"user-{uuid4().hex[:8]}", f"client-{uuid4().hex[:8]}"
        self.topics = {name: f"{name}-{uuid4().hex[:8]}" for name in ("users", "accounts", "control")}
        self.port, self.ui_port = free_ports(2)
        self.process = ServiceProcess(directory, self.port)

    def prepare(self) -> None:
        Cluster({"bootstrap.servers": self.at.secure.embedded.bootstrap}).create_topics([*self.topics.values()])
        self.at.secure.set_password(self.user, SECRETS["password"])
        self.at.tokens.clients[self.client] = SECRETS["client"]
        self.at.secure.allow(self.user, AclOperation.READ, self.topics["users"], self.topics["accounts"])
        self.at.secure.allow(self.client, AclOperation.READ, self.topics["control"])
        for name in ("client", "storage"):
            self.hide(name, SECRETS[name])
        self.hide("password", SECRETS["wrong"])
        (self.directory / "turnout.yaml").write_text(yaml.safe_dump(self.config()))
        (self.directory / "events").mkdir()

    def hide(self, name: str, secret: str) -> None:
        (self.hidden / name).write_text(f"{secret}\n")

    def config(self) -> Mapping[str, object]:
        data, control = Listener.BRIEF, Listener.TOKEN
        token = self.at.token(secret=f"${{file:{self.hidden}/client}}", **{"client.id": self.client})
        jaas = f'ScramLoginModule required username="{self.user}" password="${{file:{self.hidden}/password}}";'
        return {
            "kafka": {
                "bootstrap.servers": self.at.secure.address(data),
                "security.protocol": data.protocol,
                **password("SCRAM-SHA-256", self.user, f"file:{self.hidden}/password"),
                "sasl.jaas.config": jaas,
            },
            "control": {
                "topic": self.topics["control"],
                "kafka": {
                    "bootstrap.servers": self.at.secure.address(control),
                    "security.protocol": control.protocol,
                    **token,
                },
            },
            "tables": {
                "users": {"topic": self.topics["users"], "columns": {"userId": "string", "name": "string"}},
                "accounts": {"topic": self.topics["accounts"], "columns": {"userId": "string", "balance": "double"}},
            },
            "join": {"left": "users", "right": "accounts", "on": "userId"},
            "serve": {"port": self.port},
            "switch": {"ready_timeout_seconds": SOON_SECONDS},
            "state_dir": "state",
            "spark": {
                "conf": {
                    "spark.ui.enabled": "true",
                    "spark.ui.port": str(self.ui_port),
                    "spark.eventLog.enabled": "true",
                    "spark.eventLog.compress": "false",
                    "spark.eventLog.dir": f"file://{self.directory}/events",
                    "spark.hadoop.fs.s3a.secret.key": f"file:{self.hidden}/storage",
                }
            },
        }

    def answers(self) -> Iterator[tuple[str, str]]:
        """What it says over HTTP, and Spark's own pages."""
        url, spark = self.process.url, f"http://127.0.0.1:{self.ui_port}"
        tables = [table["name"] for table in httpx.get(f"{url}/api/tables").json()["tables"]]
        paths = ["/api/status", "/metrics", "/healthz", "/readyz", "/page.json", "/openapi.json", "/docs", "/"]
        for path in [*paths, *(f"/api/tables/{name}" for name in tables)]:
            yield path, httpx.get(url + path, timeout=30).text
        for path in ("/environment/", "/SQL/", "/SQL/execution/?id=0", "/StreamingQuery/", "/executors/", "/jobs/"):
            yield path, httpx.get(spark + path, timeout=30, follow_redirects=True).text
        applications = json.loads(httpx.get(f"{spark}/api/v1/applications", timeout=30).text)
        for page in ("environment", "sql?details=true", "jobs"):
            path = f"/api/v1/applications/{applications[0]['id']}/{page}"
            yield path, httpx.get(spark + path, timeout=30).text

    def command_lines(self) -> Iterator[tuple[str, str]]:
        """Which every user of the machine can read."""
        for pid in descendants(self.process.pid):
            yield f"command line of {pid}", Path(f"/proc/{pid}/cmdline").read_text(errors="replace")

    def said(self, *arguments: str) -> str:
        """What a command says."""
        done = subprocess.run(
            [sys.executable, "-m", "turnout.cli", *arguments],
            cwd=self.directory,
            env={"PYTHONPATH": str(REPO), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in held]
    for listener in held:
        listener.close()
    return ports


def contents(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's, and what is in archives."""
    for file in directory.rglob("*"):
        if file.is_file():
            yield str(file), file.read_bytes()
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    for name in archive.namelist():
                        yield f"{file}!{name}", archive.read(name)


def secrets_in(content: bytes) -> list[str]:
    """Also as Java writes texts of two bytes a character."""
    return [
        name for name, secret in SECRETS.items() if secret.encode() in content or secret.encode("utf-16-be") in content
    ]


@pytest.mark.timeout(600)
def test_no_secret_is_left_behind(at: Setting, tmp_path: Path) -> None:
    directory, hidden = tmp_path / "run", tmp_path / "hidden"
    directory.mkdir()
    hidden.mkdir()
    run = Run(at, directory, hidden)
    run.prepare()
    spoken: dict[str, str] = {}
    try:
        run.process.start()
        run.process.until_state("degraded", "uthentication", SOON_SECONDS)
        spoken |= {f"refused {path}": text for path, text in run.answers()}
        run.hide("password", SECRETS["password"])
        run.process.until_state("live", "", SOON_SECONDS)
        Sender(at.secure.embedded.bootstrap).send_row(run.topics["users"], {"userId": "u1", "name": "ann"})
        until(lambda: run.process.table("final_ui")[1], "a row", SOON_SECONDS)
        spoken["publish"] = run.said("switch", "-c", "turnout.yaml", "--join", "inner")
        assert f"this login may not write to topic '{run.topics['control']}'" in spoken["publish"]
        spoken |= dict(run.answers())
        spoken |= dict(run.command_lines())
        spoken |= {command: run.said(command, "-c", "turnout.yaml") for command in ("config", "check")}
        assert run.process.terminate() == 0
    finally:
        run.process.discard()
        at.secure.remove_user(run.user)
        del at.tokens.clients[run.client]
    left = dict(contents(directory)) | {place: text.encode() for place, text in spoken.items()}
    assert "spark.eventLog.dir" in spoken["/environment/"]
    assert any("/checkpoint" in place for place in left)
    assert any("/events/" in place for place in left)
    assert any(SPARK in text for place, text in spoken.items() if place.startswith("command line"))
    assert f"file:{hidden}/password" in spoken["config"]
    assert {place: found for place, content in left.items() if (found := secrets_in(content))} == {}


SECRET_NAMES = sorted(name for name in JAVA_NAMES if is_secret(name, "x"))


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_plan_does_not_show_the_secrets_of_its_source(spark: SparkSession, name: str) -> None:
    """Plans are in Spark's pages and in its event log, with the options of their sources."""
    options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "users", f"kafka.{name}": SECRETS["password"]}
    frame = spark.readStream.format("kafka").options(**options).load()
    plan = frame._jdf.queryExecution().toString()
    assert f"kafka.{name}=" in plan
    assert SECRETS["password"] not in plan


@pytest.mark.parametrize("name", ["spark.hadoop.fs.azure.account.key.example", "spark.ssl.keyPassword", "spark.my.key"])
def test_spark_does_not_list_the_secrets_of_its_configuration(spark: SparkSession, name: str) -> None:
    spark.conf.set(name, SECRETS["storage"])
    try:
        listed = {row.key: row.value for row in spark.sql("SET").collect()}
        assert name in listed
        assert SECRETS["storage"] not in str(listed)
    finally:
        spark.conf.unset(name)
