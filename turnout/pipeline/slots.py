"""Task slots: real-time mode runs all tasks of a query at once, and holds a slot for each as long as it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from turnout.errors import BuildFailed

POLL_SECONDS = 0.5
EXECUTORS_SECONDS = 20.0
"""For the executors of a cluster to register. They are there a few seconds after Spark has started."""


@dataclass(frozen=True)
class Slots:
    total: int
    taken: int
    """By pipelines that run."""

    @property
    def free(self) -> int:
        return max(0, self.total - self.taken)


@dataclass(frozen=True)
class Need:
    sources: Mapping[str, int]
    """Topic -> its partitions."""
    shuffle: int

    @property
    def slots(self) -> int:
        return sum(self.sources.values()) + self.shuffle

    def explained(self) -> str:
        parts = [f"{count} for topic {topic!r}" for topic, count in self.sources.items()]
        return f"{self.slots} task slots at once ({', '.join([*parts, f'{self.shuffle} to group by key'])})"


def shuffle_partitions(sources: Mapping[str, int], slots: Slots) -> int:
    """Tasks that group by key: as many as the widest topic has partitions, where old and new pipeline then still fit
    beside each other during a switch, and this one beside what runs now; at least one, for which room was waited."""
    room = min(slots.total // 2, slots.free) - sum(sources.values())
    return max(1, min(max(sources.values()), room))


def slots_of(spark: SparkSession) -> Slots:
    try:
        context = spark.sparkContext._jsc.sc()
        total = context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())
        taken = sum(executor.numRunningTasks() for executor in context.statusTracker().getExecutorInfos())
    except (Py4JError, OSError) as error:
        raise BuildFailed(f"Spark does not tell how many task slots it has: {error}") from None
    return Slots(int(total), int(taken))


def wait_for_slots(
    need: Need,
    slots: Callable[[], Slots],
    given_up: Callable[[], bool],
    wait: Callable[[float], object],
    *,
    local: bool = False,
) -> None:
    """Wait until there are enough, as long as executors may still come, or other pipelines end; an error says what to
    do. `local`: Spark runs in one process."""
    waited = 0.0
    while (there := slots()).free < need.slots and not given_up():
        if waited >= EXECUTORS_SECONDS:
            taken = f", of which other pipelines take {there.taken}" if there.taken else ""
            raise BuildFailed(
                f"real-time mode needs {need.explained()}, and Spark has {there.total}{taken}."
                f" {_more_slots(need.slots + there.taken) if local else 'Give it more cores'}, switch to topics with"
                " fewer partitions, or set `spark.trigger: microbatch`, which needs one."
            )
        wait(POLL_SECONDS)
        waited += POLL_SECONDS


def _more_slots(least: int) -> str:
    """In local mode a slot is a thread, and most of them wait: there may be many more than cores."""
    return f"Set `spark.master: local[{1 << (least - 1).bit_length()}]` (more than there are cores is fine)"
