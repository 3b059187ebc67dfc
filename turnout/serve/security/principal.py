"""Who asks."""

from dataclasses import dataclass

from starlette.types import Scope

from turnout.config_access import Role

_KEY = "turnout.principal"


@dataclass(frozen=True)
class Principal:
    name: str
    """As the log and the page show it: a token's name, or what the provider calls a person."""
    role: Role
    until: float | None = None
    """When that ends, in seconds since 1970."""
    session: str | None = None
    """By which it came, if it was a cookie's."""
    audited: bool = True
    """Whether the log says so when it switches."""

    @property
    def may_switch(self) -> bool:
        return self.role is Role.OPERATOR


ANYONE = Principal("anyone", Role.OPERATOR)
"""Where it was said that nobody is asked who they are."""
LOCAL = Principal("anyone", Role.OPERATOR, audited=False)
"""Where nothing was said: on loopback, among the programs of one machine, a name that all share tells nothing."""


def attach(scope: Scope, principal: Principal) -> None:
    scope[_KEY] = principal


def principal_of(scope: Scope) -> Principal:
    """Who was let in. A request that came by another way is a defect, and fails."""
    principal: Principal = scope[_KEY]
    return principal
