"""What can go wrong between a client and its Turnout. All of it is a TurnoutError, and says what to do."""

from typing import TYPE_CHECKING

from turnout.errors import NothingToUndo, QueryRefused, TableMissing, TurnoutError

if TYPE_CHECKING:
    from turnout.client.switching import Outcome

__all__ = [
    "NotLoggedIn",
    "NotPermitted",
    "NothingToUndo",
    "OutcomeUnknown",
    "QueryRefused",
    "SwitchRejected",
    "TableMissing",
    "TurnoutError",
    "Unavailable",
    "Unreachable",
]


class Unreachable(TurnoutError):
    """Nothing answers at the address, the connection broke, or it has been silent for too long."""


class Unavailable(TurnoutError):
    """It answers, but cannot do that now: it still starts, or its Kafka does not answer."""


class NotLoggedIn(TurnoutError):
    """It asks who you are, and no token was sent, or one that is not good."""


class NotPermitted(TurnoutError):
    """It knows who you are, and you may not do that; or it may not, at its Kafka."""


class SwitchRejected(TurnoutError):
    """A switch was refused, and what is shown goes on; the text says why."""

    def __init__(self, reason: str, outcome: "Outcome | None" = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        """None: it was not even sent."""


class OutcomeUnknown(TurnoutError):
    """A control message was sent, and nothing was heard of what became of it in time."""
