"""The topics that Turnout makes on the bus, by name: all begin with one prefix, and nothing else is ever deleted."""

import re
from dataclasses import dataclass

DEFAULT_PREFIX = "turnout-"
PIPELINE_ID = re.compile("[0-9a-f]{12}")

_CHANGELOG, _REJECTED = "-changelog", "-rejected"
LONGEST_NAME = f"{'0' * 12}{_CHANGELOG}"
"""Of what comes after the prefix."""


@dataclass(frozen=True)
class BusTopics:
    prefix: str = DEFAULT_PREFIX

    @property
    def claims(self) -> str:
        """Who uses which of the others: see turnout.bus.claims."""
        return f"{self.prefix}claims"

    @property
    def lease(self) -> str:
        """Who leads: see turnout.bus.lease."""
        return f"{self.prefix}lease"

    @property
    def manifests(self) -> str:
        """What the pipelines need to go on: see turnout.bus.manifest_topic."""
        return f"{self.prefix}manifests"

    @property
    def bulletin(self) -> str:
        """What whoever leads shows: see turnout.bus.bulletin."""
        return f"{self.prefix}bulletin"

    def changelog(self, pipeline: str) -> str:
        return f"{self.prefix}{pipeline}{_CHANGELOG}"

    def rejected(self, pipeline: str) -> str:
        return f"{self.prefix}{pipeline}{_REJECTED}"

    def pipeline(self, topic: str) -> str | None:
        """The id of the pipeline that a topic of this name belongs to; None if it is nobody's, or somebody else's."""
        if not topic.startswith(self.prefix):
            return None
        name = topic.removeprefix(self.prefix)
        pipeline = name.removesuffix(_CHANGELOG) if name.endswith(_CHANGELOG) else name.removesuffix(_REJECTED)
        return pipeline if pipeline != name and PIPELINE_ID.fullmatch(pipeline) else None

    def owns(self, topic: str) -> bool:
        return topic in (self.claims, self.lease, self.manifests, self.bulletin) or self.pipeline(topic) is not None
