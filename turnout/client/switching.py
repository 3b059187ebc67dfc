"""Control messages: what they are made of, and what becomes of them."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from turnout.client.errors import OutcomeUnknown, SwitchRejected, TableMissing, Unreachable
from turnout.client.server import Server

OUTCOME_SECONDS = 90.0
"""More than a build may take before it is given up (switch.ready_timeout_seconds, 60 by default)."""

POLL_SECONDS = 0.5

_KEYWORD, _FIELD = "_topic", "Topic"
_JOIN = "joinType"
_REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a control message."""

    id: str
    """The message's partition and offset in the control topic: its row in `control_raw`."""
    text: str
    """`applied`, `no change` or `superseded`."""

    @property
    def applied(self) -> bool:
        """It changed what is shown."""
        return self.text == "applied"

    @property
    def in_force(self) -> bool:
        """What was asked for is what is shown, whether that is new or not."""
        return self.text in ("applied", "no change")


def switch_message(status: Mapping[str, object], topics: Mapping[str, str | None], join: str | None) -> dict[str, str]:
    """The control message for these keywords; which there are is told by the fields of the server's status."""
    keywords = {field.removesuffix(_FIELD) + _KEYWORD: field for field in status if field.endswith(_FIELD)}
    for keyword in topics:
        if keyword not in keywords:
            raise SwitchRejected(f"There is no {keyword!r} to switch: there are {', '.join(keywords)} and join.")
    asked = {**{keywords[keyword]: topic for keyword, topic in topics.items()}, _JOIN: join}
    message = {field: value for field, value in asked.items() if value is not None}
    if not message:
        raise SwitchRejected(f"There is nothing to switch to: give one or more of {', '.join(keywords)}, join.")
    return message


def publish(server: Server, path: str, body: bytes, timeout: float) -> Outcome:
    """Send a control message and wait for what becomes of it."""
    deadline = time.monotonic() + timeout
    try:
        with server.open(path, body, timeout, allowed=(200, 202, 422)) as response:
            answer = json.load(response)
    except Unreachable as error:
        if isinstance(error.__context__, ConnectionRefusedError):
            raise
        raise OutcomeUnknown(
            f"{error} The control message may have been published: see `turnout tail control_raw`."
        ) from None
    id_, text = answer["id"], answer.get("outcome")
    while text is None:
        if time.monotonic() > deadline:
            raise OutcomeUnknown(
                f"Control message {id_} has no outcome yet, after {timeout:g} s. It is published and will be dealt "
                "with: see `turnout tail control_raw` and `turnout logs`."
            )
        time.sleep(POLL_SECONDS)
        text = _outcome(server, id_)
    outcome = Outcome(id_, text)
    if text.startswith(_REJECTED):
        raise SwitchRejected(text.removeprefix(_REJECTED).lstrip(": "), outcome)
    return outcome


def _outcome(server: Server, id_: str) -> str | None:
    """None: not known yet. A server that restarts meanwhile reads the control topic again, and will know it."""
    try:
        outcome = server.json(f"/api/control/{quote(id_, safe='')}")["outcome"]
    except (Unreachable, TableMissing):
        return None
    return None if outcome is None else str(outcome)
