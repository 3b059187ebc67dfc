"""Pictures taken one after another, made into one that moves: an animated WebP without loss.

Screens are flat areas and sharp letters: without loss, twelve seconds of the page are 0.4 MB, as a GIF with its 256
colours 1.5 MB, as a lossy WebP 0.8 MB. Every browser shows it.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from PIL import Image


@dataclass(frozen=True)
class Frame:
    second: float
    png: bytes


def write(path: Path, frames: Sequence[Frame], end: float) -> None:
    """Plays at the pace at which the frames were taken, until `end`, again and again."""
    different = list(_different(frames))
    seconds = [*(frame.second for frame in different), end]
    durations = [round((after - before) * 1000) for before, after in pairwise(seconds)]
    first, *others = (Image.open(io.BytesIO(frame.png)).convert("RGB") for frame in different)
    # Pillow's own effort, method 0, makes it six times as large; more than 4 gains nothing.
    how = {"lossless": True, "quality": 75, "method": 4}
    first.save(path, "WEBP", save_all=True, append_images=others, duration=durations, loop=0, **how)


def _different(frames: Sequence[Frame]) -> Iterator[Frame]:
    """Without those that look like the one before."""
    yield frames[0]
    for before, frame in pairwise(frames):
        if frame.png != before.png:
            yield frame
