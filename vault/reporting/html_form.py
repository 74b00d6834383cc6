"""HTML form: a page that reads well on paper: one file, no script, nothing from elsewhere, every text escaped."""

from collections.abc import Iterator
from html import escape
from typing import Final

from vault.reporting.page import Chart, Grid, Page, Section, visible
from vault.reporting.plots import svg

__all__ = ["in_html"]

# What may be loaded: nothing, but for the style that is in the file.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE: Final = """
@page { size: A4; margin: 18mm 16mm; }
body { font: 10.5pt/1.45 Georgia, "Times New Roman", serif; color: #111; background: #fff; max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6em; border-bottom: 2px solid #111; padding-bottom: .3em; }
h2 { font-size: 1.25em; margin-top: 2em; border-bottom: 1px solid #777; }
h3 { font-size: 1.05em; margin-top: 1.5em; }
h1, h2, h3, p, td, th { unicode-bidi: isolate; }
h1, h2, h3, p, .long { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .8em 0; font: 9pt/1.35 Helvetica, Arial, sans-serif; }
th, td { text-align: left; vertical-align: top; padding: .25em .5em; border-bottom: 1px solid #bbb; }
th { border-bottom: 1.5px solid #111; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1em 0; }
figcaption { font: 9pt Helvetica, Arial, sans-serif; }
svg { width: 100%; height: auto; }
.filed { margin-top: 3em; display: flex; gap: 2em; } .filed span { flex: 1; border-top: 1px solid #111; }
@media print {
  body { max-width: none; margin: 0; padding: 0; }
  thead { display: table-header-group; }
  tr, figure, .filed { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""
# Ours: a longer word may be broken anywhere.
LONGEST: Final = 24
FILED: Final = '<p class="filed"><span>reviewed by</span><span>on</span><span>signature</span></p>'


def in_html(page: Page) -> str:
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(page.title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{_text(page.title)}</h1>",
    ]
    for section in page.sections:
        lines += _section(section)
    return "\n".join([*lines, FILED, "</body>", "</html>", ""])


def _section(section: Section) -> Iterator[str]:
    yield f"<h{section.level}>{_text(section.title)}</h{section.level}>"
    for part in section.parts:
        match part:
            case str():
                yield f"<p>{_text(part)}</p>"
            case Grid():
                yield from _grid(part)
            case Chart():
                yield f"<figure><figcaption>{_text(part.title)}</figcaption>\n{svg(part)}</figure>"


def _grid(grid: Grid) -> Iterator[str]:
    are_numbers = [heading in grid.numbers for heading in grid.headings]
    yield "<table><thead>"
    yield _row("th", grid.headings, are_numbers)
    yield "</thead><tbody>"
    for row in grid.rows:
        yield _row("td", row, are_numbers)
    yield "</tbody></table>"


def _row(tag: str, cells: tuple[str, ...], are_numbers: list[bool]) -> str:
    pairs = zip(cells, are_numbers, strict=True)
    return f"<tr>{''.join(f'<{tag}{_marks(*pair)}>{_text(pair[0])}</{tag}>' for pair in pairs)}</tr>"


def _marks(cell: str, is_number: bool) -> str:
    long = any(len(word) > LONGEST for word in cell.split())
    names = (["number"] if is_number else []) + (["long"] if long else [])
    return f' class="{" ".join(names)}"' if names else ""


def _text(text: str) -> str:
    return escape(visible(text))
