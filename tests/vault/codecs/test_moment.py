from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.moment import DATETIME
from vault.errors import InvalidValueError

ZONES = st.integers(-86399, 86399).map(lambda seconds: timezone(timedelta(seconds=seconds)))


@pytest.mark.parametrize(
    "text",
    [
        "2031-03-30T02:30:00.000001+05:45",
        "2031-01-01T00:00:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999999-14:00",
        "1900-06-01T12:00:00+00:19:32",
    ],
)
def test_k02_01_a_datetime_comes_back_with_its_offset_and_microsecond_or_naive(text: str) -> None:
    once = DATETIME.decode(DATETIME.encode(datetime.fromisoformat(text)))
    assert (type(once), once.isoformat()) == (datetime, text)


@given(st.datetimes(timezones=ZONES), ZONES)
def test_k02_01_aware_values_are_equal_at_the_same_instant(value: datetime, zone: timezone) -> None:
    try:
        elsewhere = value.astimezone(zone)
    except OverflowError:
        return
    assert DATETIME.equality(value) == DATETIME.equality(elsewhere)
    assert DATETIME.equality(value) != DATETIME.equality(value.replace(tzinfo=None))


@pytest.mark.parametrize("fold", [0, 1])
def test_a_zone_is_kept_as_the_offset_that_it_has_then(fold: int) -> None:
    value = datetime(2031, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Prague"), fold=fold)
    once = DATETIME.decode(DATETIME.encode(value))
    assert once.isoformat() == value.isoformat()
    assert once.utcoffset() == timedelta(hours=2 - fold)


def test_the_second_of_two_equal_times_stays_the_second() -> None:
    value = datetime(2031, 10, 26, 2, 30, fold=1)  # noqa: DTZ001
    assert DATETIME.decode(DATETIME.encode(value)).fold == 1
    assert DATETIME.equality(value) == DATETIME.equality(value.replace(fold=0))


class Silent(tzinfo):
    def utcoffset(self, _when: datetime | None) -> None:
        return None


class Failing(tzinfo):
    def utcoffset(self, when: datetime | None) -> timedelta:
        raise LookupError(f"no offset for the year {when.year if when else 0}")


class Unplaced(datetime):
    """As pandas.NaT, which is a datetime to isinstance()."""

    @property
    def hour(self) -> Any:
        return float("nan")


class BeyondADay(datetime):
    @property
    def hour(self) -> int:
        return 99


class FarAway(datetime):
    def utcoffset(self) -> timedelta:
        return timedelta(days=1)


class Nanoseconds(datetime):
    nanosecond = 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (date(2031, 1, 1), "not date"),
        ("2031-01-01T00:00:00", "not str"),
        (datetime(2031, 1, 1, tzinfo=Silent()), "gives no offset"),
        (datetime(2031, 1, 1, tzinfo=Failing()), "gives no offset"),
        (Unplaced(2031, 1, 1), "no time of a day"),
        (BeyondADay(2031, 1, 1), "no time of a day"),
        (FarAway(2031, 1, 1), "gives no offset"),
        (Nanoseconds(2031, 1, 1, tzinfo=UTC), "finer"),
    ],
)
def test_what_would_lose_a_part_is_refused_and_nothing_of_it_is_chained(value: object, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said) as raised:
        DATETIME.encode(value)
    assert raised.value.__context__ is None
    assert "2031" not in str(raised.value)
