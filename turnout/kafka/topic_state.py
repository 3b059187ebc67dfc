"""What a topic is at a moment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicState:
    """A topic as it is now. Its id tells it from one of the same name that was deleted."""

    id: str
    partitions: tuple[int, ...]
