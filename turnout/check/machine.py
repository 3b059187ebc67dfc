"""What the machine must have: Python, Java, a directory, a port."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from turnout.address import listen
from turnout.check.finding import Finding, find
from turnout.config import Config, ServeConfig
from turnout.config_access import is_loopback
from turnout.errors import SetupError
from turnout.java import find_java, java_parts
from turnout.serve.security.exposure import refuse_exposure
from turnout.serve.tls import check_certificate

OLDEST_PYTHON = (3, 11)


def programs() -> Iterator[Finding]:
    yield find("Python", _python)
    yield find("Java", _java)
    yield find("Java parts", _parts)


def places(config: Config) -> Iterator[Finding]:
    yield find("state directory", lambda: _state_dir(config.state_dir))
    yield find("port", lambda: _port(config.serve))
    serve = config.serve
    if serve.auth.asks or serve.tls.certificate or not is_loopback(serve.host):
        yield find("logins", lambda: _logins(config))


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        raise SetupError(f"{version} is too old: install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return version


def _java() -> str:
    java = find_java()
    return f"{java.version} ({java.path})"


def _parts() -> str:
    parts = java_parts(_refuse_to_fetch)
    return f"{len(parts.spark) + len(parts.broker)} jars in {parts.broker[0].parent.parent}"


def _refuse_to_fetch(_: str) -> NoReturn:
    """Called when there is something to fetch, before it is: a check fetches nothing."""
    raise SetupError(f"not there yet: run `{sys.executable} -m turnout.java`, which fetches them (about 55 MB, once)")


def _state_dir(directory: Path) -> str:
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise SetupError(f"{directory} cannot be written ({error.strerror}): choose another `state_dir`") from None
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()
    return f"{directory.absolute()} can be written"


def _logins(config: Config) -> str:
    refuse_exposure(config)
    check_certificate(config.serve.tls)
    serve = config.serve
    who = "those with a login" if serve.auth.asks else "anyone who reaches it"
    return f"{who} may come in to {serve.host}{' by TLS' if serve.tls.certificate else ''}"


def _port(serve: ServeConfig) -> str:
    with listen(serve):
        return f"{serve.port} on {serve.host} is free"
