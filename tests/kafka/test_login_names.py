"""The lists of properties that each client knows, against the clients themselves."""

import re
import subprocess

import pytest
from confluent_kafka import KafkaException, Producer

from turnout.java import find_java, java_parts
from turnout.kafka.login.java_names import JAVA_3_9_NAMES, JAVA_4_3_ADDS, JAVA_NAMES
from turnout.kafka.login.librdkafka_names import LIBRDKAFKA_NAMES
from turnout.kafka.login.names import is_javas, is_librdkafkas
from turnout.kafka.login.parse import LOGIN_NAMES


def what_librdkafka_says(name: str) -> str:
    """No client is made: if it takes the property, it stumbles over the next."""
    with pytest.raises(KafkaException) as refused:
        Producer({name: "\x01", "no.such.property": ""})
    return str(refused.value.args[0].str())


def librdkafka_takes(name: str) -> bool:
    said = what_librdkafka_says(name)
    # Some of Java's names it knows only to say what to use instead.
    return f'No such configuration property: "{name}"' not in said and "not supported, " not in said


def test_librdkafka_knows_all_that_is_listed_as_its_own() -> None:
    assert [name for name in sorted(LIBRDKAFKA_NAMES) if not librdkafka_takes(name)] == []


def test_librdkafka_knows_no_more_of_javas_names_than_is_listed() -> None:
    others = JAVA_NAMES - LIBRDKAFKA_NAMES
    assert [name for name in sorted(others) if librdkafka_takes(name)] == []


def test_a_login_is_told_in_names_that_a_client_knows() -> None:
    assert [name for name in sorted(LOGIN_NAMES) if not is_javas(name) and not is_librdkafkas(name)] == []


@pytest.mark.live
@pytest.mark.parametrize(
    ("parts", "version", "names"),
    [("spark", "3.9", JAVA_3_9_NAMES), ("broker", "4.3", JAVA_4_3_ADDS)],
    ids=["Spark's client", "newer clients"],
)
def test_javas_clients_list_these_names(parts: str, version: str, names: frozenset[str]) -> None:
    found = java_parts(print)
    jars = found.spark if parts == "spark" else found.broker
    [client] = [jar for jar in jars if jar.name.startswith(f"kafka-clients-{version}")]
    path = ":".join(str(jar) for jar in (client, *found.broker))  # it logs with what the broker has
    listed: set[str] = set()
    for kind in ("consumer.ConsumerConfig", "producer.ProducerConfig", "admin.AdminClientConfig"):
        command = [str(find_java().path), "-XX:TieredStopAtLevel=1", "-cp", path, f"org.apache.kafka.clients.{kind}"]
        page = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        listed |= set(re.findall(r'<h4><a id="([^"]+)">', page))
    assert (listed if parts == "spark" else listed - JAVA_3_9_NAMES) == names
