"""A Turnout without Spark and Kafka: the real app on a real server, whose tables, status and log are fed by hand."""

import logging
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import polars as pl

from tests.client.fed import Fed
from tests.orchestrator.fakes import FakeBuilder, FakePublic
from tests.serve.publishing import Published
from turnout.changelog.freshness import Freshness
from turnout.config import SwitchConfig
from turnout.control.message import ControlMessage
from turnout.kafka.activity import Activity
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import Event, History, Orchestrator
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.schema import JoinType, Topics
from turnout.tables.delta import ROW, Delta

HOSTILE = '<img src=x onerror="window.hacked = true">'
"""Would run if anything took it for HTML."""

KINDS = ("savings", "checking", "credit")
TOPICS = ("users", "accounts", "users_b", "accounts_b")
NOON_MS = 1_767_873_600_000  # 2026-01-08T12:00:00Z


class FedTurnout(Fed):
    """Live from its first moment, with the default tables: users and their accounts."""

    def __init__(self, env: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(env=env)
        self.tables = self.service.tables
        self._rejected = 0
        self.published = Published(self.service, "applied")
        self.service.publish_control = self.published  # type: ignore[method-assign]  # there is no Kafka behind it
        self.offer(*TOPICS)
        self._orchestrate()
        self.show(*TOPICS[:2])
        self.join([(number, KINDS[number % 3], 100.0 * number) for number in range(1, 31)])

    def join(self, rows: list[tuple[int, str | None, float | None]]) -> None:
        """Another generation, all tables at once: users by number, each with an account or none."""
        names = self.tables.names
        users = [(str(n), f"u{n}", f"name {n}", f"name{n}@example.com", 20 + n) for n, _, _ in rows]
        accounts = [(str(n), f"u{n}", kind, balance) for n, kind, balance in rows if kind is not None]
        joined = [(*user, *account[1:]) for user, account in zip(users, rows, strict=True)]
        frames = {
            names.left: self._frame(names.left, users),
            names.right: self._frame(names.right, accounts),
            names.joined: self._frame(names.joined, joined),
        }
        self.tables.registry.swap(self.generation + 1, frames)

    def add(self, number: int, kind: str, balance: float) -> None:
        """One more row of the join."""
        name = self.tables.names.joined
        row = (str(number), f"u{number}", f"name {number}", f"name{number}@example.com", 20 + number, kind, balance)
        self.tables.registry.change({name: Delta(self._frame(name, [row]), pl.Series(ROW, [], dtype=pl.String))})

    def show(self, left: str, right: str, message: str = "live", state: State = State.LIVE) -> None:
        """What the status says."""
        desired = Desired(Topics(left, right), JoinType.LEFT)
        self.tables.status(Status(desired, int(time.time() * 1000), state, max(1, self.generation), message))

    def offer(self, *topics: str) -> None:
        """What the broker has."""
        offered = [Activity(name, 3, 1200, 2.5, int(time.time() * 1000)) for name in topics]
        self.service.topics = lambda: offered  # type: ignore[method-assign]

    def hurry(self) -> None:
        """Figures as of a system at work, which there is none of here."""
        fresh = Freshness(int(time.time() * 1000), 14)
        self.service.freshness = lambda: fresh  # type: ignore[method-assign]
        self.service.lag = lambda: dict.fromkeys(TOPICS[:2], 0)  # type: ignore[method-assign]

    def log(self, text: str, level: int = logging.INFO) -> None:
        self.tables.log_handler.handle(logging.LogRecord("turnout", level, __file__, 0, text, None, None))

    def control(self, value: str, outcome: str) -> str:
        """A control message that was read; its id."""
        id_ = self.published(value.encode())
        partition, offset = map(int, id_.split(":"))
        self.tables.outcome(ControlMessage(partition, offset, NOON_MS, value.encode()), outcome)
        return id_

    def reject(self, value: str, reason: str = "it is not JSON", topic: str = "users") -> None:
        record = {"ts": NOON_MS + self._rejected, "topic": topic, "partition": 2, "offset": 40 + self._rejected}
        self._rejected += 1
        self.tables.rejected([{**record, "reason": reason, "value": value}])

    def _orchestrate(self) -> None:
        """What a preview and an undo are asked of; the first pair of topics is live."""
        builder, events = FakeBuilder(topics=set(TOPICS)), list[Event]()
        default = Desired(Topics(*TOPICS[:2]), JoinType.LEFT)
        orchestrator = Orchestrator(
            default, self.tables.fields, SwitchConfig(), builder, FakePublic(), time.monotonic, lambda: NOON_MS
        )
        orchestrator.post = events.append  # type: ignore[method-assign,assignment]
        orchestrator.step([History([])])
        builder.builds[-1].succeed()
        orchestrator.step(events)
        self.service._conductor = orchestrator

    def _frame(self, table: str, rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=self.tables.registry.snapshot(table).rows.schema, orient="row")
