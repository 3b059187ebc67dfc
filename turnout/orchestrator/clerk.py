"""Reads control messages: what each asks for, and whether that can be had."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from turnout.control.message import ControlFields, ControlMessage, Request, parse, resolve
from turnout.errors import ControlRejected, KafkaError
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.past import Past, folded, states
from turnout.schema import Topics

log = logging.getLogger(__name__)

_Entry = tuple[ControlMessage, Request]


@dataclass
class Folded:
    """What a history of messages comes to."""

    desired: Desired
    past: Past
    last: ControlMessage | None = None
    """The message that the desired state is due to."""
    superseded: list[ControlMessage] = field(default_factory=list)
    rejected: list[tuple[ControlMessage, str]] = field(default_factory=list)


class Clerk:
    """Asks for each topic once between two calls of `forget`, however many messages name it."""

    def __init__(self, fields: ControlFields, missing: Callable[[Sequence[str]], list[str]]) -> None:
        self._fields, self._ask = fields, missing
        self._absent: dict[str, bool] = {}
        self._unknown: KafkaError | None = None

    def forget(self) -> None:
        """Topics come and go: what was asked a while ago may be wrong now."""
        self._absent, self._unknown = {}, None

    def resolve(self, value: bytes, current: Desired) -> tuple[Desired, tuple[str, ...]]:
        """What is desired after this message, and the fields in it that nobody knows. Raises ControlRejected."""
        request = parse(value, self._fields)
        desired = resolve(current, request)
        try:
            missing = self._missing(desired.topics)
        except KafkaError as error:
            raise ControlRejected(str(error)) from None
        if missing:
            raise ControlRejected(_absent(missing))
        return desired, request.ignored

    def fold(self, default: Desired, messages: Sequence[ControlMessage]) -> Folded:
        """All messages as one desired state. One that names a missing topic is rejected as it would be live."""
        result = Folded(default, Past(default))
        requests: list[_Entry] = []
        for message in messages:
            try:
                requests.append((message, parse(message.value, self._fields)))
            except ControlRejected as rejected:
                result.rejected.append((message, str(rejected)))
        possible, impossible = _possible(default, requests)
        while faulty := self._faulty(default, possible):
            result.rejected.append(faulty)
            requests = [entry for entry in requests if entry[0] is not faulty[0]]
            # What could not be had with the faulty one may be had without it.
            possible, impossible = _possible(default, requests)
        result.rejected += impossible
        result.past = folded(default, [request for _, request in possible], self._may_exist)
        result.desired = _outcome(default, possible)
        if possible:
            result.last = possible[-1][0]
            result.superseded = [message for message, _ in possible[:-1]]
        return result

    def _faulty(self, default: Desired, requests: Sequence[_Entry]) -> tuple[ControlMessage, str] | None:
        """A message to leave out of the fold because of a missing topic, and why."""
        try:
            missing = self._missing(_outcome(default, requests).topics)
        except KafkaError as error:  # the build will meet it too, and is tried again
            log.warning("Whether the topics exist is unknown: %s", error)
            return None
        for message, request in reversed(requests):
            if any(request.names(topic) for topic in missing):
                return message, _absent(missing)
        return None

    def _may_exist(self, desired: Desired) -> bool:
        """Do its topics exist, as far as anybody knows?"""
        try:
            return not self._missing(desired.topics)
        except KafkaError:
            return True

    def _missing(self, topics: Topics) -> list[str]:
        if self._unknown is not None:  # a broker that does not answer takes ten seconds each time not to
            raise self._unknown
        unknown = [topic for topic in (topics.left, topics.right) if topic not in self._absent]
        if unknown:
            try:
                absent = self._ask(unknown)
            except KafkaError as error:
                self._unknown = error
                raise
            self._absent.update({topic: topic in absent for topic in unknown})
        return [topic for topic in (topics.left, topics.right) if self._absent[topic]]


def _possible(default: Desired, requests: Sequence[_Entry]) -> tuple[list[_Entry], list[tuple[ControlMessage, str]]]:
    """The requests that can be merged into those before them; and those that cannot, with the reason."""
    desired, possible = default, list[_Entry]()
    impossible: list[tuple[ControlMessage, str]] = []
    for message, request in requests:
        try:
            desired = resolve(desired, request)
        except ControlRejected as rejected:
            impossible.append((message, str(rejected)))
        else:
            possible.append((message, request))
    return possible, impossible


def _outcome(default: Desired, requests: Sequence[_Entry]) -> Desired:
    """What all of them come to."""
    *_, last = states(default, [request for _, request in requests])
    return last


def _absent(topics: Sequence[str]) -> str:
    names = " and ".join(repr(topic) for topic in topics)
    return f"topic {names} does not exist: create it first, or name another"
