"""Markdown form: the page as tables and lines; charts are left out, whose figures are in the tables."""

import re
from collections.abc import Iterator
from typing import Final

from vault.reporting.page import Chart, Grid, Page, Section, visible

__all__ = ["in_markdown"]

# What begins markup, or makes a link of a name (GitHub Flavored Markdown 6.9), or ends a cell.
MARKS: Final = re.compile(r"[\\`*_\[\]<>~|&@#!]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def in_markdown(page: Page) -> str:
    blocks = [f"# {_text(page.title)}"]
    for section in page.sections:
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"{'#' * section.level} {_text(section.title)}"
    for part in section.parts:
        match part:
            case str():
                yield _text(part)
            case Grid():
                yield _grid(part)
            case Chart():
                pass


def _grid(grid: Grid) -> str:
    under = ["---:" if heading in grid.numbers else "---" for heading in grid.headings]
    rows = [_row(map(_text, grid.headings)), _row(under), *(_row(map(_text, row)) for row in grid.rows)]
    return "\n".join(rows)


def _row(cells: Iterator[str] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    return MARKS.sub(lambda found: f"\\{found[0]}", visible(text))
