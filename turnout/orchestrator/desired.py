"""What the public tables are to show."""

from dataclasses import dataclass

from turnout.schema import JoinType, Topics


@dataclass(frozen=True)
class Desired:
    topics: Topics
    join: JoinType

    def __str__(self) -> str:
        return f"{self.topics} ({self.join})"
