"""A real server that asks who somebody is, as `turnout run` would start it."""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
import yaml

from tests.serve.publishing import Published
from tests.waiting import until
from turnout.address import listen, url_at
from turnout.config import load
from turnout.serve.run import server_config
from turnout.serve.security.tokens import hash_of
from turnout.service import Service

VIEWER, OPERATOR, EXPIRED, WRONG = "v" * 43, "o" * 43, "e" * 43, "w" * 43
TOKENS: dict[str, dict[str, str]] = {
    "wall-screen": {"role": "viewer", "hash": hash_of(VIEWER)},
    "deploy-bot": {"role": "operator", "hash": hash_of(OPERATOR)},
    "intern": {"role": "operator", "hash": hash_of(EXPIRED), "expires": "2020-01-01T00:00:00Z"},
}


class Guarded:
    """Its control messages are applied at once, and its log is what is in the table."""

    def __init__(self, service: Service, url: str) -> None:
        self.service, self.url = service, url
        self.published = Published(service, "applied")
        service.publish_control = self.published  # type: ignore[method-assign]  # there is no Kafka behind it
        service.publish_undo = lambda asked=None: self.published(b"{}", asked)  # type: ignore[method-assign]

    def client(self, token: str | None = None, **more: Any) -> httpx.Client:
        headers = {**more.pop("headers", {}), **(bearer(token) if token else {})}
        return httpx.Client(base_url=self.url, headers=headers, timeout=10, **more)

    @property
    def socket_url(self) -> str:
        return self.url.replace("http", "ws", 1)

    def logged(self) -> list[str]:
        rows = self.service.tables.registry.snapshot("orchestrator_logs").rows
        return [f"{row['level']} {row['msg']}" for row in rows.to_dicts()]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def guarded(directory: Path, serve: Mapping[str, Any]) -> Iterator[Guarded]:
    """`serve` is that section of a configuration."""
    file = directory / "turnout.yaml"
    file.write_text(yaml.safe_dump({"serve": {"port": 0, **serve}, "state_dir": str(directory / "state")}))
    service = Service(load(file, env={}))
    product = logging.getLogger("turnout")
    level = product.level
    product.setLevel(logging.INFO)
    product.addHandler(service.tables.log_handler)
    with listen(service.config.serve) as listener:
        server = uvicorn.Server(server_config(service, timeout_graceful_shutdown=1, ws_ping_interval=None))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            until(lambda: server.started, "the server answers")
            yield Guarded(service, url_at(listener, service.config.serve.scheme))
        finally:
            server.should_exit = True
            thread.join()
            product.removeHandler(service.tables.log_handler)
            product.setLevel(level)
