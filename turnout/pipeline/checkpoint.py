"""What Spark has committed: the positions up to which a pipeline's state is safe on disk."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from turnout.pipeline.hadoop_path import HadoopPath

Location = Path | HadoopPath
"""Where a checkpoint is."""

Committed = Mapping[str, Mapping[int, int]]
"""Topic -> partition -> the next offset to be worked on."""


def committed(checkpoint: Location) -> Committed:
    """Where the query goes on; nothing if it has not committed anything yet."""
    batches = [int(file.name) for file in (checkpoint / "commits").glob("[0-9]*") if file.name.isdigit()]
    if not batches:
        return {}
    # A line for the version, one of metadata, then one of offsets for each source.
    lines = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines()[2:]
    positions: dict[str, dict[int, int]] = {}
    for line in lines:
        if line.startswith("{"):
            for topic, offsets in json.loads(line).items():
                positions[topic] = {int(partition): offset for partition, offset in offsets.items()}
    return positions


def clear_uncommitted(checkpoint: Location) -> None:
    """Spark refuses a checkpoint that it had begun but never committed to. Nothing is lost with it: the pipeline
    begins again at the manifest's start positions."""
    if not list((checkpoint / "commits").glob("[0-9]*")):
        remove(checkpoint)


def remove(checkpoint: Location) -> None:
    if isinstance(checkpoint, Path):
        shutil.rmtree(checkpoint, ignore_errors=True)
    else:
        checkpoint.remove()
