from pathlib import Path

from turnout.config import Start, load
from turnout.demo import clean, demo_config, topic_pairs
from turnout.schema import Topics

CONFIG = """
kafka: {bootstrap.servers: "kafka.example.com:9093", security.protocol: SSL, ssl.ca.location: /etc/ca.pem}
control: {kafka: {bootstrap.servers: "control.example.com:9092"}}
bus: {bootstrap.servers: "bus.example.com:9092"}
spark: {master: "spark://spark.example.com:7077"}
tables:
  orders:   {topic: shop.orders, columns: {orderId: long, quantity: long}}
  payments: {topic: shop.payments, columns: {orderId: long, amount: double}, start: latest}
join: {left: orders, right: payments, on: orderId, type: full}
serve: {host: 0.0.0.0}
"""


def test_a_demo_of_ones_own_tables_touches_none_of_ones_own_servers(tmp_path: Path) -> None:
    file = tmp_path / "turnout.yaml"
    file.write_text(CONFIG)
    theirs = load(file, env={})
    config = demo_config(theirs, "127.0.0.1:1234", tmp_path / "state", 9000)
    assert dict(config.kafka) == {"bootstrap.servers": "127.0.0.1:1234"}
    assert not config.bus
    assert not config.control.kafka
    assert config.spark.master == "local[*]"
    assert config.state_dir == tmp_path / "state"
    assert (config.serve.host, config.serve.port) == ("0.0.0.0", 9000)
    assert config.join == theirs.join
    assert config.join_schema().left.columns == theirs.join_schema().left.columns


def test_every_table_of_a_demo_is_full_at_once_and_changes_in_place() -> None:
    config = demo_config(load(None, env={}), "127.0.0.1:1234", Path("state"), 8400)
    assert {(table.start, table.keep) for table in config.tables.values()} == {(Start.EARLIEST, 1)}


def test_there_are_two_pairs_of_topics() -> None:
    assert topic_pairs(load(None, env={})) == (Topics("users", "accounts"), Topics("users_b", "accounts_b"))


def test_a_demo_begins_with_an_empty_directory(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "demo-8400"
    clean(state)
    (state / "kafka").mkdir()
    (state / "kafka" / "file").touch()
    clean(state)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["demo-8400"]
    assert [path.name for path in state.iterdir()] == []


def test_what_a_broker_that_is_just_ending_still_writes_does_not_get_into_the_new_directory(tmp_path: Path) -> None:
    state = tmp_path / "demo-8400"
    clean(state)
    with (state / "broker.log").open("w") as log:
        clean(state)
        log.write("the end")
    assert [path.name for path in state.iterdir()] == []
