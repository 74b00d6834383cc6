"""Markdown form: tables whose cells no name ends, and text that no name makes markup of."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.reporting.entries import HOSTILE, NANO, at, charge, policy, report
from vault.reporting.markdown_form import in_markdown
from vault.reporting.page import Chart, Grid, Page, Section
from vault.reporting.sections import page_of


def test_a_page_is_headings_lines_and_tables() -> None:
    grid = Grid(("who", "n"), [("ann", "1")], frozenset({"n"}))
    chart = Chart("c", ("a",), (1,), ("1",), bars=True)
    text = in_markdown(Page("Report", [Section("One", ["A line.", chart, grid]), Section("Two", [], 3)]))
    assert text == "# Report\n\n## One\n\nA line.\n\n| who | n |\n| --- | ---: |\n| ann | 1 |\n\n### Two\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_ends_a_cell_or_begins_markup(name: str) -> None:
    entries = [policy(at(6, 1), NANO, dataset=name), charge(at(7, 1), 5, who=name, dataset=name)]
    text = in_markdown(page_of(report(entries)))
    assert not re.search(r"(?<!\\)[<>`\[]", text)
    for row in (line for line in text.splitlines() if line.startswith("|")):
        assert row.endswith(" |")
    assert "\u202e" not in text


@given(st.text())
def test_every_cell_stays_one_cell(name: str) -> None:
    row = in_markdown(Page("t", [Section("s", [Grid(("a", "b"), [(name, "1")])])])).splitlines()[-1]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


@pytest.mark.parametrize("link", ["http://a.example", "www.a.example", "ann@a.example"])
def test_a_name_is_no_link(link: str) -> None:
    text = in_markdown(Page("t", [Section("s", [link])]))
    assert link not in text
    assert re.sub(r"\\", "", text).endswith(f"{link}\n")
