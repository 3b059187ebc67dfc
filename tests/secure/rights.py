"""The rights that docs/kafka-security.md has people grant, read from its commands."""

import re
import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AclOperation

DOCUMENT = Path(__file__).parents[2] / "docs" / "kafka-security.md"


class Rights(NamedTuple):
    topics: tuple[str, ...]
    operations: tuple[AclOperation, ...]
    is_prefix: bool
    """Whether a topic's name stands for all that begin so."""


def documented_rights() -> list[Rights]:
    """One for each command, in the document's order. What a command grants besides is not understood."""
    parser = ArgumentParser("kafka-acls.sh")
    for ignored in ("--bootstrap-server", "--command-config", "--allow-principal"):
        parser.add_argument(ignored)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--topic", action="append")
    parser.add_argument("--operation", action="append")
    parser.add_argument("--resource-pattern-type", default="literal")
    commands = re.findall(r"^kafka-acls\.sh (?:.*\\\n)*.*$", DOCUMENT.read_text(), re.MULTILINE)
    read = [parser.parse_args(shlex.split(command.replace("\\\n", ""))[1:]) for command in commands]
    return [
        Rights(
            tuple(it.topic),
            tuple(AclOperation[operation.upper()] for operation in it.operation),
            it.resource_pattern_type == "prefixed",
        )
        for it in read
    ]
