"""`turnout run` with the default tables, on a real broker: it can be ended and started again."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
from confluent_kafka import Producer

from tests.browser.running import free_port
from tests.waiting import until
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

READY_SECONDS = 240
"""Spark's first query in a cold JVM takes 20 to 40 on two idle cores."""

END_SECONDS = 30

# From the beginning, so that topics that are switched to have rows when they are shown.
CONFIG = """
kafka: {{bootstrap.servers: "{bootstrap}"}}
bus:   {{bootstrap.servers: "{bootstrap}"}}
tables:
  users:    {{topic: users,    columns: {{userId: string, name: string, email: string, age: long}}, start: earliest}}
  accounts: {{topic: accounts, columns: {{userId: string, accountType: string, balance: double}}, start: earliest}}
join: {{left: users, right: accounts, on: userId, type: left}}
switch: {{ready_timeout_seconds: 150}}
serve: {{port: {port}}}
state_dir: {directory}/state
"""
TOPICS = ("users", "accounts", "users_b", "accounts_b", "control")


class UsersAndAccounts:
    def __init__(self, broker: EmbeddedBroker, directory: Path) -> None:
        Cluster({"bootstrap.servers": broker.bootstrap}).create_topics(TOPICS)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._config = directory / "turnout.yaml"
        self._config.write_text(CONFIG.format(bootstrap=broker.bootstrap, port=port, directory=directory))
        self._log = directory / "turnout.log"

    def start(self) -> None:
        """Returns when it answers: on its way to a live generation, not there yet."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "turnout.cli", "run", "-c", str(self._config)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(lambda: self._answers("/healthz"), f"it answers; its log: {self._log}", READY_SECONDS)

    def until_live(self) -> None:
        until(lambda: self._answers("/readyz"), f"a generation is live; its log: {self._log}", READY_SECONDS)

    def send(self, topic: str, **row: object) -> None:
        """Returns when Kafka has it."""
        self._producer.produce(topic, json.dumps(row).encode())
        assert self._producer.flush(10) == 0

    def end(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(END_SECONDS)
        finally:
            self._process.kill()

    def _answers(self, path: str) -> bool:
        assert self._process.poll() is None, f"turnout run ended early:\n{self._log.read_text()}"
        try:
            return httpx.get(f"{self.url}{path}", timeout=5).status_code == 200
        except httpx.TransportError:
            return False
