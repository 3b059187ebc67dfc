"""The config: what a person writes, what Turnout makes of it, and what it says about a mistake."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from turnout.config import SHAPE, Config, PublicNames, load, to_yaml
from turnout.config_layers import VALUE, Shape
from turnout.errors import ConfigError
from turnout.schema import ColumnType, JoinType, Match, parse_join_type, topic_name_problem
from turnout.secret import Secret

DOCUMENT = Path(__file__).parents[1] / "docs" / "configuration.md"
PACKAGED = Path(__file__).parents[1] / "turnout" / "turnout.yaml"
ORDERS = """\
kafka: {bootstrap.servers: "kafka.example.com:9092"}
tables:
  orders:   {topic: orders,   columns: {orderId: long, item: string, price: double}, start: earliest}
  payments: {topic: payments, columns: {orderId: long, paid: boolean, item: string}, keep: 1, max_rows: 5000}
join: {left: orders, right: payments, on: orderId, type: inner, match: all, max_rows: 20000}
"""


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, env: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None) -> Config:
    Path("turnout.yaml").write_text(textwrap.dedent(text), encoding="utf-8")
    return load(Path("turnout.yaml"), env=env or {}, overrides=overrides or {})


def mistakes(
    text: str, env: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        read(text, env, overrides)
    return str(raised.value).splitlines()


# What is read


def test_without_a_file_it_is_the_packaged_default() -> None:
    config = load(None, env={})
    assert dict(config.kafka) == {"bootstrap.servers": "localhost:9092"}
    assert config.join_schema().joined_columns == {
        "userId": "string",
        "name": "string",
        "email": "string",
        "age": "long",
        "accountType": "string",
        "balance": "double",
    }
    assert config.public_names == PublicNames(
        left="users_ui",
        right="accounts_ui",
        joined="final_ui",
        control="control_raw",
        status="orchestrator_status",
        logs="orchestrator_logs",
        rejected="rejected_ui",
    )
    assert (config.serve.host, config.serve.port, config.state_dir) == ("127.0.0.1", 8400, Path(".turnout"))


def test_the_models_defaults_are_those_of_the_packaged_file() -> None:
    packaged = load(None, env={})
    bare = Config.model_validate({"kafka": packaged.kafka, "tables": packaged.tables, "join": packaged.join})
    assert bare == packaged


def test_a_turnout_yaml_in_the_working_directory_is_found() -> None:
    Path("turnout.yaml").write_text("serve: {port: 9000}")
    assert load(None, env={}).serve.port == 9000


def test_a_part_of_a_file_leaves_the_defaults_of_the_rest() -> None:
    config = read("serve: {port: 9000}\njoin: {type: inner}\n")
    assert (config.serve.host, config.serve.port) == ("127.0.0.1", 9000)
    assert (config.join.left, config.join.type) == ("users", JoinType.INNER)


def test_an_empty_file_is_the_default() -> None:
    assert read("") == load(None, env={}) == read("# nothing yet\n")


def test_another_pair_of_tables_replaces_the_default_one() -> None:
    config = read(ORDERS)
    assert list(config.tables) == ["orders", "payments"]
    schema = config.join_schema()
    assert (schema.key, schema.key_type) == ("orderId", ColumnType.LONG)
    assert list(schema.joined_columns) == ["orderId", "item", "price", "paid", "payments_item"]
    assert (schema.left.keep, schema.right.keep) == (100, 1)
    assert (schema.left.max_rows, schema.right.max_rows, schema.max_rows) == (1_000_000, 5_000, 20_000)
    assert (config.join.type, config.join.match) == (JoinType.INNER, Match.ALL)
    assert (config.public_names.left, config.public_names.right) == ("orders_ui", "payments_ui")
    assert config.tables["orders"].start == "earliest"


def test_the_order_of_the_sections_does_not_matter() -> None:
    head, join = ORDERS.split("join:")
    assert read(f"join:{join}{head}") == read(ORDERS)


def test_own_properties_of_kafka_replace_the_default_ones() -> None:
    text = "kafka: {bootstrap_servers: [a:1, b:2], enable_auto_commit: True, client.id: 017}"
    assert dict(read(text).kafka) == {
        "bootstrap.servers": "a:1,b:2",
        "enable.auto.commit": "true",
        "client.id": "017",
    }


def test_a_bus_may_be_named_or_left_empty() -> None:
    assert dict(read("bus: {bootstrap_servers: bus.example.com:9092}").bus) == {
        "bootstrap.servers": "bus.example.com:9092"
    }
    assert not read("bus:\n").bus


def test_words_that_yaml_takes_for_something_else_are_words() -> None:
    config = read(
        """
        tables:
          yes: {topic: 123, columns: {on: string, no: long, null: boolean}}
          off: {topic: null_topic, columns: {on: string}}
        join: {left: yes, right: off, on: on}
        """
    )
    assert list(config.tables) == ["yes", "off"]
    assert list(config.tables["yes"].columns) == ["on", "no", "null"]
    assert (config.tables["yes"].topic, config.join.on) == ("123", "on")


@pytest.mark.parametrize("text", ["left", " LEFT ", "natural", "Left_Outer"])
def test_a_join_type_has_other_spellings(text: str) -> None:
    assert parse_join_type(text) is JoinType.LEFT
    assert read(f"join: {{type: '{text}'}}").join.type is JoinType.LEFT


def test_the_state_directory_may_be_below_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert read("state_dir: ~/turnout").state_dir == Path("/home/ann/turnout")


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load(None, env={}).serve.port = 1


# The environment and the command line


def test_the_environment_wins_over_the_file_and_the_command_line_over_both() -> None:
    env = {"TURNOUT_SERVE__PORT": "9001", "TURNOUT_SERVE__HOST": "0.0.0.0", "TURNOUT_STATE_DIR": "/var/lib/turnout"}
    config = read("serve: {port: 9000}", env, {"serve.port": 9002, "state_dir": None})
    assert (config.serve.host, config.serve.port, config.state_dir) == ("0.0.0.0", 9002, Path("/var/lib/turnout"))


def test_tables_and_columns_are_matched_in_any_case() -> None:
    env = {"TURNOUT_TABLES__ORDERS__TOPIC": "orders_b", "TURNOUT_TABLES__ORDERS__COLUMNS__ORDERID": "string"}
    text = ORDERS.replace("columns: {orderId: long, paid", "columns: {orderId: string, paid")
    config = read(text, env)
    assert config.tables["orders"].topic == "orders_b"
    assert config.tables["orders"].columns["orderId"] is ColumnType.STRING


@pytest.mark.parametrize("name", ["BOOTSTRAP__SERVERS", "BOOTSTRAP_SERVERS", "bootstrap__servers"])
def test_a_property_is_named_with_underscores_for_dots(name: str) -> None:
    assert dict(read("", {f"TURNOUT_KAFKA__{name}": "a:1"}).kafka) == {"bootstrap.servers": "a:1"}
    assert dict(read("", {f"TURNOUT_BUS__{name}": "a:1"}).bus) == {"bootstrap.servers": "a:1"}


def test_a_property_of_spark_keeps_its_capitals() -> None:
    env = {"TURNOUT_SPARK__CONF__SPARK__CORES__MAX": "2", "TURNOUT_SPARK__CONF__spark__executorEnv__MY_VAR": "1"}
    text = "spark: {conf: {spark.driver.bindAddress: localhost}}"
    config = read(text, {**env, "TURNOUT_SPARK__CONF__SPARK__DRIVER__BINDADDRESS": "127.0.0.1"})
    assert dict(config.spark.conf) == {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.cores.max": "2",
        "spark.executorEnv.MY_VAR": "1",
    }


def test_a_whole_section_can_come_from_the_environment() -> None:
    sections: dict[str, Any] = yaml.load(ORDERS, Loader=yaml.BaseLoader)
    env = {f"TURNOUT_{name.upper()}": yaml.safe_dump(section) for name, section in sections.items()}
    assert read("", env) == read(ORDERS)
    assert read("", {**env, "TURNOUT_TABLES__ORDERS__TOPIC": "orders_b"}).tables["orders"].topic == "orders_b"


def test_variables_of_others_are_left_alone() -> None:
    env = {
        "TURNOUT_CACHE": "/tmp",
        "TURNOUT_CONFIG": "x.yaml",
        "TURNOUT_CRASH_AT": "ready",
        "TURNOUT_SERVICE_HOST": "10.0.0.1",
        "TURNOUT_SERVICE_PORT_HTTP": "8400",
        "TURNOUT_PORT": "tcp://10.0.0.1:8400",
        "TURNOUT_PORT_8400_TCP_ADDR": "10.0.0.1",
        "TURNOUT_SERVE__PORT": "",
        "PATH": "/bin",
    }
    assert read("", env) == load(None, env={})


def test_overrides_take_dotted_paths_through_properties_too() -> None:
    config = read(
        "", overrides={"kafka.bootstrap.servers": "a:1", "tables.users.topic": "users_b", "join.match": Match.ALL}
    )
    assert dict(config.kafka) == {"bootstrap.servers": "a:1"}
    assert (config.tables["users"].topic, config.join.match) == ("users_b", Match.ALL)


# ${NAME}


def test_variables_in_the_file_are_filled_in() -> None:
    text = """
        kafka: {bootstrap.servers: "${HOST}:${PORT}", client.id: "${ID}", client.rack: "$${ID}", debug: "$${a}${PORT}$"}
        serve: {port: "${PORT}"}
    """
    config = read(text, {"HOST": "kafka.example.com", "PORT": "9092", "ID": 'a: "${b}" #'})
    assert dict(config.kafka) == {
        "bootstrap.servers": "kafka.example.com:9092",
        "client.id": 'a: "${b}" #',
        "client.rack": "${ID}",
        "debug": "${a}9092$",
    }
    assert config.serve.port == 9092


def test_a_variable_of_turnout_is_taken_as_it_is() -> None:
    assert read("", {"TURNOUT_KAFKA__CLIENT__ID": "${no}"}).kafka["client.id"] == "${no}"


def test_a_variable_that_is_not_set_is_named_with_its_place() -> None:
    text = """\
        kafka:
          bootstrap.servers: localhost:9092
          sasl.password: ${PW}
        serve:
          port: ${PORT}
    """
    assert mistakes(text) == [
        "turnout.yaml:3: kafka.sasl.password: the environment variable PW is not set ('$${' is a plain '${')",
        "turnout.yaml:5: serve.port: the environment variable PORT is not set ('$${' is a plain '${')",
    ]


@pytest.mark.parametrize("value", ["a${hush!}", "${hush", "${}", "${hush:-x}"])
def test_a_broken_variable_is_not_quoted_for_it_may_be_a_password(value: str) -> None:
    [line] = mistakes(f"kafka: {{bootstrap.servers: 'a:1', sasl.password: '{value}'}}")
    assert line.startswith("turnout.yaml:1: kafka.sasl.password: '${' must be followed by")
    assert "hush" not in line


# Files


@pytest.fixture
def secret() -> str:
    """The path of a file with a secret in it."""
    Path("password").write_text("hush\n")
    return str(Path("password").absolute())


PLAIN_LOGIN = "bootstrap.servers: 'a:1', security.protocol: SASL_SSL, sasl.mechanism: PLAIN"


@pytest.mark.parametrize("written", ["file:{}", "${{file:{}}}"])
def test_a_secret_may_be_in_a_file_which_is_read_whenever_it_is_asked_for(secret: str, written: str) -> None:
    reference = written.format(secret)
    config = read(f"kafka: {{{PLAIN_LOGIN}, sasl.username: ann, sasl.password: '{reference}'}}")
    assert config.kafka["sasl.password"] == "hush"
    Path(secret).write_text("changed")
    assert config.kafka["sasl.password"] == "changed"
    assert config.kafka.files == {secret}
    assert config.masked()["kafka"]["sasl.password"] == reference


def test_a_file_may_be_a_part_of_a_value_and_the_rest_of_a_secret_does_not_show(secret: str) -> None:
    jaas = f'PlainLoginModule required username="ann" password="x${{file:{secret}}}y";'
    config = read(f"kafka: {{{PLAIN_LOGIN}, sasl.jaas.config: '{jaas}', client.id: 'on-${{file:{secret}}}'}}")
    assert config.kafka["sasl.jaas.config"] == 'PlainLoginModule required username="ann" password="xhushy";'
    assert config.kafka["client.id"] == "on-hush"
    masked = config.masked()["kafka"]
    assert (masked["sasl.jaas.config"], masked["client.id"]) == (
        f"***${{file:{secret}}}***",
        f"on-${{file:{secret}}}",
    )


def test_what_looks_like_a_file_is_one_only_where_it_can_be(secret: str) -> None:
    text = f"""
        kafka: {{bootstrap.servers: "a:1", client.id: "$${{file:{secret}}}", client.rack: "${{RACK}}"}}
        bus: {{bootstrap.servers: "b:1", security.protocol: SSL, ssl.ca.location: "file:{secret}"}}
        state_dir: "$${{file:x}}"
    """
    config = read(text, {"RACK": "${file:/none}"})
    assert (config.kafka["client.id"], config.kafka["client.rack"]) == (f"${{file:{secret}}}", "${file:/none}")
    assert config.bus["ssl.ca.location"] == f"file:{secret}"
    assert config.state_dir == Path("${file:x}")
    Path("turnout.yaml").write_text(to_yaml(config.masked()))
    assert load(None, env={}) == config


def test_a_variable_of_turnout_may_name_a_file(secret: str) -> None:
    config = read(
        f"kafka: {{{PLAIN_LOGIN}, sasl.username: ann}}", {"TURNOUT_KAFKA__SASL__PASSWORD": f"${{file:{secret}}}"}
    )
    assert config.kafka["sasl.password"] == "hush"


def test_a_file_that_cannot_be_read_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"hush\xff")
    text = f"""\
        kafka:
          bootstrap.servers: a:1
          sasl.password: file:/none/password
          sasl.username: ${{file:{tmp_path}/empty}}
        bus:
          bootstrap.servers: a:1
          ssl.key.pem: file:{tmp_path}/binary
        spark:
          conf:
            spark.x.token: ${{file:{tmp_path}}}
        serve:
          host: ${{file:/none}}
    """
    assert mistakes(text) == [
        "turnout.yaml:3: kafka.sasl.password: the file /none/password cannot be read: No such file or directory",
        f"turnout.yaml:4: kafka.sasl.username: the file {tmp_path}/empty is empty",
        f"turnout.yaml:7: bus.ssl.key.pem: the file {tmp_path}/binary is not a text in UTF-8",
        f"turnout.yaml:10: spark.conf.spark.x.token: the file {tmp_path} cannot be read: Is a directory",
        "turnout.yaml:12: serve.host: '${file:' needs a path and '}', and stands only in properties, as in kafka",
    ]


# Mistakes


def test_mistakes_in_logins_are_reported_each_with_its_line() -> None:
    text = """\
        kafka:
          bootstrap.servers: a:1
          security.protocol: SASL_SSL
          sasl.mechanism: PLAIN
          sasl.username: ann
          sasl.jaas.config: PlainLoginModule required username=bob password=hush;
          ssl.keystore.password: hush
          fetch.max.byte: 1
        bus:
          bootstrap.servers: b:1
          security.protocol: SSSL
        control:
          kafka:
            security.protocol: SASL_PLAINTEXT
            sasl.pasword: hush
        serve:
          port: x
    """
    found = mistakes(text)
    assert [line.rpartition(": ")[0].split(": ")[:2] for line in found] == [
        ["turnout.yaml:6", "kafka.sasl.jaas.config"],
        ["turnout.yaml:7", "kafka.ssl.keystore.password"],
        ["turnout.yaml:8", "kafka.fetch.max.byte"],
        ["turnout.yaml:11", "bus.security.protocol"],
        ["turnout.yaml:13", "control.kafka.bootstrap.servers"],
        ["turnout.yaml:15", "control.kafka.sasl.pasword"],
        ["turnout.yaml:17", "serve.port"],
    ]
    assert "say two different users" in found[0]
    assert "did you mean fetch.max.bytes?" in found[2]
    assert "did you mean sasl.password?" in found[5]
    assert "hush" not in "".join(found)


def test_the_control_topic_may_be_on_a_kafka_of_its_own() -> None:
    config = read("control: {topic: users, kafka: {bootstrap.servers: 'control.example.com:9092'}}")
    assert dict(config.control.kafka) == {"bootstrap.servers": "control.example.com:9092"}
    assert not read("control: {topic: x}").control.kafka


def test_all_mistakes_are_reported_each_with_its_line() -> None:
    text = """\
        tables:
          users:
            topic: my topic
            columns: {userId: string, age: lng}
            kep: 5
          accounts: {topic: accounts, columns: {userId: long}, keep: 0}
        join: {left: users, right: acounts, on: userId, type: outer}
        serve: {port: eighty}
        swich: {}
    """
    join_types = "allowed: left, inner, right, full, semi, anti (natural and left_outer mean left)"
    assert mistakes(text, {"TURNOUT_SWITCH__LINGER_SECONDS": "soon"}, {"spark.trigger": "fast"}) == [
        f"turnout.yaml:3: tables.users.topic: {topic_name_problem('my topic')}",
        "turnout.yaml:4: tables.users.columns.age: 'lng' is not a type; allowed: string, long, double, boolean",
        "turnout.yaml:5: tables.users.kep: unknown key; did you mean 'keep'?",
        "turnout.yaml:6: tables.accounts.keep: '0' is too small; at least 1",
        f"turnout.yaml:7: join.type: 'outer' is not a join type; {join_types}",
        "turnout.yaml:8: serve.port: 'eighty' is not a whole number",
        "turnout.yaml:9: swich: unknown key; did you mean 'switch'?",
        "command line: spark.trigger: 'fast' is not a trigger; allowed: realtime, microbatch",
        "environment TURNOUT_SWITCH__LINGER_SECONDS: switch.linger_seconds: 'soon' is not a number",
    ]


def test_checkpoints_are_at_a_url() -> None:
    [mistake] = mistakes("spark: {checkpoints: /mnt/shared}")
    assert mistake.startswith("turnout.yaml:1: spark.checkpoints: must be a URL, such as s3a://bucket/turnout")
    assert read("spark: {checkpoints: 's3a://bucket/turnout'}").spark.checkpoints == "s3a://bucket/turnout"


def test_sections_are_compared_even_if_another_has_a_mistake() -> None:
    assert mistakes("join: {left: nobody}\nserve: {port: x}\ncontrol: {topic: users}") == [
        "turnout.yaml:1: join.left: there is no table 'nobody'; tables: users, accounts",
        "turnout.yaml:2: serve.port: 'x' is not a whole number",
        "turnout.yaml:3: control.topic: 'users' is the topic of tables.users already; each needs its own",
    ]


TABLES = "tables:\n  a: {topic: a, columns: {k: string, v: long}}\n  b: {topic: b, columns: {k: string, w: double}}\n"
JOIN = "join: {left: a, right: b, on: k}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TABLES, "turnout.yaml:1: join.left: missing; a config with its own tables must say join.left, join.right"),
        (TABLES + "join: {left: a, on: k}", "turnout.yaml:4: join.right: missing; a config with its own tables"),
        (TABLES + JOIN.replace("right: b", "right: a"), "turnout.yaml:4: join.right: 'a' is join.left already"),
        (
            TABLES + JOIN.replace("on: k", "on: v"),
            "turnout.yaml:4: join.on: 'v' is not a column of b; its columns: k, w",
        ),
        (
            (TABLES + JOIN).replace("k: string, w", "k: long, w"),
            "turnout.yaml:4: join.on: 'k' is string in a and long in b",
        ),
        ((TABLES + JOIN).replace("k: string", "k: double"), "turnout.yaml:4: join.on: 'k' is a double, and doubles"),
        (
            (TABLES + JOIN).replace("topic: b", "topic: a"),
            "turnout.yaml:3: tables.b.topic: 'a' is the topic of tables.a",
        ),
        (TABLES + JOIN + "control: {topic: b}", "turnout.yaml:5: control.topic: 'b' is the topic of tables.b already"),
        (TABLES + "  c: {topic: c, columns: {k: string}}\n" + JOIN, "turnout.yaml:4: tables.c: not part of the join"),
        (
            (TABLES + JOIN).replace(" b: {", " A: {").replace("right: b", "right: A"),
            "turnout.yaml:3: tables.A: differs",
        ),
        (
            (TABLES + JOIN).replace(" a: {", " final: {").replace("left: a", "left: final"),
            "turnout.yaml:2: tables.final: ",
        ),
        (
            (TABLES + JOIN).replace(" a: {", " 1a: {").replace("left: a", "left: 1a"),
            "turnout.yaml:2: tables.1a: a table's",
        ),
        (
            (TABLES + JOIN).replace("v: long", "_v: long"),
            "turnout.yaml:2: tables.a.columns._v: a column's name must not",
        ),
        (
            (TABLES + JOIN).replace("v: long", "' ': long"),
            "turnout.yaml:2: tables.a.columns. : a column's name must not",
        ),
        ((TABLES + JOIN).replace("v: long", "v:"), "turnout.yaml:2: tables.a.columns.v: '' is not a type; allowed"),
        (
            (TABLES + JOIN).replace("v: long", "w: long, b_w: long"),
            "turnout.yaml:3: tables.b.columns.w: would be shown as 'b_w' in the join, which another column has already",
        ),
        (
            (TABLES + JOIN).replace("v: long", "w: long").replace("w: double", "w: double, b_w: long"),
            "turnout.yaml:3: tables.b.columns.b_w: is a name in the join, which another column has already",
        ),
        ("tables:\n", "turnout.yaml:1: join.left: missing"),
        (
            "tables: {}\njoin: {left: a, right: b, on: k}",
            "turnout.yaml:2: join.left: there is no table 'a'; tables: none",
        ),
        ("kafka:\n", "turnout.yaml:1: kafka.bootstrap.servers: missing"),
        ("bus: {client.id: x}", "turnout.yaml:1: bus.bootstrap.servers: missing"),
        ("kafka: localhost:9092", "turnout.yaml:1: kafka: expected a mapping, `key: value`"),
        ("kafka: {bootstrap.servers: {a: b}}", "turnout.yaml:1: kafka.bootstrap.servers: expected a plain value"),
        ("serve: [1]", "turnout.yaml:1: serve: expected a mapping, `key: value`"),
        ("state_dir:", "turnout.yaml:1: state_dir: must not be empty"),
        ("state_dir: ~nobody-here/x", "turnout.yaml:1: state_dir: '~nobody-here/x' begins with a home directory"),
        ("kafka:\nserve: {port: x}", "turnout.yaml:1: kafka.bootstrap.servers: missing"),
        ("serve: {host: }", "turnout.yaml:1: serve.host: must not be empty"),
        ("serve: {port: 65536}", "turnout.yaml:1: serve.port: '65536' is too large; at most 65535"),
        ("serve: {port: 1.5}", "turnout.yaml:1: serve.port: '1.5' is not a whole number"),
        ("switch: {linger_seconds: .inf}", "turnout.yaml:1: switch.linger_seconds: '.inf' is not a number"),
        ("switch: {linger_seconds: inf}", "turnout.yaml:1: switch.linger_seconds: 'inf' is not a number"),
        (
            "switch: {ready_timeout_seconds: 0}",
            "turnout.yaml:1: switch.ready_timeout_seconds: '0' is too small; more than 0",
        ),
        ("\nserve:\n  port: 1\n  port: 2", "turnout.yaml:4: serve.port: given twice, first in line 3"),
        ("kafka: {bootstrap.servers: a, bootstrap_servers: b}", "turnout.yaml:1: kafka.bootstrap.servers: given twice"),
        ("serve:\n  port: [1", "turnout.yaml:2: not valid YAML"),
        ("a: 1\n\tb: 2", "turnout.yaml:2: not valid YAML"),
        ("ok: 1\nx: \x00", "turnout.yaml:2: a character that YAML does not allow"),
        ("- a\n- b", "turnout.yaml:1: expected a mapping, `key: value`"),
        ("&a serve: &b {port: *b}", "turnout.yaml:1: serve.port: refers to the section that it is in"),
        ("serve: {[a]: b}", "turnout.yaml:1: serve: a key must be a plain text"),
        ("serve: {host: !x y}", "turnout.yaml:1: serve.host: a value that begins with '!' must be put in quotes"),
        ("a: 1\n---\nb: 2", "turnout.yaml:2: not valid YAML"),
        ("x: " + "[" * 5000, "turnout.yaml: sections are nested too deep"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_what_is_allowed(text: str, line: str) -> None:
    reported = mistakes(text)
    assert any(found.startswith(line) for found in reported), reported


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"TURNOUT_SERV__PORT": "1"}, "environment TURNOUT_SERV__PORT: unknown key; did you mean 'serve'?"),
        ({"TURNOUT_SERVE__PROT": "1"}, "environment TURNOUT_SERVE__PROT: unknown key in serve; did you mean 'port'?"),
        ({"TURNOUT_PORT": "1"}, "environment TURNOUT_PORT: unknown key; "),
        ({"TURNOUT_STATE_DIR__X": "1"}, "environment TURNOUT_STATE_DIR__X: state_dir is a single value"),
        (
            {"TURNOUT_TABLES__ORDERS__TOPIC": "x"},
            "environment TURNOUT_TABLES__ORDERS__TOPIC: unknown key in tables; known here: users, accounts",
        ),
        ({"TURNOUT_SERVE": "9000"}, "environment TURNOUT_SERVE: serve: expected a mapping, `key: value`"),
        ({"TURNOUT_SERVE": "{port: "}, "environment TURNOUT_SERVE: not valid YAML"),
        ({"TURNOUT_SERVE": "{port: x}"}, "environment TURNOUT_SERVE: serve.port: 'x' is not a whole number"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(env: dict[str, str], line: str) -> None:
    [reported] = mistakes("", env)
    assert reported.startswith(line)


def test_a_mistake_on_the_command_line_names_the_path() -> None:
    assert mistakes("", overrides={"serve.port": -1}) == ["command line: serve.port: '-1' is too small; at least 0"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: the configuration cannot be read: No such file or directory"):
        load(tmp_path / "none.yaml", env={})
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, env={})
    (tmp_path / "latin.yaml").write_bytes(b"serve: {host: \xe9}")
    with pytest.raises(ConfigError, match=r"latin\.yaml: not a text in UTF-8"):
        load(tmp_path / "latin.yaml", env={})


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "x" * 250])
def test_a_name_that_kafka_would_not_take_is_no_topic(name: str) -> None:
    assert topic_name_problem(name)


@pytest.mark.parametrize("name", ["a", "A.b_c-1", "...", "x" * 249])
def test_a_name_that_kafka_takes_is_a_topic(name: str) -> None:
    assert topic_name_problem(name) is None


# Secrets

SECRETS = """\
kafka:
  bootstrap.servers: "a:1"
  security.protocol: SASL_SSL
  sasl.mechanism: PLAIN
  sasl.username: ann
  sasl.password: hush
  sasl.jaas.config: 'PlainLoginModule required username=ann password="hush";'
bus: {bootstrap.servers: "b:1", security.protocol: SSL, ssl.key.pem: hush, ssl.certificate.pem: ann}
control: {kafka: {bootstrap.servers: "c:1", security.protocol: SSL, ssl.keystore.location: x, ssl.key.password: hush}}
spark: {conf: {spark.ssl.keyPassword: hush, spark.driver.extraJavaOptions: -Dpassword=hush}}
"""


def test_secrets_are_read_but_never_shown() -> None:
    config = read(SECRETS)
    assert config.kafka["sasl.password"] == config.bus["ssl.key.pem"] == "hush"
    masked = config.masked()
    assert masked["kafka"] == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "***",
        "sasl.jaas.config": "***",
    }
    shown = [
        repr(config),
        str(config),
        str(masked),
        to_yaml(masked),
        config.model_dump_json(),
        str(config.model_dump()),
    ]
    assert not [text for text in shown if "hush" in text]


@pytest.mark.parametrize(
    "text",
    [
        SECRETS + "serve: {port: x}",
        "kafka: hush",
        "kafka: [hush]",
        "kafka: {sasl.password: {hush: hush}}",
        "kafka: {bootstrap.servers: a, sasl.password: *hush}",
        "kafka: {bootstrap.servers: a, sasl.password: !hush x}",
        "kafka: {bootstrap.servers: a, sasl.password: !hush!x y}",
        'kafka: {bootstrap.servers: a, sasl.password: "hush\\qhush"}',
        "kafka:\n  sasl.password: 'hush\n",
        "kafka:\n  sasl.password: %hush\n  x: @hush\n",
    ],
)
def test_no_mistake_quotes_a_secret(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert not [line for line in str(raised.value).splitlines() if "hush" in line.replace("sasl.password.hush", "")]


def test_a_config_made_in_code_shows_no_secret_in_its_errors() -> None:
    with pytest.raises(ValidationError) as raised:
        Config.model_validate({"kafka": {"sasl.password": ["hush", 1]}, "tables": "hush"})
    assert "hush" not in str(raised.value)


# Round trips and random mistakes


@given(
    values=st.dictionaries(
        st.sampled_from(["client.id", "client.rack", "debug"]), st.text(st.characters(codec="utf-8"))
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(values={"client.id": "$${a}${b}$$${c"})
def test_what_turnout_config_prints_is_the_same_config(values: dict[str, str]) -> None:
    original = Config.model_validate(
        {**yaml.load(ORDERS, Loader=yaml.BaseLoader), "bus": {"bootstrap.servers": "b", **values}}
    )
    printed = Path("printed.yaml")
    printed.write_bytes(to_yaml(original.masked()).encode())
    masked = original.bus.masked()
    assert load(printed, env={}).model_copy(update={"bus": original.bus}) == original
    assert dict(load(printed, env={}).bus) == masked


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def paths(tree: object, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, dict):
        for name, below in tree.items():
            yield (*at, name)
            yield from paths(below, (*at, name))


def default() -> dict[str, Any]:
    tree: dict[str, Any] = yaml.load(PACKAGED.read_text("utf-8"), Loader=yaml.BaseLoader)
    return tree


def section_of(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for part in path[:-1]:
        tree = tree[part]
    return tree


def complaint(text: str) -> str:
    """What is said about a file with this text; nothing if it is a config."""
    file = Path("random.yaml")
    file.write_text(text, encoding="utf-8", errors="replace")
    try:
        load(file, env={})
    except ConfigError as error:
        return str(error)
    return ""


NO_FIXTURE_PER_EXAMPLE = [HealthCheck.function_scoped_fixture]  # the directory may be the same for all examples
PATHS = list(paths(default()))
# Names that the user chooses: kafka's properties, tables, columns.
NAMES = [path for path in PATHS if path[0] == "kafka" or (path[0] == "tables" and len(path) in (2, 4))]
PLACED = re.compile(r"(random\.yaml|built-in turnout\.yaml)(:\d+)?: ")


@given(path=st.sampled_from(PATHS), value=ANYTHING, extra=st.none() | st.text(max_size=6))
@settings(suppress_health_check=NO_FIXTURE_PER_EXAMPLE, max_examples=300)
def test_a_random_change_is_a_config_or_mistakes_that_all_have_a_place(
    path: tuple[str, ...], value: object, extra: str | None
) -> None:
    tree = default()
    section = section_of(tree, path)
    section[path[-1]] = value
    if extra is not None:
        section[extra] = value
    for line in complaint(yaml.safe_dump(tree, allow_unicode=True)).splitlines():
        assert PLACED.match(line)


@pytest.mark.parametrize("path", [path for path in PATHS if not SHAPE.at(path).is_section], ids=".".join)
def test_a_section_in_place_of_a_value_is_named(path: tuple[str, ...]) -> None:
    tree = default()
    section_of(tree, path)[path[-1]] = {"a": "b"}
    assert re.search(
        rf"^random\.yaml:\d+: {re.escape('.'.join(path))}: ", complaint(yaml.safe_dump(tree)), re.MULTILINE
    )


@pytest.mark.parametrize("path", [path for path in PATHS if path not in NAMES], ids=".".join)
def test_a_key_with_a_letter_too_many_is_named_with_the_one_that_was_meant(path: tuple[str, ...]) -> None:
    tree = default()
    section = section_of(tree, path)
    section[path[-1] + "x"] = section.pop(path[-1])
    line = rf"^random\.yaml:\d+: {re.escape('.'.join(path))}x: unknown key; did you mean '{path[-1]}'\?$"
    assert re.search(line, complaint(yaml.safe_dump(tree)), re.MULTILINE)


@given(text=st.text())
@settings(suppress_health_check=NO_FIXTURE_PER_EXAMPLE)
def test_any_text_is_a_config_or_mistakes_that_all_have_a_place(text: str) -> None:
    for line in complaint(text).splitlines():
        assert PLACED.match(line)


# The document


NAMED = {"tables": "<table>", "tokens": "<token>"}


def leaves(shape: Shape, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place of the config, with <…> for a name that is the user's."""
    if shape == VALUE or shape.properties is not None or shape.refers:
        yield at
        return
    for name, below in shape.fields.items():
        yield from leaves(below, (*at, name))
    if shape.items is not None and shape.items != VALUE:
        yield from leaves(shape.items, (*at, NAMED[at[-1]]))
    elif shape.items is not None:
        yield at


def field_at(path: tuple[str, ...]) -> Any:
    model: type[BaseModel] = Config
    field = None
    for part in path:
        if part in NAMED.values():
            continue
        field = model.model_fields[part]
        annotation = field.annotation
        if part in NAMED:
            model = get_args(annotation)[1]
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    assert field is not None
    return field


@pytest.mark.parametrize("path", list(leaves(SHAPE)), ids=".".join)
def test_the_document_has_every_key_with_its_description_default_and_variable(path: tuple[str, ...]) -> None:
    rows = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith(f"| `{'.'.join(path)}` |")]
    assert len(rows) == 1, f"{'.'.join(path)} needs one row in {DOCUMENT.name}"
    field = field_at(path)
    assert field.description, "every field has a description"
    assert field.description in rows[0]
    assert f"`TURNOUT_{'__'.join(path).upper()}" in rows[0]
    if not field.is_required():
        assert f"| `{written(field.default)}` |" in rows[0]


def written(default: object) -> str:
    """As one would write it in the file."""
    match default:
        case bool():
            return str(default).lower()
        case "" | None:
            return '""'
        case tuple():
            return f"[{', '.join(default)}]"
        case str() | int() | Path():
            return str(default)
        case Secret():
            return '""'
        case _:
            return "{}"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_documents_examples_load() -> None:
    examples = blocks("yaml")
    assert len(examples) >= 3
    Path("password").write_text("hush")
    examples = [text.replace("/run/secrets/kafka-password", str(Path("password").absolute())) for text in examples]
    configs = [read(text, {"KAFKA_USER": "ann", "KAFKA_PASSWORD": "hush"}) for text in examples]
    assert any(config.join_schema().key_type is ColumnType.LONG for config in configs)


def test_the_document_shows_the_packaged_default() -> None:
    assert PACKAGED.read_text("utf-8") in blocks("yaml")


def test_the_documents_mistakes_are_reported_as_it_says() -> None:
    [wrong] = blocks("yaml wrong")
    [reported] = blocks("text")
    assert mistakes(wrong, {"TURNOUT_SERVE__PORT": "eighty"}) == reported.splitlines()
