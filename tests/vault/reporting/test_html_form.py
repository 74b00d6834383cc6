"""HTML form: well-formed, alone, and with no name that becomes markup."""

import re
from html.parser import HTMLParser

import pytest

from tests.vault.reporting.entries import HOSTILE, NANO, asked, at, charge, policy, report
from vault.reporting.html_form import in_html
from vault.reporting.page import Grid, Page, Section
from vault.reporting.sections import page_of

VOID = {"meta"}
OURS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "span", "table", "thead", "tbody", "tr"),
    *("th", "td", "figure", "figcaption", "svg", "line", "text", "rect", "path"),
}


class Reader(HTMLParser):
    """Tags that are closed as they were opened, with their attributes, and the texts between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup(name: str) -> None:
    entries = [
        policy(at(6, 1), NANO, dataset=name),
        charge(at(7, 1), 5, who=name, dataset=name),
        asked("refusal", at(7, 2), who=name, dataset=name, reason=name),
        {"kind": "epoch", "at": at(7, 3), "dataset": name, "epoch": 2, "reason": name},
    ]
    page = in_html(page_of(report(entries, keyring=name, made_by=name)))
    read = Reader(page)
    assert read.open == []
    assert read.tags <= OURS
    assert not any(attribute.startswith("on") for attribute in read.attributes)
    assert "\u202e" not in page
    shown = name.encode("unicode_escape").decode() if not name.isprintable() else name
    assert sum(shown in text for text in read.texts) >= 5


def test_nothing_is_run_or_loaded_from_elsewhere() -> None:
    page = in_html(page_of(report([policy(at(6, 1), NANO), charge(at(7, 1), 5)])))
    loading = r"<script|<link|<img|<iframe|https?:|url\(|@import|src=|href=|javascript:"
    assert not re.search(loading, page, re.IGNORECASE)
    assert 'content="default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;' in page


def test_it_says_how_it_is_printed() -> None:
    page = in_html(page_of(report()))
    assert "@page { size: A4;" in page
    assert "@media print" in page


def test_numbers_stand_to_the_right_and_long_words_may_be_broken() -> None:
    grid = Grid(("who", "n"), [("x" * 30, "1"), ("a b", "y" * 30)], frozenset({"n"}))
    page = in_html(Page("t", [Section("s", [grid], 3)]))
    assert '<tr><th>who</th><th class="number">n</th></tr>' in page
    assert f'<tr><td class="long">{"x" * 30}</td><td class="number">1</td></tr>' in page
    assert f'<td class="number long">{"y" * 30}</td>' in page
    assert "<h3>s</h3>" in page
