"""A follower among fakes: a leader's words and its pipelines' rows are put on a bus in memory."""

from dataclasses import dataclass, field

from tests.bus.fakes import FakeBus
from tests.histories import encode
from turnout.bus.bulletin import Begin, Entry, Row, Showing, Undo, written
from turnout.bus.topics import BusTopics
from turnout.changelog.intake import Intake
from turnout.config import Config, load
from turnout.follower import Follower
from turnout.orchestrator.desired import Desired
from turnout.orchestrator.parts import Status
from turnout.orchestrator.states import State
from turnout.pipeline.manifest import fingerprint
from turnout.schema import JoinType, Topics
from turnout.tables.delta import ROW
from turnout.tables.public import STATUS_ROW, PublicTables

DATA = Topics("users", "accounts")
STATUS = "orchestrator_status"
LOG = "orchestrator_logs"


@dataclass
class Following:
    config: Config = field(default_factory=lambda: load(None, env={}))
    bus: FakeBus = field(default_factory=FakeBus)
    is_led: bool = True
    term: int = 1

    def __post_init__(self) -> None:
        self.tables = PublicTables(self.config)
        self.tables.status(Status(Desired(DATA, JoinType.LEFT), None, State.STARTING, 0, "starting"))
        self.topics = BusTopics(self.config.changelog.prefix)
        self.bus.create_topics([self.topics.bulletin])
        self.follower = Follower(
            self.config, self.bus.cluster, self.bus.cluster, self.tables, Intake(), lambda: self.is_led
        )

    def tell(self, *entries: Entry) -> None:
        for entry in entries:
            self.bus.put(self.topics.bulletin, *written(entry, self.term))

    def begin(self) -> None:
        """Somebody leads, and all is well."""
        self.tell(Begin("the leader"), Undo(None), self.status("live"))

    def status(self, state: str, message: str = "as the leader says") -> Row:
        row = {"usersTopic": DATA.left, "accountsTopic": DATA.right, "joinType": "left", "lastApplied": None}
        return Row(STATUS, STATUS_ROW, row | {"state": state, "generation": 1, "message": message})

    def log_line(self, number: int, message: object = "a line", **more: object) -> Row:
        return Row(LOG, f"{number:012d}", {"ts": "now", "level": "INFO", "msg": message, **more})

    def pipeline(self, id_: str, *users: str) -> None:
        """Its topics, with a row for each user."""
        self.bus.create_topics([self.topics.changelog(id_), self.topics.rejected(id_)])
        for offset, user in enumerate(users):
            row = {"v": {"userId": user}, "t": 0, "o": offset, "p": 0}
            record = {"k": user, "l": [row], "ln": 1, "rn": 0, "at": f"l/0/{offset}"}
            self.bus.put(self.topics.changelog(id_), user.encode(), encode(record))

    def retire(self, id_: str) -> None:
        self.bus.delete_topics([self.topics.changelog(id_), self.topics.rejected(id_)])

    def showing(self, generation: int, pipeline: str, join: JoinType = JoinType.LEFT) -> Showing:
        starts = {DATA.left: {"0": 0}, DATA.right: {"0": 0}}
        prefix, columns = self.config.changelog.prefix, fingerprint(self.config.join_schema())
        return Showing(generation, Desired(DATA, join), pipeline, prefix, starts, columns)

    # -- what is shown

    @property
    def generation(self) -> int:
        return self.tables.registry.generation

    def users(self) -> list[object]:
        return self.tables.registry.snapshot("users_ui").rows["userId"].to_list()

    def lines(self) -> list[object]:
        """The ids of the log's rows."""
        return self.tables.registry.snapshot(LOG).rows[ROW].to_list()

    @property
    def said(self) -> tuple[object, object]:
        row = self.tables.status_row()
        return row["state"], row["message"]

    def is_read(self, pipeline: str) -> bool:
        return self.bus.open(self.topics.changelog(pipeline)) > 0
