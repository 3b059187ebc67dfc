"""Everything that is measured, on this machine: Kafka, Spark, the service and its server, with the built-in config."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from bench.messages import CONTROL_TOPIC, LEFT_TABLE, LEFT_TOPIC, RIGHT_TABLE, RIGHT_TOPIC
from turnout.config import Config, built_in
from turnout.descendants import end_descendants
from turnout.errors import TurnoutError
from turnout.java import JavaParts, java_parts
from turnout.kafka.client import Cluster
from turnout.kafka.embedded import EmbeddedBroker
from turnout.serve.app import create_app
from turnout.service import Service

HOST = "127.0.0.1"
LIVE_SECONDS = 180.0
"""Twenty are usual with two cores; a busy machine may take a multiple of that."""

POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0

BROKER_FLAGS = ("-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC")
"""As Kafka's own start script has it, for this broker stands for the users' Kafka. The embedded one is set to start
quickly instead."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Rig:
    service: Service
    broker: EmbeddedBroker
    port: int
    parts: JavaParts


@contextmanager
def running(directory: Path, keep: int, say: Say, more: Mapping[str, object] | None = None) -> Iterator[Rig]:
    """A service that is live, on fresh topics; all of it ends with the context. `more` is further configuration."""
    with ExitStack() as stack:
        stack.callback(end_descendants, GRACE_SECONDS)  # Spark's process would outlive its session, and even us
        parts = java_parts(say)
        broker = stack.enter_context(kafka(directory, parts, say))
        Cluster({"bootstrap.servers": broker.bootstrap}).create_topics([LEFT_TOPIC, RIGHT_TOPIC, CONTROL_TOPIC])
        service = Service(config(directory / "state", broker.bootstrap, keep, more or {}), bus=broker)
        say("Starting Spark and the first generation …")
        port = stack.enter_context(served(service))
        wait_until_live(service)
        yield Rig(service, broker, port, parts)


@contextmanager
def kafka(directory: Path, parts: JavaParts, say: Say) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(directory / "kafka", parts.broker, jvm_flags=BROKER_FLAGS)
    try:
        broker.start(say)
        yield broker
    finally:
        broker.stop()


def config(state_dir: Path, bootstrap: str, keep: int, more: Mapping[str, object]) -> Config:
    overrides = {
        "kafka.bootstrap.servers": bootstrap,
        "state_dir": state_dir,
        f"tables.{LEFT_TABLE}.keep": keep,
        f"tables.{RIGHT_TABLE}.keep": keep,
        **more,
    }
    return built_in(overrides)


@contextmanager
def served(service: Service) -> Iterator[int]:
    """The service, which is started, and its server on a thread of this process, with its port."""
    with ExitStack() as stack:
        stack.callback(service.stop)
        service.start()
        listener = stack.enter_context(socket.create_server((HOST, 0)))
        server = uvicorn.Server(
            uvicorn.Config(create_app(service), log_config=None, access_log=False, timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, args=([listener],), name="server", daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def wait_until_live(service: Service) -> None:
    deadline = time.monotonic() + LIVE_SECONDS
    while not service.ready:
        if time.monotonic() > deadline:
            said = service.tables.registry.snapshot(service.tables.names.logs).rows["msg"].to_list()
            raise TurnoutError("\n  ".join([f"nothing is live after {LIVE_SECONDS:.0f} s; the log says:", *said]))
        time.sleep(POLL_SECONDS)
