from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import InvalidValueError
from vault.normalisers.parts import last_four, month, year


@pytest.mark.parametrize(
    ("text", "part"), [("123-45-6789", "6789"), ("6789", "6789"), ("678", None), ("", None), ("unknown", None)]
)
def test_the_last_four_digits(text: str, part: str | None) -> None:
    assert last_four.apply(text) == part


def test_other_digits_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="0 to 9 only"):
        last_four.apply("123\u0664")


@given(st.dates())
def test_year_and_month_are_the_beginning_of_the_iso_text(day: date) -> None:
    assert (year.apply(day), month.apply(day)) == (day.isoformat()[:4], day.isoformat()[:7])


@given(
    st.datetimes(min_value=datetime.fromisoformat("0002-01-01"), max_value=datetime.fromisoformat("9998-01-01")),
    st.integers(-23, 23),
)
def test_equal_instants_have_one_part(moment: datetime, hours: int) -> None:
    here = moment.replace(tzinfo=UTC)
    there = here.astimezone(timezone(timedelta(hours=hours)))
    assert here == there
    assert (year.apply(here), month.apply(here)) == (year.apply(there), month.apply(there))


def test_an_instant_whose_year_at_utc_python_has_not_is_refused() -> None:
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    for part in (year, month):
        with pytest.raises(InvalidValueError, match="1 to 9999") as refusal:
            part.apply(first)
        assert refusal.value.__context__ is None


@pytest.mark.parametrize("asked", [2031, "2031", date(2031, 5, 6), datetime.fromisoformat("2031-12-31")])
def test_a_year_is_asked_in_several_ways(asked: Any) -> None:
    assert year.asked is not None
    assert year.asked(asked) == "2031"


@pytest.mark.parametrize("asked", ["31", "20310", 31.0, None, True, "0000", "abcd", 10000, "2031-01"])
def test_what_is_no_year_is_refused(asked: Any) -> None:
    assert year.asked is not None
    with pytest.raises(InvalidValueError, match="such as 2031"):
        year.asked(asked)


@pytest.mark.parametrize("asked", ["2031-13", "2031-1", "2031-00", 2031, "2031/01"])
def test_what_is_no_month_is_refused(asked: Any) -> None:
    assert month.asked is not None
    with pytest.raises(InvalidValueError, match="such as 2031-01"):
        month.asked(asked)


@pytest.mark.parametrize("asked", ["678", 6789, None])
def test_fewer_than_four_digits_are_not_asked_for(asked: Any) -> None:
    assert last_four.asked is not None
    with pytest.raises(InvalidValueError, match="four digits"):
        last_four.asked(asked)
