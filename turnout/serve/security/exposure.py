"""Whoever is on the network can reach what does not listen on loopback: it has to be said who may."""

import logging

from turnout.config import Config
from turnout.config_access import is_loopback
from turnout.errors import ConfigError

log = logging.getLogger(__name__)


def refuse_exposure(config: Config) -> None:
    """Raises unless it has been decided who may come in."""
    serve = config.serve
    if is_loopback(serve.host) or serve.auth.asks or serve.auth.open:
        return
    raise ConfigError(
        f"{config.written_at('serve', 'host')}: serve.host: {serve.host!r} can be reached from the network, and "
        "nothing says who may come in. Choose one: give out tokens (serve.auth.tokens; `turnout token` makes one), let "
        "people log in at an OpenID Connect provider (serve.auth.oidc), or say that anyone may read and switch "
        "(serve.auth.open: true). Or listen on 127.0.0.1, for this machine alone."
    )


def warn_of_exposure(config: Config) -> None:
    serve = config.serve
    if serve.auth.open and not is_loopback(serve.host):
        log.warning("Anyone who reaches %s may read and switch: serve.auth.open is true", serve.host)
    elif serve.auth.asks and not serve.tls.certificate and not is_loopback(serve.host):
        log.warning(
            "Tokens and cookies cross the network in plain text: set serve.tls, or put a proxy with TLS before it"
        )
