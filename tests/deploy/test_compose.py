"""compose.yaml and the configuration beside it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.configs import loaded
from turnout import __version__
from turnout.config import Config
from turnout.config import load as load_config
from turnout.demo import topic_pairs

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


@pytest.fixture(scope="module")
def config() -> Config:
    return loaded((DEPLOY / "turnout.yaml").read_text())


def test_the_configuration_loads_and_reads_the_kafka_beside_it(compose: dict[str, Any], config: Config) -> None:
    kafka = compose["services"]["kafka"]
    assert config.kafka["bootstrap.servers"] == "kafka:9092"
    assert kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://kafka:9092"
    assert "kafka:9092" in kafka["healthcheck"]["test"]
    assert "ports" not in kafka, "it asks nobody for a password"


def test_the_samples_go_where_turnout_reads(compose: dict[str, Any], config: Config) -> None:
    assert compose["services"]["samples"]["command"] == ["samples", "--kafka", config.kafka["bootstrap.servers"]]
    sent = load_config(None, env={})  # the built-in tables: no file is named
    assert topic_pairs(sent) == topic_pairs(config)
    assert sent.control == config.control
    for name, table in config.tables.items():
        assert sent.tables[name].columns == table.columns


def test_whoever_needs_kafka_waits_until_it_is_healthy(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name in ("samples", "turnout"):
        assert services[name]["depends_on"]["kafka"] == {"condition": "service_healthy"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
    assert services["samples"]["healthcheck"] == {"disable": True}, "it serves nothing"
    assert "HEALTHCHECK" in DOCKERFILE


def test_ports_volumes_and_files_are_those_of_the_image(compose: dict[str, Any]) -> None:
    turnout = compose["services"]["turnout"]
    assert turnout["image"] == compose["services"]["samples"]["image"] == f"turnout:{__version__}"
    assert turnout["ports"] == ["127.0.0.1:8400:8400"]
    assert "EXPOSE 8400" in DOCKERFILE
    assert "state:/var/lib/turnout" in turnout["volumes"]
    assert "VOLUME /var/lib/turnout" in DOCKERFILE
    assert set(compose["volumes"]) == {"kafka", "state"}
    assert (DEPLOY / compose["configs"]["turnout"]["file"]).is_file()
    assert turnout["configs"][0]["target"] == turnout["environment"]["TURNOUT_CONFIG"]
    assert (DEPLOY / turnout["build"]["context"] / turnout["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_the_root_file_system_is_read_only_and_tmp_is_not(compose: dict[str, Any]) -> None:
    for name in ("samples", "turnout"):
        service = compose["services"][name]
        assert service["read_only"] is True
        assert {"type": "volume", "target": "/tmp"} in service["volumes"]


def test_the_file_with_the_hash_is_never_committed(compose: dict[str, Any]) -> None:
    (file,) = compose["services"]["turnout"]["env_file"]
    assert f"/deploy/{file}" in (DEPLOY.parent / ".gitignore").read_text().splitlines()
    assert "${OPERATOR_TOKEN_HASH}" in (DEPLOY / "turnout.yaml").read_text()
