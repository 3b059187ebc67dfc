"""Many switches: all at once, and one after the other for a long time."""

import gc
import itertools
import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from tests.live.rig import Rig
from tests.live.running import CONFIG, Running, Viewer, fill, first_generation
from tests.waiting import until
from turnout.kafka.embedded import EmbeddedBroker

STORM = 1_000
SWITCHES = 200
WARM_UP = 40
"""Until Spark, Python and Kafka's clients have all the threads and caches they ever want: what ended queries leave is
kept for half a minute."""

GIVEN_BACK_SECONDS = 120
"""Spark gives back what ended queries held in several steps, each after a collection of garbage."""

MIB = 1024 * 1024
MOST_GROWTH_MIB = {"Python": 30, "Spark's heap": 30}
"""Over 160 switches: a leak of a pipeline's least part, a consumer's buffers or a query's plan, is more."""


@pytest.fixture
def rig(broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> Rig:
    rig = Rig(broker, spark, tmp_path, CONFIG.replace("linger_seconds: 2", "linger_seconds: 0"))
    fill(rig, rig.topics.left, rig.topics.right, "pair 0")
    return rig


@pytest.fixture
def running(rig: Rig) -> Iterator[Running]:
    with first_generation(rig) as running:
        yield running


@pytest.fixture
def pairs(rig: Rig) -> list[dict[str, str]]:
    """Control messages that switch to each of three pairs of topics, all filled."""
    pairs = [{"usersTopic": rig.topics.left, "accountsTopic": rig.topics.right}]
    for number in (1, 2):
        tag = uuid.uuid4().hex[:8]
        pair = {"usersTopic": f"users-{number}-{tag}", "accountsTopic": f"accounts-{number}-{tag}"}
        rig.cluster.create_topics([*pair.values()])
        fill(rig, pair["usersTopic"], pair["accountsTopic"], f"pair {number}")
        pairs.append(pair)
    return pairs


def test_a_storm_of_control_messages(
    rig: Rig, running: Running, pairs: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    builds: list[threading.Thread] = []
    most_at_once = 0
    plan = rig.builder.planner.plan

    def counted(*arguments: object) -> object:
        nonlocal most_at_once
        builds.append(threading.current_thread())
        most_at_once = max(most_at_once, sum(build.is_alive() for build in set(builds)))
        return plan(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rig.builder.planner, "plan", counted)
    viewer = Viewer(rig, "final_ui", "name")
    rubbish = [b"", b"{", b"[]", b'{"joinType": "sideways"}', b'{"usersTopic": "no-such-topic"}', b"\xff"]
    valid = [json.dumps({**pair, "joinType": join}).encode() for pair in pairs for join in ("inner", "left", "right")]
    pairs_of_both = zip(itertools.cycle(rubbish), itertools.cycle(valid), strict=False)
    mixed = list(itertools.islice(itertools.chain.from_iterable(pairs_of_both), STORM - 1))
    last = json.dumps({**pairs[2], "joinType": "inner"}).encode()
    rig.sender.send_all(rig.config.control.topic, [*mixed, last])

    def outcomes() -> Counter[str]:
        said = rig.rows("control_raw")["outcome"]
        return Counter(str(outcome).split(":")[0] for outcome in said)

    until(lambda: outcomes().total() == STORM and not outcomes()["None"], "every message has its outcome", 180)
    newest = rig.rows("control_raw").sort("offset")["outcome"][-1]
    assert newest == "applied"
    assert outcomes().keys() <= {"applied", "no change", "superseded", "rejected"}
    assert outcomes()["rejected"] == sum(value in rubbish for value in mixed)
    assert rig.rows("final_ui").rows() == [("u0", "pair 2", 1.0)]
    status = running.status(state="live")
    assert (status["state"], status["usersTopic"], status["joinType"]) == ("live", pairs[2]["usersTopic"], "inner")
    assert most_at_once == 1, "one build at a time"
    assert len(builds) < 20, "most were superseded before anything was built"
    assert all(len(names) == 1 for names in viewer.seen), "one generation at a time, and never an empty table"


@dataclass(frozen=True)
class Held:
    """What a leak would make more and more of."""

    threads: Counter[str]
    files: int
    topics: int
    directories: int
    memory_mib: dict[str, float]

    def grown_since(self, early: "Held") -> dict[str, float]:
        """What has grown by more than it may, in MiB."""
        growth = {name: self.memory_mib[name] - early.memory_mib[name] for name in MOST_GROWTH_MIB}
        return {name: more for name, more in growth.items() if more > MOST_GROWTH_MIB[name]}

    @classmethod
    def by(cls, rig: Rig) -> "Held":
        gc.collect()
        jvm = rig.builder.session()._jvm
        jvm.java.lang.System.gc()  # type: ignore[union-attr]
        runtime = jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            Counter(re.sub("[0-9a-f]{8,}|[0-9]+", "…", thread.name) for thread in threading.enumerate()),
            len(list(Path("/proc/self/fd").iterdir())),
            sum(topic.startswith("turnout-") for topic in rig.bus.topics()),
            len(list((rig.config.state_dir / "pipelines").iterdir())),
            {"Python": pages * 4096 / MIB, "Spark's heap": (runtime.totalMemory() - runtime.freeMemory()) / MIB},
        )


@pytest.mark.timeout(2400)
def test_nothing_leaks_over_200_switches(rig: Rig, running: Running, pairs: list[dict[str, str]]) -> None:
    early = None
    for number in range(1, SWITCHES + 1):
        pair = pairs[number % len(pairs)]
        assert running.control(**pair) == "applied"
        assert set(rig.rows("final_ui")["name"]) == {f"pair {number % len(pairs)}"}
        if number == WARM_UP:
            early = settled(rig)
    assert early is not None
    late = settled(rig)
    deadline = time.monotonic() + GIVEN_BACK_SECONDS
    while (too_much := late.grown_since(early)) or late.threads != early.threads:
        if time.monotonic() > deadline:
            break
        late = settled(rig)
    assert not too_much, (too_much, early, late)
    assert late.threads == early.threads
    assert late.files <= early.files + 5  # a connection may be on its way in or out
    assert (late.topics, late.directories) == (early.topics, early.directories)


def settled(rig: Rig) -> Held:
    """Once the last pipeline that was left is gone."""
    until(lambda: len(list((rig.config.state_dir / "pipelines").iterdir())) == 1, "only the live one is left", 60)
    until(lambda: rig.rows("orchestrator_logs").filter(pl.col("msg").str.starts_with("Retired")).height, "and retired")
    return Held.by(rig)
