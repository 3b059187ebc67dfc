"""What can happen to a Turnout: each action says when it is possible, and does it. None waits for the outcome, unless
that is what it is about: the check after it does."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.torture import messages
from tests.torture.checks import COLUMNS
from tests.torture.model import understood
from tests.torture.process import BROKER, SPARK
from tests.torture.users_kafka import Condition
from tests.torture.world import CONTROL, DATA_TABLES, Failure, World
from turnout.crash_points import CrashPoint

MOST_VIEWERS, MOST_PARTITIONS = 6, 5
DEGRADED_SECONDS = 20.0
"""A broker that does not answer is asked for ten seconds."""

CRASH_SECONDS = 300.0
POLL_SECONDS = 0.2

# Only a backlog of tens of thousands of messages gets there.
CRASH_POINTS = [point for point in CrashPoint if point is not CrashPoint.CATCHING_UP]


@dataclass(frozen=True)
class Action:
    do: Callable[[World], None]
    possible: Callable[[World], bool]
    weight: int

    @property
    def name(self) -> str:
        return self.do.__name__.replace("_", " ")


ACTIONS: list[Action] = []


def action(weight: int, possible: Callable[[World], bool]) -> Callable[[Callable[[World], None]], None]:
    def register(do: Callable[[World], None]) -> None:
        ACTIONS.append(Action(do, possible, weight))

    return register


def always(_: World) -> bool:
    return True


def kafka_is_up(world: World) -> bool:
    return world.kafka.condition is Condition.UP


def connected(world: World) -> bool:
    return world.connected


def service_runs(world: World) -> bool:
    return world.service.running


def all_is_well(world: World) -> bool:
    return world.calm


# -- data


@action(10, kafka_is_up)
def produce(world: World) -> None:
    for topic in (world.some_topic(), world.some_topic()):
        count = world.rng.choice([1, 5, 40, 200])
        world.send(topic, [messages.row(world.rng, topic) for _ in range(count)])
        world.note(f"  {count} messages to {topic}")


@action(3, kafka_is_up)
def resend(world: World) -> None:
    topic = world.some_topic()
    values = [record.value for record in world.kafka.held(topic)]
    world.send(topic, world.rng.choices(values, k=20))
    world.note(f"  20 messages of {topic} once more")


@action(3, kafka_is_up)
def send_rubbish(world: World) -> None:
    topic = world.some_topic()
    world.send(topic, [messages.rubbish(world.rng) for _ in range(world.rng.randint(1, 12))])
    world.note(f"  rubbish to {topic}")


# -- control


@action(8, kafka_is_up)
def switch_pair(world: World) -> None:
    value = messages.switch(world.rng, world.other_tag())
    world.note(f"  {value.decode()}")
    world.publish([value])


@action(4, all_is_well)
def switch_there_and_back(world: World) -> None:
    there = messages.switch(world.rng, world.other_tag(), "full")
    back = messages.switch(world.rng, world.shown_tag, "inner")
    for value in (there, back):
        _applied(world, value)


def _applied(world: World, value: bytes) -> None:
    code, answer = world.service.post("/api/control", value)
    world.noted_message()
    world.note(f"  {value.decode()}: {code} {answer}")
    # 202: it takes longer than the server waits.
    if code != 202 and (code != 200 or answer["outcome"] not in ("applied", "no change")):
        raise Failure(f"{value!r} must be applied, but: {code} {answer}")


@action(5, kafka_is_up)
def another_join(world: World) -> None:
    value = messages.join_alone(world.rng)
    world.note(f"  {value.decode()}")
    world.publish([value])


@action(3, all_is_well)
def undo(world: World) -> None:
    before, known = world.desired.before, world.desired.past is not None
    code, answer = world.service.post("/api/undo")
    world.note(f"  undo, to {before if known else 'wherever'}: {code} {answer}")
    if code == 409 and (before is None or not known):
        return
    world.noted_message()
    if code not in (200, 202):
        raise Failure(f"undo must lead to {before}, but: {code} {answer}")
    if known:
        offset = int(answer["id"].partition(":")[2])
        asked = understood(world.kafka.held(CONTROL)[offset].value)
        if asked is None or asked.onto(world.desired.seen) != before:
            raise Failure(f"undo must lead to {before}, but asked for {asked}")


@action(3, kafka_is_up)
def storm_of_control_messages(world: World) -> None:
    kinds: list[Callable[[], bytes | None]] = [
        lambda: messages.switch(world.rng, world.rng.choice(messages.PAIRS)),
        lambda: messages.join_alone(world.rng),
        lambda: messages.refused(world.rng),
        lambda: b"{}",
    ]
    storm = [world.rng.choices(kinds, [5, 3, 3, 1])[0]() for _ in range(world.rng.randint(50, 200))]
    world.note(f"  {len(storm)} control messages at once, the last {storm[-1]!r}")
    world.publish(storm)


@action(3, all_is_well)
def switch_to_missing_topic(world: World) -> None:
    before = world.service.status()
    code, answer = world.service.post("/api/control", messages.to_missing())
    world.noted_message()
    if code != 422 or messages.MISSING not in answer["outcome"]:
        raise Failure(f"a switch to a topic that does not exist must be rejected, but: {code} {answer}")
    after = world.service.status()
    for name in ("usersTopic", "accountsTopic", "joinType", "generation", "state", "lastApplied"):
        if before[name] != after[name]:
            raise Failure(f"a rejected switch changed {name} from {before[name]} to {after[name]}")


# -- faults of the service's own parts


@action(3, lambda world: world.service.running and bool(world.service.java(SPARK)))
def kill_spark(world: World) -> None:
    _kill(world, SPARK)


@action(3, lambda world: world.service.running and bool(world.service.java(BROKER)))
def kill_the_bus(world: World) -> None:
    _kill(world, BROKER)


def _kill(world: World, main_class: str) -> None:
    world.fault()
    for pid in world.service.java(main_class):
        world.note(f"  process {pid} is killed")
        os.kill(pid, signal.SIGKILL)


# -- faults of the users' Kafka


@action(2, kafka_is_up)
def kill_the_users_broker(world: World) -> None:
    world.fault()
    world.kafka.kill()
    if world.rng.random() < 0.5:
        world.kafka.start()
        world.note("  and is up again")


@action(2, lambda world: world.kafka.condition is Condition.DOWN)
def start_the_users_broker(world: World) -> None:
    world.kafka.start()


@action(2, kafka_is_up)
def freeze_the_users_broker(world: World) -> None:
    seconds = world.rng.choice([5, 15, 25, 60] if world.patient else [4, 5, 6])
    calm = world.calm
    world.note(f"  for {seconds} s")
    world.fault()
    world.kafka.freeze()
    thaw_at = time.monotonic() + seconds
    if calm and seconds > DEGRADED_SECONDS:
        world.service.until_state("degraded", "does not answer", DEGRADED_SECONDS)
    time.sleep(max(0.0, thaw_at - time.monotonic()))  # how long it lasts is what this is about
    world.kafka.thaw()


@action(2, kafka_is_up)
def add_partitions(world: World) -> None:
    topic = world.some_topic()
    if (total := world.partitions[topic] + 1) > MOST_PARTITIONS:
        return
    world.note(f"  {topic} has {total}")
    world.fault()
    world.kafka.add_partitions(topic, total)
    world.partitions[topic] = total
    world.send(topic, [messages.row(world.rng, topic) for _ in range(20)])


@action(2, all_is_well)
def recreate_a_live_topic(world: World) -> None:
    topic = world.some_topic(world.shown_tag)
    world.note(f"  {topic}")
    before = {name: world.service.table(name) for name in COLUMNS}
    _delete(world, topic)
    if world.rng.random() < 0.7:
        world.service.until_state("degraded", repr(topic), 2 * DEGRADED_SECONDS)
        for name, its_rows in before.items():
            if world.service.table(name) != its_rows:
                raise Failure(f"{name} changed when topic {topic} was deleted")
    _create_again(world, topic)


@action(2, kafka_is_up)
def recreate_another_topic(world: World) -> None:
    topic = world.some_topic(world.other_tag())
    world.note(f"  {topic}")
    _delete(world, topic)
    _create_again(world, topic)


def _delete(world: World, topic: str) -> None:
    world.fault()
    world.may_be_empty = True
    world.recreated.add(topic)
    world.kafka.delete(topic)


def _create_again(world: World, topic: str) -> None:
    world.create_data_topic(topic)
    world.send(topic, [messages.row(world.rng, topic) for _ in range(20)])


# -- the service


@action(2, service_runs)
def kill_the_service(world: World) -> None:
    world.service.kill()
    world.calm = False
    if world.rng.random() < 0.7:
        world.start_service()


@action(2, lambda world: not world.service.running)
def start_the_service(world: World) -> None:
    world.start_service()


@action(3, connected)
def kill_the_service_in_a_switch(world: World) -> None:
    value = messages.switch(world.rng, world.other_tag())
    seconds = world.rng.uniform(0, 2)
    world.note(f"  {seconds:.2f} s after {value.decode()}")
    world.publish([value])
    time.sleep(seconds)  # anywhere in the switch
    world.service.kill()
    world.start_service()


@action(3, connected)
def crash_the_service(world: World) -> None:
    """Some points are passed already when it starts, others by a switch, others when what lingers is retired."""
    point, time_ = world.rng.choice(CRASH_POINTS), world.rng.choice([1, 2])
    world.service.kill()
    world.start_service(f"{point}:{time_}")
    deadline = time.monotonic() + CRASH_SECONDS
    while not world.service.until_crashed(POLL_SECONDS):
        if world.service.is_idle():
            world.publish([messages.switch(world.rng, world.rng.choice(messages.PAIRS))])
        if time.monotonic() > deadline:
            raise Failure(f"crash point {point}:{time_} was not reached")
    world.note("  it crashed")
    world.start_service()


@action(2, service_runs)
def terminate_the_service(world: World) -> None:
    began = time.monotonic()
    code = world.service.terminate()
    world.note(f"  exit code {code} after {time.monotonic() - began:.1f} s")
    if code != 0:
        raise Failure(f"SIGTERM ended the service with exit code {code}")
    world.calm = False
    if world.rng.random() < 0.7:
        world.start_service()


# -- viewers


@action(3, lambda world: len(world.viewers) < MOST_VIEWERS)
def connect_a_viewer(world: World) -> None:
    table = world.rng.choice(DATA_TABLES)
    world.note(f"  of {table}")
    world.add_viewer(table)


@action(1, lambda world: bool(world.viewers))
def drop_a_viewer(world: World) -> None:
    viewer = world.viewers.pop(world.rng.randrange(len(world.viewers)))
    world.note(f"  of {viewer.table}")
    viewer.drop()


@action(2, lambda world: bool(world.viewers) and kafka_is_up(world))
def let_a_viewer_stop_reading(world: World) -> None:
    """Until the next check, while more comes than fits between."""
    viewer = world.rng.choice(world.viewers)
    world.note(f"  of {viewer.table}")
    viewer.pause()
    for topic in (messages.users_topic(world.shown_tag), messages.accounts_topic(world.shown_tag)):
        world.send(topic, [messages.row(world.rng, topic) for _ in range(1000)])
