"""Plots: a chart as SVG that stands in a page: no script, no font and no picture from elsewhere, and integers alone."""

from collections.abc import Iterator
from html import escape
from typing import Final

from dp.nano import show
from vault.reporting.page import Chart, visible

__all__ = ["svg"]

WIDTH: Final = 720
HEIGHT: Final = 200
LEFT, RIGHT, TOP, BOTTOM = 84, 8, 12, 24
INNER: Final = WIDTH - LEFT - RIGHT
DEEP: Final = HEIGHT - TOP - BOTTOM
# A limit is drawn where the line comes to a quarter of it; below that it would only press the line down.
NEAR: Final = 4
# Ours: as many labels as stand beside each other.
LABELS: Final = 14
STEPS: Final = (1, 2, 5)
# Said in the picture itself, which whoever cuts it out of the page takes along.
FONT: Final = 'font-family="Helvetica, Arial, sans-serif" font-size="10" fill="#333"'
GRID: Final = 'stroke="#ccc"'
BAR: Final = 'fill="#2f5d8c"'
LINE: Final = 'fill="none" stroke="#2f5d8c" stroke-width="2"'
LIMIT: Final = 'stroke="#a33" stroke-dasharray="6 3"'


def svg(chart: Chart) -> str:
    """values are in units of 1e-9, which the axis is labelled in."""
    most = max(chart.values, default=0)
    limit = chart.limit if chart.limit is not None and 0 < chart.limit <= NEAR * most else None
    top = _ceiling(max(most, limit or 0))
    told = f"{chart.title}: from {chart.shown[0]} to {chart.shown[-1]}" if chart.shown else chart.title
    lines = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(told)}" {FONT}>',
        *_axis(top),
        *(_bars(chart, top) if chart.bars else _line(chart, top)),
        *_labels(chart),
    ]
    if limit is not None:
        at = _down(limit, top)
        right = f'x="{WIDTH - RIGHT}" y="{at - 3}" text-anchor="end"'
        lines.append(f'<line {LIMIT} x1="{LEFT}" y1="{at}" x2="{WIDTH - RIGHT}" y2="{at}"/>')
        lines.append(f"<text {right}>limit {show(limit)}</text>")
    return "\n".join([*lines, "</svg>"])


def _axis(top: int) -> Iterator[str]:
    for value in (0, top // 2, top):
        at = _down(value, top)
        yield f'<line {GRID} x1="{LEFT}" y1="{at}" x2="{WIDTH - RIGHT}" y2="{at}"/>'
        yield f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{show(value)}</text>'


def _bars(chart: Chart, top: int) -> Iterator[str]:
    number = len(chart.values)
    for place, (label, value, shown) in enumerate(zip(chart.labels, chart.values, chart.shown, strict=True)):
        left, right = (LEFT + INNER * n // number for n in (place, place + 1))
        at = _down(value, top)
        yield (
            f'<rect {BAR} x="{left + 3}" y="{at}" width="{right - left - 6}" height="{TOP + DEEP - at}">'
            f"<title>{_text(label)}: {_text(shown)}</title></rect>"
        )


def _line(chart: Chart, top: int) -> Iterator[str]:
    """By steps: what is spent on a day stands from that day on."""
    path, number = [f"M{LEFT} {_down(chart.values[0] if chart.values else 0, top)}"], max(1, len(chart.values))
    for place, value in enumerate(chart.values):
        path.append(f"V{_down(value, top)}H{LEFT + INNER * (place + 1) // number}")
    yield f'<path {LINE} d="{"".join(path)}"/>'


def _labels(chart: Chart) -> Iterator[str]:
    number = len(chart.labels)
    every = -(-number // (LABELS if chart.bars else LABELS // 2))
    for place in range(0, number, max(1, every)):
        wide = INNER // number if chart.bars else 0
        at = LEFT + INNER * place // number + wide // 2
        anchor = "middle" if chart.bars else "start"
        # Of a day and of a week alike, what is in front is the year.
        label = _text(chart.labels[place].partition("-")[2] or chart.labels[place])
        yield f'<text x="{at}" y="{HEIGHT - 8}" text-anchor="{anchor}">{label}</text>'


def _down(value: int, top: int) -> int:
    return TOP + DEEP - DEEP * value // top


def _ceiling(value: int) -> int:
    """The smallest of 2, 5, 10, 20, 50, ... that is no less."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= max(value, 2):
                return step * power
        power *= 10


def _text(text: str) -> str:
    return escape(visible(text))
