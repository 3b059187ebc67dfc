"""The chart, as far as it can be told without helm: `make check-deploy` renders it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.deploy.configs import loaded
from turnout import __version__

CHART = Path(__file__).parent.parent.parent / "deploy" / "helm" / "turnout"
DEFAULT = (CHART / "values.yaml").read_text()
FULL = (CHART / "ci" / "full-values.yaml").read_text()
TEMPLATES = "".join(file.read_text() for file in sorted((CHART / "templates").iterdir()))
DOCKERFILE = (CHART.parent.parent / "Dockerfile").read_text()


def _values(text: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(text)
    return content


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    Draft7Validator.check_schema(content)
    return content


@pytest.mark.parametrize("wrong", [{"imgae": {}}, {"service": {"port": "http"}}, {"secretFiles": {"tls": "mine"}}])
def test_the_schema_takes_the_values_and_refuses_mistakes(schema: dict[str, Any], wrong: dict[str, Any]) -> None:
    validator, default = Draft7Validator(schema), _values(DEFAULT)
    for values in (default, default | _values(FULL)):
        assert [error.message for error in validator.iter_errors(values)] == []
    assert list(validator.iter_errors(default | wrong))


def test_every_value_is_in_the_schema_and_is_used(schema: dict[str, Any]) -> None:
    def paths(values: dict[str, Any], known: dict[str, Any], before: str = "") -> list[str]:
        assert set(values) == set(known["properties"]) - {"global", "claims"}
        found = []
        for name, value in values.items():
            below = known["properties"][name]
            inside = "properties" in below and name != "resources"
            found += paths(value, below, f"{before}{name}.") if inside else [before + name]
        return found

    unused = [path for path in paths(_values(DEFAULT), schema) if f".Values.{path}" not in TEMPLATES]
    assert unused == []


def test_every_value_is_explained() -> None:
    for key in re.findall(r"^(\w+):", DEFAULT, re.MULTILINE):
        place = DEFAULT.index(f"\n{key}:")
        block = DEFAULT[DEFAULT.rindex("\n\n", 0, place) : place]
        explained = "#" in block or "#" in DEFAULT[place : DEFAULT.find("\n\n", place)]
        assert explained, key


def test_the_default_configuration_loads() -> None:
    config = loaded(_values(DEFAULT)["config"])
    assert set(config.tables) == {"users", "accounts"}


def test_each_variable_of_a_configuration_comes_from_the_secret() -> None:
    for text in (DEFAULT, FULL):
        values = _values(text)
        assert set(re.findall(r"\$\{(\w+)\}", values["config"])) == set(values["secretEnv"])


def test_each_file_of_the_full_configuration_is_mounted() -> None:
    values = _values(FULL)
    mounted = {*values["secretFiles"], "tls"}
    assert set(re.findall(r"/run/secrets/([^/]+)/", values["config"])) == mounted


def test_chart_and_image_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    security = _values(DEFAULT)["podSecurityContext"]
    assert f"USER {security['runAsUser']}:{security['runAsGroup']}" in DOCKERFILE
    assert security["runAsUser"] == security["fsGroup"]
    assert "containerPort: 8400" in TEMPLATES
    assert "mountPath: /var/lib/turnout\n" in TEMPLATES
