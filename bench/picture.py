"""A picture of the figures: bars, a panel for each case and figure, drawn by hand as SVG."""

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bench.results import Figure, Results, number

LABELS, BARS, VALUES = 200, 260, 90
"""Widths of a panel's parts."""

LINE, HEAD, GAP = 20, 34, 28
COLUMNS = 2
LOGARITHMIC_FROM = 20
"""Where the largest value is more than so many times the smallest, bars tell orders of magnitude."""

OURS, THEIRS = "#c2410c", "#64748b"
STYLE = "text{font:12px system-ui,sans-serif;fill:#334155}.head{font-weight:600}"


def draw(results: Results) -> Path:
    panels = list(_panels(results))
    rows = [panels[start : start + COLUMNS] for start in range(0, len(panels), COLUMNS)]
    parts, top = [], GAP // 2
    for row in rows:
        for column, (title, figure, bars) in enumerate(row):
            left = GAP + column * (LABELS + BARS + VALUES + GAP)
            parts.append(f'<g transform="translate({left},{top})">{_panel(title, figure, bars)}</g>')
        top += HEAD + LINE * max(len(bars) for _, _, bars in row) + GAP
    width = GAP + COLUMNS * (LABELS + BARS + VALUES + GAP)
    file = results.file("svg")
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
    return file


def _panels(results: Results) -> Iterator[tuple[str, Figure, dict[str, float]]]:
    for case, systems in results.values.items():
        for figure in results.figures.values():
            medians = {system: results.median(case, system, figure.name) for system in systems}
            if bars := {system: value for system, value in medians.items() if value is not None}:
                yield case, figure, bars


def _panel(case: str, figure: Figure, bars: dict[str, float]) -> str:
    better = "less is better" if figure.fewer_is_better else "more is better"
    positive = [value for value in bars.values() if value > 0]
    logarithmic = bool(positive) and max(positive) > LOGARITHMIC_FROM * min(positive)
    scale = ", logarithmic" if logarithmic else ""
    parts = [
        f'<text class="head" y="12">{escape(f"{case}: {figure.name}")}</text>',
        f'<text y="27">{escape(f"{figure.unit}, {better}{scale}")}</text>',
    ]
    for line, (system, value) in enumerate(bars.items()):
        y = HEAD + line * LINE
        length = _length(value, positive, logarithmic)
        colour = OURS if system == "turnout" else THEIRS
        parts.append(
            f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(system)}</text>'
            f'<rect x="{LABELS}" y="{y + 2}" width="{length:.1f}" height="{LINE - 5}" fill="{colour}"/>'
            f'<text x="{LABELS + length + 6:.1f}" y="{y + 13}">{number(value)}</text>'
        )
    return "".join(parts)


def _length(value: float, positive: list[float], logarithmic: bool) -> float:
    if value <= 0:
        return 0.0
    if not logarithmic:
        return BARS * value / max(positive)
    # The smallest one is as long as a tenfold difference, so that it can be seen.
    low = math.log10(min(positive)) - 1
    return BARS * (math.log10(value) - low) / (math.log10(max(positive)) - low)
