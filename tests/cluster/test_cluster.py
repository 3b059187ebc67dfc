"""Turnout on a real Spark cluster: the whole journey, with a worker and the driver killed under load."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.cluster.standalone import HOST, StandaloneCluster, standalone_cluster
from tests.loaded import PAIRS, PARTITIONS, READY_SECONDS, Load, config, create_topics, shows, switch
from tests.torture.process import ServiceProcess, Unreachable
from tests.torture.users_kafka import free_port
from tests.waiting import until
from turnout.java import java_parts
from turnout.kafka.embedded import EmbeddedBroker

WORKER_CORES = (12, 12)
"""Each has room for two pipelines, the old and the new one of a switch."""

WIDE = "wide"
"""A topic with more partitions than there are slots."""

WIDE_PAIR = (WIDE, "accounts_of_wide")

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("kafka"), java_parts(print).broker) as broker:
        cluster = create_topics(broker.bootstrap)
        cluster.create_topics([WIDE], sum(WORKER_CORES))
        cluster.create_topics([WIDE_PAIR[1]], PARTITIONS)
        yield broker


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster") / "spark", WORKER_CORES) as running:
        yield running


@pytest.fixture(scope="module")
def service(
    kafka: EmbeddedBroker, cluster: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    directory, port = tmp_path_factory.mktemp("service"), free_port()
    more: dict[str, object] = {
        "changelog": {"partitions": 2},
        "spark": {
            "master": cluster.master,
            "checkpoints": f"file://{directory}/checkpoints",
            "conf": {"spark.driver.host": HOST, "spark.executor.memory": "700m"},
        },
        "state_dir": "state",
    }
    (directory / "turnout.yaml").write_text(yaml.safe_dump(config(kafka.bootstrap, port, **more)))
    process = ServiceProcess(directory, port)
    process.start()
    yield process
    process.discard()


@pytest.fixture(scope="module")
def load(kafka: EmbeddedBroker) -> Load:
    return Load(kafka.bootstrap, (*PAIRS, WIDE_PAIR))


def has_said(service: ServiceProcess, pattern: str) -> bool:
    """As whoever reads its log over HTTP sees it."""
    with suppress(Unreachable):
        return any(re.fullmatch(pattern, row["msg"]) for row in service.table("orchestrator_logs")[1])
    return False


def spark_log(service: ServiceProcess) -> str:
    return Path(service.directory, "state", "spark.log").read_text()


def test_the_join_is_that_of_the_oracle(service: ServiceProcess, load: Load) -> None:
    load.send(200)
    service.until_state("live", "", READY_SECONDS)
    shows(service, load, PAIRS[0], "left")


def test_a_worker_is_lost_under_load_and_a_switch_is_made_meanwhile(
    service: ServiceProcess, load: Load, cluster: StandaloneCluster
) -> None:
    with load:
        cluster.workers[0].kill()
        # The state itself may be over within a second.
        until(lambda: has_said(service, r"Trying again in .* \(live → degraded\)"), "it is degraded", READY_SECONDS)
        assert has_said(service, "The live pipeline died: .+"), "and it says why"
        # That is what fails first: Spark's task there, or its peer here that talks to it. Spark knows of both.
        until(lambda: "Lost executor" in spark_log(service), "Spark has lost the worker's executor", READY_SECONDS)
        assert switch(service, PAIRS[1], "inner") == "applied"
    shows(service, load, PAIRS[1], "inner")
    with load:
        assert switch(service, PAIRS[0], "full") == "applied"
    shows(service, load, PAIRS[0], "full")


def test_topics_with_more_partitions_than_there_are_slots_are_refused_and_it_goes_on(
    service: ServiceProcess, load: Load
) -> None:
    outcome = switch(service, WIDE_PAIR, "left")
    assert outcome.startswith("rejected: real-time mode needs ")
    assert f"{sum(WORKER_CORES)} for topic '{WIDE}'" in outcome
    assert "spark.trigger: microbatch" in outcome
    load.send(20)
    shows(service, load, PAIRS[0], "full")


def test_the_driver_is_killed_and_started_again(service: ServiceProcess, load: Load) -> None:
    assert switch(service, PAIRS[0], "full") == "no change", "what was refused is not asked for again at the start"
    with load:
        service.kill()
        service.start()
        service.until_state("live", "", READY_SECONDS)
    shows(service, load, PAIRS[0], "full")


def test_in_micro_batches_topics_may_have_more_partitions_than_there_are_slots(
    service: ServiceProcess, load: Load
) -> None:
    """As the refusal has it."""
    assert service.terminate() == 0
    file = service.directory / "turnout.yaml"
    config = yaml.safe_load(file.read_text())
    config["spark"]["trigger"] = "microbatch"
    file.write_text(yaml.safe_dump(config))
    service.start()
    service.until_state("live", "", READY_SECONDS)
    with load:
        assert switch(service, WIDE_PAIR, "left") == "applied"
    shows(service, load, WIDE_PAIR, "left")
