"""What a control message would come to, if it were sent now."""

from dataclasses import dataclass
from enum import StrEnum

from turnout.orchestrator.desired import Desired


class Work(StrEnum):
    """What has to be done to show another state."""

    NONE = "none"
    VIEW = "view"
    RETURN = "return"
    BUILD = "build"


WORDS = {
    Work.NONE: "Nothing would change: that is live already.",
    Work.VIEW: "Only the type of join changes: the same pipeline is shown in another way, at once.",
    Work.RETURN: "The pipeline on these topics still runs: it is shown again, at once.",
    Work.BUILD: "A new pipeline is built on these topics; what is live stays until the new one has caught up.",
}


@dataclass(frozen=True)
class Preview:
    current: Desired
    desired: Desired
    work: Work
    ignored: tuple[str, ...]
    """Fields of the message that nobody knows."""

    @property
    def text(self) -> str:
        return WORDS[self.work]
