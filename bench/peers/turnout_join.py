"""Turnout itself, in a process like all the others, with a listener of its live table.

`python -m bench.peers.turnout_join BOOTSTRAP DIRECTORY KEEP KIND BUS [LEFT RIGHT NOTED]`; BUS is `shared` (the broker
that has the topics) or `own`, which is Turnout's default: an embedded one.

With topics it starts on them, as a user's configuration would name them. Without, it starts on two empty ones and is
then switched to others.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from bench.messages import LEFT_STAMP, LEFT_TABLE, RIGHT_STAMP, RIGHT_TABLE
from bench.peers.peer import CHECK_MODULUS, TIMES, Check, Join, serve
from bench.recorder import Recorder
from bench.rig import LIVE_SECONDS, POLL_SECONDS, config, served, wait_until_live
from bench.seen import Sightings
from turnout import __version__
from turnout.control.message import compose
from turnout.errors import TurnoutError
from turnout.kafka.client import Cluster
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics
from turnout.service import Service

READY_SECONDS = 600
"""A backlog of millions, on a machine that is busy."""

MAX_ROWS = 2_000_000
"""Of the join: the pairs of hot keys are more than the million that is the default."""


class Turnout:
    def __init__(self, service: Service, idle: Topics, join_type: JoinType, settings: str) -> None:
        self._service, self._idle, self._join_type, self._settings = service, idle, join_type, settings
        self.port = 0
        self._registry, self._joined = service.tables.registry, service.tables.names.joined
        recorder = Recorder()
        self.sightings: Sightings = recorder
        self._registry.subscribe(self._joined, recorder.note_event)

    def about(self) -> Mapping[str, object]:
        return {"version": __version__, "settings": self._settings, "port": self.port, "table": self._joined}

    def begin(self, left: str, right: str) -> None:
        self._switch(Topics(left, right))

    def check(self) -> Check:
        left, right = pl.col(LEFT_STAMP), pl.col(RIGHT_STAMP).cast(pl.Int64).fill_null(0)
        rows = self._registry.snapshot(self._joined).rows
        checksum = rows.select(left + left * right % CHECK_MODULUS).to_series().sum()
        return Check(rows=rows.height, checksum=int(checksum))

    def end(self) -> None:
        self._switch(self._idle)
        deadline = time.monotonic() + LIVE_SECONDS
        while self._registry.snapshot(self._joined).rows.height:
            if time.monotonic() > deadline:
                raise TurnoutError(f"the empty topics are not shown within {LIVE_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _switch(self, topics: Topics) -> None:
        self._service.publish_control(compose(Desired(topics, self._join_type), self._service.tables.fields))


def main(bootstrap: str, directory: str, keep: str, kind: str, bus: str, *at_once: str) -> None:
    # A control topic is read from its beginning: each has one of its own.
    name = Path(directory).name
    idle = (f"{name}-left", f"{name}-right")
    control = f"{name}-control"
    Cluster({"bootstrap.servers": bootstrap}).create_topics([*idle, control])
    left, right = at_once[:2] or idle
    join = Join.told(keep, kind)
    assert join.keep is not None, "Turnout bounds the rows of a key"
    more: dict[str, object] = {
        f"tables.{LEFT_TABLE}.topic": left,
        f"tables.{RIGHT_TABLE}.topic": right,
        f"tables.{LEFT_TABLE}.start": "earliest",
        f"tables.{RIGHT_TABLE}.start": "earliest",
        "join.type": kind,
        "join.max_rows": MAX_ROWS,
        "control.topic": control,
        "switch.ready_timeout_seconds": READY_SECONDS,
        "switch.linger_seconds": 0,
    }
    if bus == "shared":
        more["bus.bootstrap.servers"] = bootstrap
    service = Service(config(Path(directory), bootstrap, join.keep, more))
    turnout = Turnout(service, Topics(*idle), JoinType(kind), f"bus: {bus}")
    turnout.sightings.with_rows = TIMES not in at_once
    with served(service) as turnout.port:
        if not at_once:
            wait_until_live(service)
        serve(turnout)


if __name__ == "__main__":
    main(*sys.argv[1:])
