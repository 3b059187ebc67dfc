"""What is wrong, and what a person can do about it."""

from collections.abc import Iterable

from turnout.errors import KafkaError
from turnout.properties import MASK


class Obstacle(KafkaError):
    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}: {remedy}")
        self.reason, self.remedy = reason, remedy


def quoted(text: str, secrets: Iterable[str]) -> str:
    """What another program said, on one line, and without the secrets that it may have repeated."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return " ".join(text.split())[:300]
