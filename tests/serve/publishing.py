"""Takes control messages as Kafka would."""

from turnout.control.asked import Asked
from turnout.control.message import ControlMessage
from turnout.service import Service


class Published:
    """Says at once what becomes of a message."""

    def __init__(self, service: Service, outcome: str | None) -> None:
        self._service, self._outcome = service, outcome
        self.values: list[bytes] = []
        self.asked: list[Asked | None] = []

    def __call__(self, value: bytes, asked: Asked | None = None) -> str:
        message = ControlMessage(0, len(self.values), 0, value, asked)
        self._service.tables.outcome(message, None)
        self._service.tables.outcome(message, self._outcome)
        self.asked.append(asked)
        self.values.append(value)  # last: who sees it may go on from there with another outcome
        return message.id
