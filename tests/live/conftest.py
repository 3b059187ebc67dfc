"""One real broker and one real Spark session for the whole run. Topics are per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from turnout.java import JavaParts, java_parts
from turnout.kafka.embedded import EmbeddedBroker
from turnout.pipeline.session import start_session

HUNG_SECONDS = 600
"""Longer than all that a test waits for, each with a deadline of its own that says what it is."""


@pytest.fixture(scope="session")
def parts() -> JavaParts:
    return java_parts(print)


@pytest.fixture(scope="session")
def broker(parts: JavaParts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), parts.broker) as running:
        yield running


@pytest.fixture(scope="session")
def spark(parts: JavaParts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session("local[*]", {}, parts.spark, tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.live)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(HUNG_SECONDS))
