"""All that there is: the users' Kafka, the service, its viewers, and what is known about them."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture import messages
from tests.torture.messages import DATA_TOPICS, PAIRS, PARTITIONS
from tests.torture.model import KEEP_ACCOUNTS, KEEP_USERS, Desired, Want
from tests.torture.process import ServiceProcess
from tests.torture.users_kafka import Condition, Sent, UsersKafka, free_port
from tests.torture.viewer import Viewer

CONTROL = "control"
DATA_TABLES = ("users_ui", "accounts_ui", "final_ui")
DEFAULT = Want("users_a", "accounts_a", "left")
SHOWN_NOTES = 20

CONFIG = """
kafka: {{bootstrap.servers: "{bootstrap}"}}
tables:
  users:
    topic: users_a
    columns: {{userId: string, name: string, email: string, age: long}}
    keep: {keep_users}
    start: earliest
  accounts:
    topic: accounts_a
    columns: {{userId: string, accountType: string, balance: double}}
    keep: {keep_accounts}
    start: earliest
join: {{left: users, right: accounts, on: userId}}
control: {{topic: control}}
switch: {{linger_seconds: 3, ready_timeout_seconds: 60}}
serve: {{port: {port}}}
state_dir: state
"""


class Failure(AssertionError):
    """Turnout did what it must not."""


class World:
    def __init__(self, directory: Path, seed: int, *, patient: bool) -> None:
        """`patient`: there is time for faults that last."""
        self.directory, self.seed, self.patient = directory, seed, patient
        self.rng = random.Random(seed)
        self.kafka = UsersKafka(directory / "users-kafka")
        self.service = ServiceProcess(directory, free_port())
        self.viewers: list[Viewer] = []
        self.partitions = {topic: PARTITIONS[messages.tag_of(topic)] for topic in DATA_TOPICS}
        self.desired = Desired.at_first(DEFAULT)
        self.calm = False
        """All is well, and has been seen to be."""
        self.may_be_empty = True
        """Until every topic has its seeds, and while one that was deleted waits for them."""
        self.recreated: set[str] = set()
        """Data topics with rejected records that the service remembers and Kafka does not."""
        self.notes: list[str] = []
        self._began = time.monotonic()

    def note(self, text: str) -> None:
        line = f"{time.strftime('%H:%M:%S')} {time.monotonic() - self._began:6.1f} s  {text}"
        self.notes.append(line)
        print(line, flush=True)

    # -- from beginning to end

    def begin(self) -> None:
        config = CONFIG.format(
            bootstrap=self.kafka.bootstrap,
            port=self.service.port,
            keep_users=KEEP_USERS,
            keep_accounts=KEEP_ACCOUNTS,
        )
        (self.directory / "turnout.yaml").write_text(config)
        self.kafka.start()
        self.kafka.create(CONTROL, 1)
        for topic in sorted(DATA_TOPICS):
            self.create_data_topic(topic)
        self.start_service()

    def end(self) -> None:
        for viewer in self.viewers:
            viewer.drop()
        self.service.discard()
        self.kafka.stop()

    def heal(self) -> None:
        """Lift all faults."""
        if self.kafka.condition is not Condition.UP:
            self.kafka.heal()
            self.note("  the users' broker is up again")
        if not self.service.running:
            self.start_service()
        for viewer in self.viewers:
            viewer.resume()

    # -- what actions are made of

    @property
    def connected(self) -> bool:
        """Does the service run, and can it be sent to?"""
        return self.service.running and self.kafka.condition is Condition.UP

    @property
    def shown_tag(self) -> str:
        return messages.tag_of(self.desired.seen.users)

    def other_tag(self) -> str:
        return self.rng.choice([tag for tag in PAIRS if tag != self.shown_tag])

    def some_tag(self) -> str:
        return self.shown_tag if self.rng.random() < 0.7 else self.rng.choice(PAIRS)

    def some_topic(self, tag: str | None = None) -> str:
        tag = tag or self.some_tag()
        return self.rng.choice([messages.users_topic(tag), messages.accounts_topic(tag)])

    def some_partition(self, topic: str) -> int:
        return self.rng.randrange(self.partitions[topic])

    def send(self, topic: str, values: Sequence[bytes | None]) -> None:
        self.kafka.send(
            [Sent(topic, value, self.some_partition(topic), messages.timestamp(self.rng)) for value in values]
        )

    def publish(self, values: Sequence[bytes | None]) -> None:
        """Control messages, straight to the topic."""
        self.kafka.send([Sent(CONTROL, value) for value in values])
        self.noted_message()

    def noted_message(self) -> None:
        self.calm = False
        self.desired = self.desired.after_message()

    def fault(self) -> None:
        """From here on a switch may fail."""
        self.calm = False
        self.desired = self.desired.after_fault()

    def start_service(self, crash_at: str | None = None) -> None:
        self.calm = False
        self.desired = self.desired.after_start()
        self.recreated.clear()
        self.service.start(crash_at)
        self.note(f"  the service starts{f' and is to crash at {crash_at}' if crash_at else ''}")

    def create_data_topic(self, topic: str) -> None:
        self.kafka.create(topic, self.partitions[topic])
        self.kafka.send([Sent(topic, value, self.some_partition(topic)) for value in messages.seeds(topic)])

    def add_viewer(self, table: str) -> None:
        self.viewers.append(Viewer(self.service.port, table, lambda: self.may_be_empty))
