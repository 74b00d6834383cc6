"""Quarters: as they are written, their borders in UTC, and their days and weeks."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import PolicyError
from vault.reporting.quarter import DAY, Quarter

QUARTERS = st.builds(Quarter, st.integers(1970, 9998), st.integers(1, 4))


def test_it_is_read_and_written_in_one_way() -> None:
    assert Quarter.parse("2026Q3") == Quarter(2026, 3)
    assert str(Quarter(2026, 3)) == "2026Q3"


@pytest.mark.parametrize(
    "text", ["", "2026", "2026q3", "2026Q5", "2026Q0", "2026Q33", "26Q3", "1969Q4", "9999Q4", "٢٠٢٦Q3", "2026Q3 "]
)
def test_what_is_no_quarter_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="2026Q3"):
        Quarter.parse(text)


def test_its_borders_are_those_of_utc() -> None:
    quarter = Quarter(2026, 4)
    assert quarter.begin == int(datetime(2026, 10, 1, tzinfo=UTC).timestamp()) * 10**6
    assert quarter.end == int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()) * 10**6
    behind = timezone(timedelta(hours=-5))
    assert Quarter.of(datetime(2026, 12, 31, 20, tzinfo=behind)) == Quarter(2027, 1)


def test_weeks_begin_on_monday_and_are_cut_at_the_borders() -> None:
    weeks = Quarter(2027, 1).weeks
    assert [(week.label, str(week.first)) for week in weeks[:2]] == [
        ("2026-W53", "2027-01-01"),
        ("2027-W01", "2027-01-04"),
    ]
    assert (weeks[-1].label, str(weeks[-1].after)) == ("2027-W13", "2027-04-01")


@given(QUARTERS)
def test_one_quarter_follows_the_other(quarter: Quarter) -> None:
    year, number = (quarter.year, quarter.number + 1) if quarter.number < 4 else (quarter.year + 1, 1)
    assert quarter.after == Quarter(year, number).first
    assert Quarter.parse(str(quarter)) == quarter
    assert quarter.end - quarter.begin == quarter.days * DAY


@given(QUARTERS, st.data())
def test_every_moment_of_it_is_in_one_day_and_one_week(quarter: Quarter, data: st.DataObject) -> None:
    at = data.draw(st.integers(quarter.begin, quarter.end - 1))
    day, week = (
        quarter.first + timedelta(days=quarter.day_of(at)),
        quarter.weeks[quarter.week_of_day(quarter.day_of(at))],
    )
    assert (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).date() == day
    assert week.first <= day < week.after
    assert sum((week.after - week.first).days for week in quarter.weeks) == quarter.days
