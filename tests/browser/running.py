"""Turnout as a user runs it: `turnout run` in a process of its own, on a real broker."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
from confluent_kafka import Producer

from tests.torture.users_kafka import free_port
from tests.waiting import until
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker

READY_SECONDS = 420
"""Spark's first query in a cold JVM takes 20 to 40 on two idle cores, and took 200 on two with a load of 20."""

ANSWER_SECONDS = 30

END_SECONDS = 30
"""Five are promised; a machine that runs other tests beside may need more."""

CONFIG = """
kafka: {{bootstrap.servers: "{bootstrap}"}}
bus:   {{bootstrap.servers: "{bootstrap}"}}
tables:
{tables}
control: {{topic: control}}
switch: {{ready_timeout_seconds: 240}}
serve: {{port: {port}}}
state_dir: {state_dir}
"""


@dataclass(frozen=True)
class Setting:
    """What is joined: from the beginning, so that a pair of topics that is switched to has rows when it is shown."""

    tables: str
    topics: tuple[str, ...]


# Not users and accounts, so that the page is seen to take every name from the configuration.
ORDERS_AND_PAYMENTS = Setting(
    """
  orders:   {topic: orders,   columns: {orderId: long, item: string, price: double}, start: earliest}
  payments: {topic: payments, columns: {orderId: long, method: string}, start: earliest}
join: {left: orders, right: payments, on: orderId, type: left}
""",
    ("orders", "payments", "orders_b", "payments_b"),
)
USERS_AND_ACCOUNTS = Setting(
    """
  users:    {topic: users,    columns: {userId: string, name: string, email: string, age: long}, start: earliest}
  accounts: {topic: accounts, columns: {userId: string, accountType: string, balance: double}, start: earliest}
join: {left: users, right: accounts, on: userId, type: left}
""",
    ("users", "accounts", "users_b", "accounts_b"),
)


class RunningTurnout:
    def __init__(self, broker: EmbeddedBroker, state_dir: Path, setting: Setting) -> None:
        """Made, not started."""
        Cluster({"bootstrap.servers": broker.bootstrap}).create_topics([*setting.topics, "control"])
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._config = state_dir / "turnout.yaml"
        values = {"bootstrap": broker.bootstrap, "port": self.port, "state_dir": state_dir / "state"}
        self._config.write_text(CONFIG.format(tables=setting.tables, **values))
        self._log = state_dir / "turnout.log"

    def start(self) -> None:
        """Returns when it answers: on its way to a live generation, not there yet."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "turnout.cli", "run", "-c", str(self._config)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(lambda: self._answers("/healthz"), f"it answers; its log: {self._log}", READY_SECONDS)

    def kill(self) -> None:
        """As a crash would: nothing is said, nothing is drained."""
        self._process.kill()
        self._process.wait()

    def until_ready(self) -> None:
        until(lambda: self._answers("/readyz"), f"a generation is live; its log: {self._log}", READY_SECONDS)

    def send(self, topic: str, **row: object) -> None:
        self.send_raw(topic, json.dumps(row).encode())

    def send_raw(self, topic: str, value: bytes) -> None:
        """Returns when Kafka has it."""
        self._producer.produce(topic, value)
        assert self._producer.flush(ANSWER_SECONDS) == 0

    def switch(self, **fields: str) -> None:
        """A control message that is applied, or changes nothing, when this returns."""
        answer = httpx.post(f"{self.url}/api/control", json=fields, timeout=60)
        if answer.status_code == 202:  # it takes longer than the server waits
            until(lambda: "outcome" in self._told(answer), f"the outcome of {fields}", READY_SECONDS)
        said = self._told(answer) if answer.status_code == 202 else answer.json()
        assert said.get("outcome") in ("applied", "no change"), f"{answer.text} {said}"

    def _told(self, answer: httpx.Response) -> dict[str, object]:
        """What is known by now of the control message that was answered with its id."""
        told = httpx.get(f"{self.url}/api/control/{answer.json()['id']}", timeout=ANSWER_SECONDS).json()
        return {name: value for name, value in told.items() if value is not None}

    def status(self) -> dict[str, object]:
        status: dict[str, object] = httpx.get(f"{self.url}/api/status", timeout=ANSWER_SECONDS).json()
        return status

    def end(self) -> None:
        """Ctrl-C, which has to do."""
        self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(END_SECONDS)
        finally:
            self._process.kill()
        assert code == 0, f"turnout run ended with {code}:\n{self._log.read_text()}"

    def _answers(self, path: str) -> bool:
        assert self._process.poll() is None, f"turnout run ended early:\n{self._log.read_text()}"
        try:
            return httpx.get(f"{self.url}{path}", timeout=5).status_code == 200
        except httpx.TransportError:
            return False
