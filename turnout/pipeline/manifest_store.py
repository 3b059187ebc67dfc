"""Where the manifests are: in the state directory, or on the bus."""

from typing import Protocol

from turnout.bus.manifest_topic import ManifestTopic
from turnout.bus.topics import BusTopics
from turnout.config import Config
from turnout.kafka.client import Cluster
from turnout.pipeline.manifest_files import ManifestFiles


class ManifestStore(Protocol):
    """By the ids of their pipelines."""

    def ids(self) -> list[str]: ...
    def read(self, pipeline: str) -> bytes | None: ...
    def write(self, pipeline: str, manifest: bytes) -> None: ...
    def delete(self, pipeline: str) -> None: ...
    def place(self, pipeline: str) -> str:
        """Where it is, for people."""
        ...


def store_of(config: Config, bus: Cluster) -> ManifestStore:
    if config.keeps_on_bus:
        return ManifestTopic(bus, BusTopics(config.changelog.prefix), config.changelog.replication)
    return ManifestFiles(config.state_dir)
