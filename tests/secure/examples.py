"""The files of `examples/kafka`, with what they refer to: certificates, secrets in files and in the environment."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.secure.certificates import STORE_PASSWORD, Certificates
from turnout.config import Config, load

EXAMPLES = Path(__file__).parents[2] / "examples" / "kafka"
NAMES = sorted(file.stem for file in EXAMPLES.glob("*.yaml"))


class Examples:
    """What a person has who uses them: files in a directory of their own, variables."""

    def __init__(
        self,
        directory: Path,
        certificates: Certificates,
        secrets: Mapping[str, str],
        environment: Mapping[str, str],
    ) -> None:
        """`secrets`: file -> what it holds. The client's key has the password that all stores have."""
        self._directory, self._environment = directory, environment
        client, authority = certificates.client, certificates.authority
        files = {
            "ca.pem": authority.certificate,
            "client.pem": client.certificate,
            "client.key": client.usual_encrypted_key,
            "truststore.jks": authority.jks,
            "keystore.jks": client.jks,
        }
        for name, file in files.items():
            shutil.copy(file, directory / name)
        for name, secret in {**secrets, "key-password": STORE_PASSWORD}.items():
            (directory / name).write_text(f"{secret}\n")

    def text(self, name: str) -> str:
        """As it is, but for the directories."""
        text = (EXAMPLES / f"{name}.yaml").read_text()
        for place in ("/etc/turnout", "/run/secrets"):
            text = text.replace(f"{place}/", f"{self._directory}/")
        return text

    def config(self, name: str) -> Config:
        file = self._directory / f"{name}.yaml"
        file.write_text(self.text(name))
        return load(file, env=self._environment)
