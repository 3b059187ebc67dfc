"""The systems that are measured, by name: what to install, what to run, and what to compare its rows with."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.environments import python_with
from bench.peers.peer import EVERY_PAIR, Join
from bench.rig import HOST

DEEPHAVEN_CYCLE_MS = 1000
"""The default, of a cycle of its tables as well as of what its server tells remote clients."""

SHORT_CYCLE_MS = 10
SPARK_PARTITIONS = 200
"""Spark's default for a join."""

SORTED_BY = "balance"
"""What viewers sort by: the column that each right message changes."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """A module and its arguments, with the packages that it needs beside those of this checkout's own environment."""

    module: str
    arguments: tuple[object, ...] = ()
    environment: str = ""
    requirements: tuple[str, ...] = ()

    def python(self, say: Say) -> Path | None:
        """Made ready, if it is not this one."""
        return python_with(self.environment, self.requirements, say) if self.requirements else None


@dataclass(frozen=True)
class System:
    name: str
    program: Program
    """It is also told the broker, a directory, the join, and perhaps two topics."""
    remote: Callable[[Mapping[str, object]], Program] | None = None
    """A client in another process, from what the system says about itself; None if there is no such thing."""
    viewers: Callable[[Mapping[str, object]], Program] | None = None
    """Likewise a process of many viewers, each with the joined table sorted."""
    only: Join | None = None
    """The one join that it knows, if it cannot be told which."""
    begins_again: bool = True
    """Whether a process can read topics twice."""
    alone: tuple[object, ...] = ()
    """Arguments instead, where everything that a user would have to start counts."""
    slow: bool = False
    """A turn of it takes so many minutes that it has one in the first round only."""

    def shows(self, asked_for: Join) -> Join:
        return self.only or asked_for

    @property
    def by_itself(self) -> "System":
        return replace(self, program=replace(self.program, arguments=self.alone)) if self.alone else self


def systems(spark_jars: tuple[Path, ...]) -> list[System]:
    short, default = SHORT_CYCLE_MS, DEEPHAVEN_CYCLE_MS
    return [
        turnout(),
        _deephaven("42.7", "", default, default),
        _deephaven("42.7", "-10ms", short, default),
        _deephaven("42.7", "-10ms-barrage", short, short),
        _deephaven("0.40.2", "", default, default),
        _deephaven("0.40.2", "-10ms", short, default),
        System(
            "pathway",
            Program("bench.peers.pathway_join", (), "pathway", ("pathway==0.33.0",)),
            begins_again=False,
        ),
        plain_spark(spark_jars),
    ]


def without_variants(chosen: Iterable[System]) -> list[System]:
    """The first one of each program: the others differ in how often they look for what is new."""
    programs: dict[tuple[str, str], System] = {}
    for system in chosen:
        programs.setdefault((system.program.module, system.program.environment), system)
    return list(programs.values())


def plain_spark(jars: tuple[Path, ...], partitions: int = SPARK_PARTITIONS) -> System:
    arguments = (",".join(map(str, jars)), partitions)
    return System("pyspark", Program("bench.peers.pyspark_join", arguments), only=EVERY_PAIR, slow=True)


def turnout() -> System:
    def remote(about: Mapping[str, object]) -> Program:
        return Program("bench.client", (HOST, about["port"], f"/api/tables/{about['table']}/changes"))

    def viewers(about: Mapping[str, object]) -> Program:
        return Program("bench.viewers", (f"ws://{HOST}:{about['port']}/perspective", SORTED_BY))

    program = Program("bench.peers.turnout_join", ("shared",))
    return System("turnout", program, remote, viewers, alone=("own",))


def _deephaven(version: str, variant: str, cycle_ms: int, barrage_ms: int) -> System:
    old = version.startswith("0.")
    # 0.40 uses what newer versions of these packages no longer have: pytz by way of pandas, and bits from a number.
    server = (f"deephaven-server=={version}", *(("pandas<3",) if old else ()))
    ticking = (f"pydeephaven=={version}", f"pydeephaven-ticking=={version}", *(("bitstring<5",) if old else ()))

    def client(module: str, *arguments: object) -> Program:
        return Program(module, arguments, f"deephaven-client-{version}", ticking)

    def remote(about: Mapping[str, object]) -> Program:
        return client("bench.peers.deephaven_client", about["port"], about["table"])

    def viewers(about: Mapping[str, object]) -> Program:
        return client("bench.peers.deephaven_viewers", about["port"], about["table"], SORTED_BY)

    program = Program("bench.peers.deephaven_join", (cycle_ms, barrage_ms), f"deephaven-{version}", server)
    return System(f"deephaven-{version}{variant}", program, remote, viewers)
