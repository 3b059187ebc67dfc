"""Configurations of deploy/ as Turnout reads them."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

from turnout.config import Config, ServeConfig, load

SECRETS = MappingProxyType(
    {
        "OPERATOR_TOKEN_HASH": "sha256:" + "0" * 64,
        "PROMETHEUS_TOKEN_HASH": "sha256:" + "1" * 64,
        "SESSION_KEY": "k" * 64,
        "S3_ACCESS_KEY": "a",
        "S3_SECRET_KEY": "b",
    }
)


def loaded(text: str, env: Mapping[str, str] = SECRETS) -> Config:
    content = yaml.load(text, yaml.BaseLoader)  # texts only: for the others `on`, as in join.on, means true
    content["serve"] = {key: value for key, value in content["serve"].items() if key in ServeConfig.model_fields}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "turnout.yaml")
        file.write_text(yaml.safe_dump(content))
        return load(file, env=env)
