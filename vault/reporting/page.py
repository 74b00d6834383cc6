"""A page: what the written forms of a report share: sections of lines, grids and charts, in plain text."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Chart", "Grid", "Page", "Section", "visible"]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. Each row has one cell for each heading. numbers: the headings whose cells are numbers."""

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Chart:
    """values: whole, 0 or more, one for each label. shown: each as text. limit: a line across, or None.

    bars: one bar a label; else one line that goes on from label to label.
    """

    title: str
    labels: tuple[str, ...]
    values: tuple[int, ...]
    shown: tuple[str, ...]
    bars: bool
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """level: 2 for a part of the page, 3 for a part of that."""

    title: str
    parts: Sequence[str | Grid | Chart]
    level: int = 2


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    sections: Sequence[Section]


def visible(text: str) -> str:
    """On one line, with an escape for what is not seen, such as a mark that turns the direction of writing."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
