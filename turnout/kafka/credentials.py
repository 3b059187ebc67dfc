"""The properties of a Kafka as they were read at one moment, with the files that they were read from.

Passwords are rotated and certificates renewed by whoever looks after them, in files: a login that worked an hour ago
may be another now. What was read is kept, so that a file that is gone for a moment harms nobody.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from turnout.kafka.login.model import KeyStore, Part, PemFile, TrustStore
from turnout.kafka.login.parse import read_login
from turnout.properties import Properties

Traces = Mapping[str, bytes | None]
"""By file: what tells its content from another. None: it cannot be read, or is empty, as one that is being written."""


@dataclass(frozen=True, eq=False)
class Credentials:
    properties: Properties
    """Nothing in them refers to a file any more."""
    traces: Traces = field(repr=False)

    @classmethod
    def read(cls, written: Properties) -> "Credentials":
        # Traced first: what changes in between is a change that is seen, if once too often.
        traces = {file: _trace(file) for file in written.files}
        properties = Properties.plain(dict(written))
        files = _files(read_login(properties))
        return cls(properties, traces | {file: _trace(file) for file in files})

    def traced(self) -> Traces:
        """What the files hold now; one that cannot be read, what it held."""
        return {file: _trace(file) or before for file, before in self.traces.items()}


def _files(part: Part) -> Iterator[str]:
    """The files that the clients read by themselves: certificates, keys and stores."""
    if isinstance(part, PemFile | TrustStore | KeyStore):
        yield part.location
    for name in type(part).model_fields:
        below = getattr(part, name)
        if isinstance(below, Part):
            yield from _files(below)


def _trace(file: str) -> bytes | None:
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError):
        return None
    content = content.removesuffix(b"\n").removesuffix(b"\r")  # which is no part of a secret
    return hashlib.blake2b(content, digest_size=16).digest() if content else None
