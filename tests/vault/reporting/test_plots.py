"""Plots: pictures that are well-formed, inside of their frame, and hold nothing that is run or loaded."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.nano import NANO, show
from tests.vault.reporting.entries import HOSTILE
from vault.reporting.page import Chart
from vault.reporting.plots import HEIGHT, WIDTH, svg

VALUES = st.lists(st.integers(0, 10**15), min_size=1, max_size=92)


def chart(values: list[int], *, bars: bool, limit: int | None = None, title: str = "spent") -> Chart:
    labels = tuple(f"2026-{place:02}" for place in range(len(values)))
    return Chart(title, labels, tuple(values), tuple(map(show, values)), bars, limit)


def elements(one: Chart) -> list[ET.Element]:
    return list(ET.fromstring(svg(one)).iter())


@given(VALUES, st.booleans(), st.one_of(st.none(), st.integers(0, 10**15)))
def test_every_picture_is_within_its_frame(values: list[int], bars: bool, limit: int | None) -> None:
    for element in elements(chart(values, bars=bars, limit=limit)):
        for name, most in (("x", WIDTH), ("x1", WIDTH), ("x2", WIDTH), ("y", HEIGHT), ("y1", HEIGHT), ("y2", HEIGHT)):
            assert 0 <= int(element.get(name, "0")) <= most


def test_bars_are_as_high_as_their_values() -> None:
    bars = [element for element in elements(chart([NANO, NANO // 2, 0], bars=True)) if element.tag == "rect"]
    assert [int(bar.get("height", "")) for bar in bars] == [164, 82, 0]
    assert [bar[0].text for bar in bars] == ["2026-00: 1", "2026-01: 0.5", "2026-02: 0"]


def test_the_line_goes_by_steps() -> None:
    (path,) = (element.get("d") for element in elements(chart([0, NANO], bars=False)) if element.tag == "path")
    assert path == "M84 176V176H398V12H712"


@pytest.mark.parametrize(("limit", "drawn"), [(4 * NANO, True), (4 * NANO + 1, False), (0, False), (None, False)])
def test_a_limit_is_drawn_where_the_line_comes_near_it(limit: int | None, drawn: bool) -> None:
    assert ("limit 4" in svg(chart([NANO], bars=False, limit=limit))) is drawn


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup(name: str) -> None:
    found = elements(Chart(name, (f"2026-{name}",), (1,), (name,), bars=True))
    assert {element.tag for element in found} == {"svg", "line", "text", "rect", "title"}
    assert all(not attribute.startswith("on") for element in found for attribute in element.attrib)


def test_a_chart_without_values_is_a_frame() -> None:
    assert {element.tag for element in elements(chart([], bars=False))} == {"svg", "line", "text", "path"}
