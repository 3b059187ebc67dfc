"""How long nobody leads: from `kill -9` of the Turnout that leads until what is sent after that is shown elsewhere.

`make bench-takeover`, or `python -m bench.takeover --help`. Starts and ends everything by itself.
"""

import argparse
import json
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import yaml
from rich import box
from rich.console import Console
from rich.table import Table

from bench.child import Child
from bench.command import run, say
from bench.latency import at_least_1
from bench.load import Load
from bench.machine import load_average
from bench.messages import CONTROL_TOPIC, LEFT_TOPIC, RIGHT_TOPIC
from bench.rig import HOST, LIVE_SECONDS, POLL_SECONDS, Say, kafka
from bench.switches import Pair
from turnout.errors import TurnoutError
from turnout.java import java_parts
from turnout.kafka.client import Cluster, Publisher

BUDGET_SECONDS = 10.0


@dataclass(frozen=True)
class Takeover:
    """Seconds since the kill."""

    led: float
    """Until another one leads."""
    shown: float
    """Until a server that was there all the time shows what was sent after it."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.takeover", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=at_least_1, default=5, help="leaders to kill (%(default)s)")
    parser.add_argument("--rate", type=at_least_1, default=200, help="messages a second meanwhile (%(default)s)")
    options = parser.parse_args(arguments)
    return run(lambda console: _report(options, console))


def _report(options: argparse.Namespace, console: Console) -> int:
    load_before = load_average()
    with tempfile.TemporaryDirectory(prefix="turnout-bench-") as directory:
        takeovers = _measure(options, Path(directory), partial(say, console))
    table = Table(title="kill -9 → …, in seconds", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("round", "another one leads", "what was sent since is shown"):
        table.add_column(heading, justify="right")
    for number, takeover in enumerate(takeovers, 1):
        table.add_row(str(number), f"{takeover.led:.1f}", f"{takeover.shown:.1f}")
    led, shown = (statistics.median(it) for it in zip(*((it.led, it.shown) for it in takeovers), strict=True))
    table.add_row("median", f"{led:.1f}", f"{shown:.1f}", style="bold")
    console.print(table)
    within = "within" if shown <= BUDGET_SECONDS else "over"
    console.print(f"{within} the budget of {BUDGET_SECONDS:g} s; load average {load_before} before")
    return 0


def _measure(options: argparse.Namespace, home: Path, say: Say) -> list[Takeover]:
    with ExitStack() as stack:
        broker = stack.enter_context(kafka(home, java_parts(say), say))
        Cluster({"bootstrap.servers": broker.bootstrap}).create_topics([LEFT_TOPIC, RIGHT_TOPIC, CONTROL_TOPIC])
        stack.enter_context(Load(broker.bootstrap, [Pair(LEFT_TOPIC, RIGHT_TOPIC)], options.rate))
        site = Site(home, broker.bootstrap, stack)
        say("Starting a leader, a server and one that stands by …")
        leader, server = site.start("run"), site.start("serve")
        server.wait_for_live()
        takeovers = []
        for number in range(options.rounds):
            stand_by = site.start("run")
            stand_by.wait_for("Spark is warm")
            say(f"Killing leader {number + 1} …")
            takeovers.append(_take_over(leader, stand_by, server, site.publisher, f"after {number}"))
            leader = stand_by
        return takeovers


class Site:
    """Turnouts on one bus, with one home."""

    def __init__(self, home: Path, bootstrap: str, stack: ExitStack) -> None:
        self._home, self._bootstrap, self._stack, self._started = home, bootstrap, stack, 0
        self.publisher = Cluster({"bootstrap.servers": bootstrap}).publisher()

    def start(self, command: str) -> "Server":
        self._started += 1
        kafka, file = {"bootstrap.servers": self._bootstrap}, self._home / f"{self._started}.yaml"
        serve = {"host": HOST, "port": _free_port()}
        settings = {"kafka": kafka, "bus": kafka, "serve": serve, "state_dir": str(self._home / "state")}
        file.write_text(yaml.safe_dump(settings))
        log = file.with_suffix(".log")
        child = self._stack.enter_context(Child("turnout.cli", command, "-c", file, log=log))
        return Server(child, f"http://{HOST}:{serve['port']}", log)


@dataclass(frozen=True)
class Server:
    process: Child
    url: str
    log: Path

    def wait_for(self, text: str) -> float:
        """When it had said that."""
        return _until(lambda: text in self.log.read_text(), f"{self.log} says {text!r}")

    def wait_for_live(self) -> float:
        return _until(lambda: self._answers("/readyz"), f"{self.url} is ready")

    def wait_for_row(self, user: str) -> float:
        path = f"/api/tables/users_ui?{httpx.QueryParams({'limit': 1, 'filter': f'userId=={user}'})}"
        return _until(lambda: self._answers(path, user), f"{user!r} is shown")

    def _answers(self, path: str, mentioning: str = "") -> bool:
        with suppress(httpx.HTTPError):
            answer = httpx.get(self.url + path, timeout=5)
            return answer.is_success and mentioning in answer.text
        return False


def _take_over(leader: Server, stand_by: Server, server: Server, publisher: Publisher, user: str) -> Takeover:
    began = time.monotonic()
    leader.process.kill()
    publisher.publish(LEFT_TOPIC, json.dumps({"userId": user, "name": user}).encode())
    led = stand_by.wait_for("This Turnout leads")
    return Takeover(led - began, server.wait_for_row(user) - began)


def _until(is_so: Callable[[], bool], what: str) -> float:
    deadline = time.monotonic() + LIVE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TurnoutError(f"not after {LIVE_SECONDS:g} s: {what}")
        time.sleep(POLL_SECONDS)
    return time.monotonic()


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
