"""Takes control messages as Kafka would."""

from turnout.control.message import ControlMessage
from turnout.service import Service


class Published:
    """Says at once what becomes of a message."""

    def __init__(self, service: Service, outcome: str | None) -> None:
        self._service, self._outcome = service, outcome
        self.values: list[bytes] = []

    def __call__(self, value: bytes) -> str:
        message = ControlMessage(0, len(self.values), 0, value)
        self.values.append(value)
        self._service.tables.outcome(message, None)
        self._service.tables.outcome(message, self._outcome)
        return message.id
