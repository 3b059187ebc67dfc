"""Real Kafka, real Spark: what the tables hold is what the oracle says, whatever was sent."""

import json
import logging
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.live.rig import ORDERS_PAYMENTS, USERS_ACCOUNTS, Rig
from tests.oracle import Message, Oracle, Row, Table, Value
from tests.waiting import until
from turnout.bus.topics import BusTopics
from turnout.kafka.embedded import EmbeddedBroker
from turnout.pipeline.manifest_store import store_of
from turnout.pipeline.rehearsal import Rehearsal
from turnout.pipeline.running import RunningPipeline
from turnout.schema import JoinType, Match, Topics
from turnout.views.view import View

PARTITIONS = 2
NOW_MS = int(time.time() * 1000)

Live = tuple[Rig, RunningPipeline]
Step = tuple[str, str | None, int, int, dict[str, Value]]
Rows = st.SearchStrategy[dict[str, Value]]


@pytest.fixture(scope="module")
def users_accounts(
    broker: EmbeddedBroker, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    # Which partition of the changelog a key is in makes no difference either.
    config = USERS_ACCOUNTS + "changelog: {partitions: 3}\n"
    rig = Rig(broker, spark, tmp_path_factory.mktemp("state"), config, PARTITIONS)
    pipeline = rig.build()
    rig.show(pipeline, JoinType.LEFT)
    yield rig, pipeline
    pipeline.retire()


def oracle_of(rig: Rig) -> Oracle:
    schema = rig.config.join_schema()
    return Oracle(
        list(schema.left.columns), list(schema.right.columns), schema.key, schema.left.keep, schema.right.keep
    )


def send(rig: Rig, side: str, row: Row, partition: int, age_ms: int) -> Message:
    topic = rig.topics.left if side == "left" else rig.topics.right
    sent = rig.sender.send(topic, json.dumps(row).encode(), partition, NOW_MS - age_ms)
    offset = sent.offset()
    assert offset is not None
    return Message(side, NOW_MS - age_ms, partition, offset, row)


text = st.text(max_size=12) | st.sampled_from(['she said "hi"', "\\", "naïve ☃ 𝄞", '{"a": [1]}', ""])
left_rows: Rows = st.fixed_dictionaries(
    {}, optional={"name": text, "email": st.none() | text, "age": st.integers(-(2**63), 2**63 - 1), "extra": text}
)
right_rows: Rows = st.fixed_dictionaries(
    {}, optional={"accountType": text, "balance": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9)}
)
entries = st.tuples(
    st.sampled_from(["left", "right"]),
    st.sampled_from(["a", "b", None]),
    st.integers(0, PARTITIONS - 1),
    st.integers(0, 5),  # few timestamps: ties and late messages are common
)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    return [
        (*entry, draw(left_rows if entry[0] == "left" else right_rows))
        for entry in draw(st.lists(entries, min_size=1, max_size=10))
    ]


# All examples are sent to one running pipeline, each under keys of its own; the null key is shared by all of them.
null_key_history: list[Message] = []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps())
def test_every_join_of_any_history_equals_the_oracle(users_accounts: Live, history: list[Step]) -> None:
    rig, pipeline = users_accounts
    prefix = uuid.uuid4().hex
    messages: list[Message] = []
    for side, key, partition, age_ms, row in history:
        keyed = {**row, "userId": None if key is None else prefix + key}
        message = send(rig, side, keyed, partition, age_ms)
        (messages if key else null_key_history).append(message)
    known = [*messages, *null_key_history]
    names, schema = rig.tables.names, rig.config.join_schema()
    public = {"left": names.left, "right": names.right, "joined": names.joined}
    for match in Match:
        for join in JoinType:
            generation = rig.tables.registry.generation + 1
            view = View(rig.tables.registry, names, schema, join, match, generation)
            pipeline.changelog.watch(view, view.show)
            expected = oracle_of(rig).tables(known, join, match)
            for table, name in public.items():
                wait_for_rows(rig, name, prefix, expected[table], f"{join}, match {match}")


def wait_for_rows(rig: Rig, name: str, prefix: str, expected: Table, where: str) -> None:
    try:
        until(lambda: mine(rig.table(name), prefix) == expected, "")
    except AssertionError:
        assert mine(rig.table(name), prefix) == expected, f"{name} at {where}"


def mine(table: Table, prefix: str) -> Table:
    """The rows of this example: its keys, and the null key."""
    return Counter({row: count for row, count in table.items() if row[0] is None or str(row[0]).startswith(prefix)})


def test_a_left_row_shows_at_once_and_is_updated_in_place_when_its_match_arrives(users_accounts: Live) -> None:
    rig, pipeline = users_accounts
    rig.show(pipeline, JoinType.LEFT)
    key = uuid.uuid4().hex

    def shown() -> list[tuple[str, float | None]]:
        rows = rig.tables.registry.snapshot("final_ui").rows
        return [(row["_row"], row["balance"]) for row in rows.to_dicts() if row["userId"] == key]

    send(rig, "left", {"userId": key}, 0, 0)
    until(lambda: [balance for _, balance in shown()] == [None], "the left row shows alone")
    (row_id, _) = shown()[0]
    send(rig, "right", {"userId": key, "balance": 2.5}, 1, 0)
    until(lambda: shown() == [(row_id, 2.5)], "the same row has its match")


REJECTED: Mapping[bytes | None, str] = {
    b"rubbish": "not JSON",
    b'{"userId": "x"} and more': "not JSON",
    b'{"userId": "x", "age": NaN}': "not JSON",
    b"{'userId': 'x'}": "not JSON",
    b'{"userId": "x", "age": 5': "not JSON",
    b"[1, 2]": "not a JSON object",
    b"null": "not a JSON object",
    b'"x"': "not a JSON object",
    b"": "empty value",
    None: "empty value",
    b"\xff\xfe": "not UTF-8",
    b'{"userId": "x", "age": "abc"}': "field age: abc is not a long",
    b'{"userId": "x", "age": 1.5}': "field age: 1.5 is not a long",
    b'{"userId": "x", "age": true}': "field age: true is not a long",
    b'{"userId": "x", "age": 9223372036854775808}': "field age: 9223372036854775808 is not a long",
    b'{"userId": "x", "age": {"a": 1}}': 'field age: {"a":1} is not a long',
}


def test_what_cannot_be_used_goes_to_the_rejected_records_and_nowhere_else(users_accounts: Live) -> None:
    rig, _ = users_accounts
    before = {name: rig.table(name) for name in ("users_ui", "accounts_ui", "final_ui")}
    expected = set()
    for value, reason in REJECTED.items():
        sent = rig.sender.send(rig.topics.left, value, 1)
        expected.add((rig.topics.left, 1, sent.offset(), reason))
    sent = rig.sender.send(rig.topics.right, b'{"userId": "x", "balance": 1e999}', 0)
    expected.add((rig.topics.right, 0, sent.offset(), 'field balance: "Infinity" is not a double'))

    def rejected() -> set[tuple[object, ...]]:
        columns = rig.rows("rejected_ui").select("topic", "partition", "offset", "reason")
        return set(columns.rows())

    until(lambda: expected <= rejected(), f"rejected_ui lacks {expected - rejected()}")
    assert {name: rig.table(name) for name in before} == before


def test_values_arrive_exactly(users_accounts: Live) -> None:
    rig, pipeline = users_accounts
    rig.show(pipeline, JoinType.LEFT)
    key = uuid.uuid4().hex
    rows: list[dict[str, object]] = [
        {"userId": key, "name": 'nested "quotes" and \\', "email": "ünïcödé ☃ 𝄞\u0000\n", "age": 2**53 + 1},
        {"userId": key, "name": "x" * 1_000_000, "email": "", "age": -(2**63)},
        {"userId": key, "name": "extra fields are ignored", "email": None, "age": 2**63 - 1, "other": {"deep": [1]}},
    ]
    for row in rows:
        rig.sender.send_row(rig.topics.left, row)
    expected = {(row["name"], row["email"], row["age"]) for row in rows}
    until(lambda: {row[1:] for row in rig.table("users_ui") if row[0] == key} == expected, "the rows as sent")


def test_another_pair_of_tables_with_a_long_key_catches_up_and_goes_on_live(
    broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path
) -> None:
    rig = Rig(broker, spark, tmp_path, ORDERS_PAYMENTS, PARTITIONS)
    history = [
        send(rig, "right", {"orderId": 1, "item": "later", "amount": 2.0}, 0, 0),
        send(rig, "right", {"orderId": 1, "item": "earlier", "amount": 1.0}, 1, 10),
        send(rig, "right", {"orderId": 2**60, "item": None, "amount": 0.1}, 1, 0),
    ]
    pipeline = rig.build()  # payments start at the earliest: these are its backlog
    rig.show(pipeline, JoinType.FULL)
    oracle = oracle_of(rig)
    assert rig.table("payments_ui") == oracle.tables(history, "full", "all")["right"], "ready means caught up"
    history += [
        send(rig, "left", {"orderId": 1, "item": "chair", "paid": True}, 0, 0),
        send(rig, "left", {"orderId": 1, "item": "older chair", "paid": None}, 0, 5),
        send(rig, "left", {"orderId": 3, "item": "lamp"}, 1, 0),
    ]
    expected = oracle.tables(history, "full", "all")
    until(lambda: rig.table("final_ui") == expected["joined"], "the full join")
    assert rig.rows("final_ui").columns == ["orderId", "item", "paid", "payments_item", "amount"]
    pipeline.retire()


@pytest.fixture(params=["beside the manifest", "by a URL"])
def checkpoints(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Configuration that says where they are."""
    by_url = f"spark: {{checkpoints: 'file://{tmp_path}/elsewhere'}}\nchangelog: {{prefix: by-url-TAG-}}\n"
    return by_url if request.param == "by a URL" else ""


def test_a_retired_pipeline_leaves_nothing_behind(
    broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path, checkpoints: str
) -> None:
    rig = Rig(broker, spark, tmp_path, USERS_ACCOUNTS + checkpoints)
    pipeline = rig.build()
    elsewhere = tmp_path / "elsewhere"
    assert elsewhere.exists() == bool(checkpoints)
    made = {pipeline.manifest.changelog_topic, pipeline.manifest.rejected_topic}
    assert made <= set(rig.cluster.topics())
    pipeline.retire()
    until(lambda: not made & set(rig.cluster.topics()), "its topics are gone")
    until(lambda: pipeline.id not in store_of(rig.config, rig.bus).ids(), "its manifest is gone")
    until(lambda: not list((rig.config.state_dir / "pipelines").glob("*")), "its files are gone")
    until(lambda: not list(elsewhere.glob(f"*{pipeline.id}*")), "its checkpoint is gone")
    assert not [query.name for query in spark.streams.active if query.name.startswith(pipeline.id)]


def test_a_stopped_pipeline_goes_on_where_it_was(
    broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path, checkpoints: str
) -> None:
    rig = Rig(broker, spark, tmp_path, USERS_ACCOUNTS + checkpoints)
    first = rig.build()
    rig.show(first, JoinType.LEFT)
    first.promote(1, JoinType.LEFT)
    history = [send(rig, "left", {"userId": "u1", "name": "before"}, 0, 2)]
    until(lambda: rig.table("users_ui").total() == 1, "the first row")
    first.stop()
    history += [
        send(rig, "left", {"userId": "u1", "name": "meanwhile"}, 0, 1),
        send(rig, "right", {"userId": "u1", "balance": 7.0}, 0, 1),
    ]
    second = rig.build()
    assert second.id == first.id
    rig.show(second, JoinType.LEFT)
    expected = oracle_of(rig).tables(history, "left", "latest")
    until(lambda: rig.table("final_ui") == expected["joined"], "what came meanwhile, and nothing twice")
    second.retire()


def test_the_fallback_in_micro_batches_gives_the_same_rows(
    broker: EmbeddedBroker, spark: SparkSession, tmp_path: Path
) -> None:
    rig = Rig(broker, spark, tmp_path, USERS_ACCOUNTS + "spark: {trigger: microbatch}\n", PARTITIONS)
    pipeline = rig.build()
    rig.show(pipeline, JoinType.LEFT)
    history = [
        send(rig, "left", {"userId": "u1", "name": "before its match"}, 0, 2),
        send(rig, "right", {"userId": "u1", "balance": 1.5}, 1, 1),
        send(rig, "left", {"userId": "u2", "name": "without a match"}, 1, 0),
    ]
    expected = oracle_of(rig).tables(history, "left", "latest")
    until(lambda: rig.table("final_ui") == expected["joined"], "the left join", 60)
    rig.sender.send(rig.topics.left, b"rubbish")
    until(lambda: rig.table("rejected_ui").total() == 1, "the rejected record", 60)
    pipeline.retire()


def test_a_rehearsal_uses_real_messages_and_leaves_nothing(
    broker: EmbeddedBroker,
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    rig = Rig(broker, spark, tmp_path, USERS_ACCOUNTS + "changelog: {prefix: rehearsal-TAG-}\n")
    rehearsal = Rehearsal(rig.config, lambda: spark, rig.cluster, rig.bus)
    with caplog.at_level(logging.INFO, "turnout"):
        rehearsal.run(rig.topics, lambda: False)  # while there is nothing in them
        rig.sender.send_row(rig.topics.left, {"userId": "a", "name": "first"})
        rig.sender.send(rig.topics.right, b"rubbish")
        rehearsal.run(rig.topics, lambda: False)
        rehearsal.run(Topics("nowhere", rig.topics.right), lambda: False)
        rehearsal.run(rig.topics, lambda: True)  # given up before it began
    said = [record.getMessage() for record in caplog.records if record.name == Rehearsal.__module__]
    assert [text.partition(",")[0].partition(" on ")[0] for text in said] == [
        "Spark is warm",
        "Spark is warm",
        "Spark could not be warmed up: topic 'nowhere' does not exist",
    ]
    assert not list(scratch.iterdir()), "no checkpoint"
    ours = BusTopics(rig.config.changelog.prefix)
    until(lambda: not list(filter(ours.pipeline, rig.bus.topics())), "its topics are gone")
