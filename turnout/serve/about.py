"""What the page has to know about this configuration."""

import hashlib

import orjson

from turnout import __version__
from turnout.service import Service

About = dict[str, object]


def about(service: Service) -> About:
    """Its `fingerprint` is another one where the page would have to be another one."""
    names, fields = service.tables.names, service.tables.fields
    tables = {key: getattr(names, key) for key in names.__dataclass_fields__}
    content = {
        "version": __version__,
        "tables": tables,
        "columns": {key: service.tables.registry.tables[name].columns for key, name in tables.items()},
        "key": service.config.join.on,
        "fields": {"left": fields.left, "right": fields.right, "join": fields.join},
    }
    return {**content, "fingerprint": hashlib.sha256(orjson.dumps(content)).hexdigest()}
