"""`turnout demo`, `turnout run` and `turnout serve`: the service in this process, until Ctrl-C."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turnout.commands.options import ConfigFile, default_url, load_config
from turnout.commands.words import switch_command
from turnout.errors import SetupError, TurnoutError

if TYPE_CHECKING:
    from turnout.config import Config
    from turnout.ending import Ending
    from turnout.terminal import Terminal

Host = Annotated[
    str | None,
    typer.Option("--host", metavar="ADDRESS", help="The address to listen on; 0.0.0.0 is every one of this machine."),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port", "-p", metavar="PORT", min=0, max=65535, help="The port of the page and the API; 0: a free one."
    ),
]
StateDir = Annotated[
    Path | None, typer.Option("--state-dir", metavar="DIR", help="The directory of everything that outlives a restart.")
]
Kafka = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT,…", help="The Kafka to read from: its bootstrap servers.")
]

STDERR_FILE = "stderr.log"
"""In the state directory: what Java and librdkafka have to say."""


def demo(config: ConfigFile = None, host: Host = None, port: Port = None, state_dir: StateDir = None) -> None:
    """Try Turnout: everything on this machine, with sample data.

    Starts a Kafka broker of its own with two pairs of sample topics, sends to them, joins them with Spark, and serves
    the page. It says the address to open, and the command that switches to the other pair of topics.

    Each demo begins anew, in a directory of its own beside other state. With a configuration of yours it makes up
    samples for your tables; your Kafka is not touched.

    Ctrl-C or SIGTERM ends all of it within five seconds (exit code 0).

    - `turnout demo`
    - `turnout demo --port 9000`
    """
    settings = load_config(config, _flags(host, port, state_dir))
    with _attended(settings) as desk:
        from turnout.demo import Producers, clean, demo_config, prepare
        from turnout.java import java_parts
        from turnout.kafka.embedded import EmbeddedBroker
        from turnout.serve.run import run as serve
        from turnout.service import Service

        state = settings.state_dir / f"demo-{desk.port}"  # whoever has the port has the directory
        with _writing(state):
            clean(state)
            desk.terminal.keep_stderr(state / STDERR_FILE)
        broker = EmbeddedBroker(state / "kafka", java_parts(desk.terminal.progress).broker)
        desk.ending.callback(broker.stop)
        broker.start(desk.terminal.progress)
        settings = demo_config(settings, broker.bootstrap, state, desk.port)
        prepare(settings)
        producers = Producers(settings)
        desk.ending.callback(producers.stop)
        producers.start()
        serve(Service(settings, broker), desk.listener, desk.ending, lambda: _introduce(desk, settings, config))


def run(
    config: ConfigFile = None, kafka: Kafka = None, host: Host = None, port: Port = None, state_dir: StateDir = None
) -> None:
    """Run Turnout against your Kafka.

    Reads the two data topics and the control topic that the configuration names, joins them with Spark, and serves
    the live tables and the page. What it has to write goes to a broker of its own, in the state directory, unless
    the configuration names another (bus). Of several with the same bus, `changelog.prefix` and state directory one
    leads; the others serve what it shows, and take over when it is gone.

    Ctrl-C or SIGTERM ends it within five seconds (exit code 0). The next start goes on where this one ended.

    - `turnout run -c turnout.yaml`
    - `turnout run --kafka broker.example.com:9092 --port 9000`
    """
    settings = load_config(config, {**_flags(host, port, state_dir), "kafka.bootstrap.servers": kafka})
    with _attended(settings) as desk:
        from turnout.java import java_parts
        from turnout.serve.run import run as serve
        from turnout.service import Service

        with _writing(settings.state_dir):
            settings.state_dir.mkdir(parents=True, exist_ok=True)
            desk.terminal.keep_stderr(settings.state_dir / STDERR_FILE)
        java_parts(desk.terminal.progress)
        serve(Service(settings), desk.listener, desk.ending, lambda: _say_live(desk))


def serve(config: ConfigFile = None, host: Host = None, port: Port = None) -> None:
    """Serve what a `turnout run` elsewhere leads to.

    Shows the same tables, with the same page and API, from the changelogs on the bus: no Spark, no Java, and nothing
    that has to be kept. Any number of them can stand behind a load balancer. It needs the configuration of the
    Turnout that leads, with a `bus` that names a Kafka.

    Ctrl-C or SIGTERM ends it within five seconds (exit code 0).

    - `turnout serve -c turnout.yaml --port 8401`
    """
    settings = load_config(config, _flags(host, port))
    if not settings.bus:
        raise TurnoutError(
            "`turnout serve` follows a Turnout by what that writes to its bus, which here is an embedded broker that "
            "only its own machine reaches: name a Kafka under `bus`, for both."
        )
    with _attended(settings) as desk:
        from turnout.serve.run import run as serve_until_stopped
        from turnout.service import Service

        service = Service(settings, may_lead=False)
        serve_until_stopped(service, desk.listener, desk.ending, lambda: _say_live(desk))


@dataclass(frozen=True)
class _Desk:
    """What the commands work with."""

    listener: socket.socket
    terminal: "Terminal"
    ending: "Ending"
    scheme: str

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        from turnout.address import url_at

        return url_at(self.listener, self.scheme)


@contextmanager
def _attended(settings: "Config") -> Iterator[_Desk]:
    """The port is ours, the terminal shows how far it is, and Ctrl-C ends it, before anything slow begins."""
    from turnout.address import listen
    from turnout.ending import Ending
    from turnout.serve.security.exposure import refuse_exposure
    from turnout.serve.tls import check_certificate
    from turnout.terminal import Terminal

    refuse_exposure(settings)
    check_certificate(settings.serve.tls)
    listener, terminal = listen(settings.serve), Terminal(log_format=settings.log.format)
    with Ending(terminal.stopping) as ending:
        ending.callback(terminal.settled)
        terminal.listen()
        terminal.progress("Starting Turnout …")
        yield _Desk(listener, terminal, ending, settings.serve.scheme)


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"The state directory {directory} cannot be written ({error.strerror}): choose another with --state-dir."
        ) from None


def _flags(host: str | None, port: int | None, state_dir: Path | None = None) -> dict[str, object]:
    return {"serve.host": host, "serve.port": port, "state_dir": None if state_dir is None else str(state_dir)}


def _say_live(desk: _Desk) -> None:
    desk.terminal.settled()
    desk.terminal.say(f"Turnout is live: open {desk.url} (Ctrl-C ends it)")


def _introduce(desk: _Desk, settings: "Config", file: Path | None) -> None:
    from turnout.demo import topic_pairs

    own, other = topic_pairs(settings)
    join = settings.join
    options = {"-c": file, "--url": None if desk.url == default_url(file) else desk.url}
    there = switch_command({join.left: other.left, join.right: other.right}, "inner", options)
    back = switch_command({join.left: own.left, join.right: own.right}, join.type, options)
    desk.terminal.settled()
    desk.terminal.say(
        f"""
Turnout is live.

  Open it      {desk.url}
  Switch it    {there}
  And back     {back}
  Its Kafka    {settings.kafka["bootstrap.servers"]}
  Its files    {settings.state_dir}

Ctrl-C ends all of it.
"""
    )
