"""A real server whose tables are fed by hand, which can end and come back on its port.

`python -m tests.client.fed PORT GENERATION ROWS` runs one as a process of its own, with so many users.
"""

import sys
import threading
import time
from collections.abc import Iterable, Mapping
from logging import INFO, LogRecord
from types import MappingProxyType

import uvicorn

from tests.secure.ports import lasting_ports
from tests.serve.feeding import change, swap
from tests.waiting import until
from turnout.address import listen
from turnout.config import ServeConfig, load
from turnout.serve.app import create_app
from turnout.serve.following import Following
from turnout.service import Service


class Fed:
    """`users_ui` of a service that has nothing behind it."""

    def __init__(self, port: int = 0, env: Mapping[str, str] = MappingProxyType({})) -> None:
        """`env` is what the configuration differs by from the default."""
        self.service = Service(load(None, env=env))
        self._listener = listen(ServeConfig(port=port or free_port()))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(create_app(self.service), log_config=None, timeout_graceful_shutdown=0)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        until(lambda: self._server.started, "the server answers")

    def change(self, rows: Iterable[tuple[str, int | None]], removes: Iterable[str] = ()) -> None:
        change(self.service, rows, removes)

    def swap(self, generation: int, rows: Iterable[tuple[str, int | None]]) -> None:
        swap(self.service, generation, rows)

    def held(self) -> dict[str, dict[str, object]]:
        """What a client must hold: the rows by id, in their order."""
        rows = self.service.tables.registry.snapshot("users_ui").rows.to_dicts()
        return {str(row.pop("_row")): row for row in rows}

    @property
    def followers(self) -> int:
        """Streams of `users_ui` that are open."""
        listeners = self.service.tables.registry._listeners["users_ui"]
        return sum(isinstance(getattr(listener, "__self__", None), Following) for listener in listeners)

    @property
    def generation(self) -> int:
        return self.service.tables.registry.generation

    def log(self, text: str) -> None:
        self.service.tables.log_handler.emit(LogRecord("turnout", INFO, "", 0, text, (), None))

    def stop(self) -> None:
        """Streams that are open are cut."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


def free_port() -> int:
    """One that stays free while nobody listens on it."""
    (port,) = lasting_ports(1)
    return port


def main(port: str, generation: str, rows: str) -> None:
    fed = Fed(int(port))
    if int(generation):
        fed.swap(int(generation), [(str(number), number) for number in range(int(rows))])
    fed.log("up")
    print("up", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
