"""Control messages: what one asks for, and what that makes of the desired state."""

import json
from dataclasses import dataclass

from turnout.control.asked import Asked
from turnout.errors import ControlRejected
from turnout.orchestrator.desired import Desired
from turnout.schema import JoinType, Topics, parse_join_type, topic_name_problem


@dataclass(frozen=True)
class ControlMessage:
    """A control message as it came."""

    partition: int
    offset: int
    timestamp_ms: int
    value: bytes
    asked: Asked | None = None
    """Who asked for it, if that was over HTTP."""

    @property
    def id(self) -> str:
        return f"{self.partition}:{self.offset}"


@dataclass(frozen=True)
class ControlFields:
    """What the fields of a control message are called."""

    left: str
    right: str
    join: str = "joinType"


@dataclass(frozen=True)
class Request:
    """What a control message asks for; None keeps what is."""

    left: str | None
    right: str | None
    join: JoinType | None
    ignored: tuple[str, ...] = ()

    def names(self, topic: str) -> bool:
        return topic in (self.left, self.right)


def parse(value: bytes, fields: ControlFields) -> Request:
    try:
        # No number is ever used, and one of a million digits is no reason to fail.
        message = json.loads(value.decode("utf-8-sig"), parse_int=float, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ControlRejected(f"not JSON: {_syntax(error)}") from None
    if not isinstance(message, dict):
        raise ControlRejected(f"not a JSON object, but {_kind(message)}")
    known = (fields.left, fields.right, fields.join)
    return Request(
        _topic(message, fields.left),
        _topic(message, fields.right),
        _join(message, fields.join),
        tuple(name for name in message if name not in known),
    )


def resolve(current: Desired, request: Request) -> Desired:
    """The current desired state with what the request asks for."""
    topics = Topics(request.left or current.topics.left, request.right or current.topics.right)
    if topics.left == topics.right:
        raise ControlRejected(f"both topics are {topics.left!r}: a topic cannot be joined with itself")
    return Desired(topics, request.join or current.join)


def compose(desired: Desired, fields: ControlFields) -> bytes:
    """The control message that asks for this state, whatever the current one is."""
    topics = desired.topics
    return json.dumps({fields.left: topics.left, fields.right: topics.right, fields.join: desired.join}).encode()


def _text(message: dict[str, object], field: str) -> str | None:
    value = message.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise ControlRejected(f"{field} must be a string, but is {_kind(value)}")
    return value.strip() or None


def _topic(message: dict[str, object], field: str) -> str | None:
    name = _text(message, field)
    if name is not None and (problem := topic_name_problem(name)):
        raise ControlRejected(f"{field}: {problem}")
    return name


def _join(message: dict[str, object], field: str) -> JoinType | None:
    name = _text(message, field)
    try:
        return None if name is None else parse_join_type(name)
    except ValueError as error:
        raise ControlRejected(f"{field}: {error}") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _refuse(constant: str) -> None:
    """Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is not a value")


def _syntax(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
        case UnicodeDecodeError():
            return "not UTF-8 text"
        case RecursionError():
            return "nested too deeply"
        case _:
            return str(error)
