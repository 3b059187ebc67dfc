"""Whose token is it?"""

from turnout.serve.security.oidc import Oidc
from turnout.serve.security.principal import Principal
from turnout.serve.security.refusal import not_logged_in
from turnout.serve.security.tokens import Tokens


class Guard:
    """Knows the configuration's own tokens, and those of a provider if there is one."""

    def __init__(self, tokens: Tokens, oidc: Oidc | None) -> None:
        self._tokens, self._oidc = tokens, oidc

    async def bearer(self, token: str) -> Principal:
        if (known := self._tokens.find(token)) is not None:
            return known
        if self._oidc is not None and token.count(".") == 2:  # what a provider signs has three parts
            return await self._oidc.bearer(token)
        raise not_logged_in("this token is not known here", wrong=True)
