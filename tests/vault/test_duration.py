"""Durations are written and shown with one unit."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.duration import UNITS, read_duration, show_duration, show_exactly


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        (" 2w ", timedelta(days=14)),
        ("0s", timedelta(0)),
        ("90m", timedelta(minutes=90)),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, length: timedelta) -> None:
    assert read_duration(text) == length


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "1d12h", "30 days", "1y", "٣d", "1D"])
def test_anything_else_is_told_what_there_is_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="such as 30d or 12h"):
        read_duration(text)


@pytest.mark.parametrize("text", ["36526d", "9999999999w", "9999999999s"])
def test_a_century_is_the_most(text: str) -> None:
    with pytest.raises(ValueError, match="hundred years"):
        read_duration(text)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_525)))
def test_what_is_shown_is_the_length_rounded_down_to_its_unit(length: timedelta) -> None:
    text = show_duration(length)
    assert read_duration(text) <= length < read_duration(text) + UNITS[text[-1]]


@given(st.integers(0, 10**7).map(lambda seconds: timedelta(seconds=seconds)))
def test_what_is_shown_exactly_is_the_length_in_the_largest_unit_that_divides_it(length: timedelta) -> None:
    text = show_exactly(length)
    assert read_duration(text) == length
    larger = [unit for name, unit in UNITS.items() if unit > UNITS[text[-1]] and name != "w"]
    assert all(length % unit for unit in larger)


def test_a_length_before_its_beginning_is_none() -> None:
    assert show_duration(timedelta(days=-1)) == "0s"
