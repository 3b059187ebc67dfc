"""Who asked for a switch over HTTP, from where, and whether they might: a line each in the log."""

import logging

from starlette.types import Scope

from turnout.control.asked import Asked, in_one_line
from turnout.serve.security.principal import Principal, principal_of
from turnout.serve.security.scope import client_of

SWITCHES = ("/api/control", "/api/undo")
log = logging.getLogger(__name__)


def accepted(scope: Scope, message: bytes | None = None) -> Asked | None:
    """Before it is published: whatever becomes of it, it is known who asked. What its message is to tell of that."""
    who, what = principal_of(scope), "undo" if message is None else in_one_line(message)
    if not who.audited:
        return None
    log.info("Switch over HTTP by %s from %s: accepted: %s", who.name, client_of(scope), what)
    return Asked(who.name, client_of(scope))


def denied(scope: Scope, principal: Principal | None, why: str) -> None:
    """The message of somebody who may not send one is not even read."""
    who = "somebody unknown" if principal is None else principal.name
    log.warning("Switch over HTTP by %s from %s: denied: %s: %s", who, client_of(scope), scope["path"], why)


def is_switch(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] == "POST" and scope["path"].rstrip("/") in SWITCHES
