"""Looks after the topics that a pipeline depends on.

A client that reads a topic does not tell that the topic was deleted, or deleted and created anew, or that its broker
has stopped answering: it waits for better times. So they are asked after, every now and then.
"""

import threading
from collections.abc import Callable, Mapping

from turnout.errors import KafkaError
from turnout.kafka.client import Cluster
from turnout.kafka.credentials import Credentials
from turnout.kafka.topic_state import TopicState

ASK_SECONDS = 1.0
ANSWER_SECONDS = 4.0
"""A broker that takes longer is in trouble."""

Topics = Mapping[str, TopicState]


class TopicWatch:
    """One thread: tells when the topics are no longer what they were, and when nobody can tell."""

    def __init__(
        self,
        cluster: Cluster,
        credentials: Credentials,
        topics: Topics,
        on_lost: Callable[[KafkaError], None],
        on_trouble: Callable[[str | None], None],
    ) -> None:
        """`credentials` are those with which the topics are read. `on_lost` is called once, with what happened to the
        topics, or that there is another login by now; `on_trouble` with the reason why they cannot be
        asked after, and with None when they can again."""
        self._cluster, self._credentials, self._topics = cluster, credentials, topics
        self._on_lost, self._on_trouble = on_lost, on_trouble
        self._troubled = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {', '.join(topics)}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """It tells nothing any more. A question that is still open ends by itself: nobody waits for it."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(ASK_SECONDS):
            if lost := self._ask():
                if not self._stopping.is_set():
                    self._on_lost(KafkaError(lost))
                return

    def _ask(self) -> str | None:
        """What happened to the topics, if anything did."""
        try:
            found = self._cluster.describe(list(self._topics), ANSWER_SECONDS)
        except KafkaError as error:
            self._tell(str(error))
            return None
        self._tell(self._cluster.login_trouble)
        if self._cluster.credentials is not self._credentials:
            return f"the login to {self._cluster.bootstrap} has changed: going on with the new one"
        for topic, known in self._topics.items():
            if change := difference(topic, known, found[topic]):
                return change
        return None

    def _tell(self, trouble: str | None) -> None:
        if self._stopping.is_set() or (trouble is None and not self._troubled):
            return
        self._troubled = trouble is not None
        self._on_trouble(trouble)


def difference(topic: str, known: TopicState, found: TopicState | None) -> str | None:
    """What became of a topic, None if it is as it was."""
    if found is None:
        return f"topic {topic!r} was deleted: create it again, or switch to another"
    if found.id != known.id:
        return f"topic {topic!r} was deleted and created anew"
    if added := len(found.partitions) - len(known.partitions):
        return f"topic {topic!r} has {added} more partitions than before"
    return None
