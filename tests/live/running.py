"""The service's heart in the tests' own process, and a viewer of its tables."""

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import polars as pl

from tests.live.rig import Rig
from tests.waiting import until
from turnout.control.listener import ControlListener
from turnout.control.message import compose
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.orchestrator import History, Orchestrator
from turnout.orchestrator.parts import CONTROL, Pipeline, Trouble
from turnout.tables.delta import apply
from turnout.tables.public import control_fields
from turnout.tables.registry import Changed, Event

FIRST_SECONDS = 180
"""For the first generation: Spark's first query takes 20 to 40 on two idle cores."""

SWITCH_SECONDS = 120
RECOVERY_SECONDS = 120

FILLED = 50
"""Rows of the join, by `fill`."""

CONFIG = """
tables:
  users:    {topic: users-TAG,    columns: {userId: string, name: string},     start: earliest}
  accounts: {topic: accounts-TAG, columns: {userId: string, balance: double}, start: earliest}
join: {left: users, right: accounts, on: userId}
control: {topic: control-TAG}
switch: {linger_seconds: 2}
"""


@contextmanager
def first_generation(rig: Rig) -> Iterator["Running"]:
    """One that shows all of what `fill` has sent."""
    running = Running(rig)
    try:
        until(lambda: rig.table("final_ui").total() == FILLED, "the first generation", FIRST_SECONDS)
        yield running
    finally:
        running.stop()


class Running:
    """The service's heart in this process: it can be stopped and started again on the same state."""

    def __init__(self, rig: Rig) -> None:
        self.rig, config = rig, rig.config
        self.states: list[str] = []
        """All that it went through."""
        rig.tables.registry.subscribe(rig.tables.names.status, self._note)
        logging.getLogger("turnout").setLevel(logging.INFO)
        logging.getLogger("turnout").addHandler(rig.tables.log_handler)
        default = Desired(rig.topics, config.join.type)
        self.orchestrator = Orchestrator(
            default,
            control_fields(config),
            config.switch,
            rig.builder,
            rig.tables,
            time.monotonic,
            lambda: int(time.time() * 1000),
        )
        self.orchestrator.start()
        self._listener = ControlListener(
            rig.cluster,
            config.control.topic,
            lambda messages: self.orchestrator.post(History(messages)),
            self.orchestrator.post,
            lambda trouble: self.orchestrator.post(Trouble(CONTROL, trouble)),
        )
        self._listener.start()

    def stop(self) -> None:
        self._listener.stop()
        self.orchestrator.stop()
        logging.getLogger("turnout").removeHandler(self.rig.tables.log_handler)

    def _note(self, event: Event) -> None:
        self.states += event.delta.upserts.get_column("state").to_list()

    @property
    def live(self) -> Pipeline:
        """The pipeline that is shown."""
        assert self.orchestrator.live is not None
        return self.orchestrator.live.pipeline

    def outcome(self, offset: int | None) -> str | None:
        rows = self.rig.rows("control_raw").filter(pl.col("offset") == offset)
        return rows["outcome"][0] if rows.height else None

    def status(self, *, state: str, mentioning: str = "") -> Mapping[str, object]:
        """The status, once it is this: whoever hears of an outcome does so a moment before."""
        found: dict[str, object] = {}

        def is_so() -> bool:
            found.update(self.rig.tables.status_row())
            return found["state"] == state and mentioning in str(found["message"])

        until(is_so, f"the state is {state!r} with a message about {mentioning!r}", RECOVERY_SECONDS)
        return found

    def control(self, **fields: str) -> str:
        """Send a control message and wait for its outcome."""
        sent = self.rig.sender.send_row(self.rig.config.control.topic, fields)
        until(lambda: self.outcome(sent.offset()), f"the outcome of {fields}", SWITCH_SECONDS)
        return str(self.outcome(sent.offset()))

    def undo(self) -> str:
        """Send what an undo publishes and wait for its outcome."""
        previous = self.orchestrator.previous
        assert previous is not None
        fields: dict[str, str] = json.loads(compose(previous, control_fields(self.rig.config)))
        return self.control(**fields)


def fill(rig: Rig, users: str, accounts: str, name: str) -> None:
    for number in range(FILLED):
        rig.sender.send_row(users, {"userId": f"u{number}", "name": name})
    rig.sender.send_row(accounts, {"userId": "u0", "balance": 1.0})


class Viewer:
    """Keeps a table by its events alone, and remembers what it saw of `column` after each."""

    def __init__(self, rig: Rig, name: str, column: str) -> None:
        self._column = column
        self.seen: list[set[str]] = []
        self.swaps: list[int] = []
        self._rows = rig.tables.registry.subscribe(name, self._note).rows

    def _note(self, event: Event) -> None:
        if isinstance(event, Changed):
            self._rows = apply(self._rows, [event.delta])
        else:
            self._rows = event.rows
            self.swaps.append(event.generation)
        self.seen.append(set(self._rows[self._column]))

    @property
    def rows(self) -> pl.DataFrame:
        return self._rows
