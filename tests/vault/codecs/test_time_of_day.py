from datetime import datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.time_of_day import TIME
from vault.errors import InvalidValueError

ZONES = st.none() | st.integers(-86399, 86399).map(lambda seconds: timezone(timedelta(seconds=seconds)))


@pytest.mark.parametrize("text", ["23:59:59.999999", "00:00:00", "10:00:00+05:45"])
def test_k02_01_a_time_comes_back_as_it_was(text: str) -> None:
    assert TIME.decode(TIME.encode(time.fromisoformat(text))).isoformat() == text


@given(st.times(timezones=ZONES), st.times(timezones=ZONES))
def test_times_are_equal_as_python_has_it(one: time, other: time) -> None:
    assert (TIME.equality(one) == TIME.equality(other)) == (one == other)


def test_the_same_time_elsewhere_is_equal() -> None:
    there = time(10, 0, tzinfo=timezone(timedelta(hours=1)))
    assert TIME.equality(there) == TIME.equality(time(9, 0, tzinfo=timezone(timedelta(0))))


class Telling(time):
    @property
    def hour(self) -> int:
        raise ValueError("02:30")


class BeyondADay(time):
    @property
    def hour(self) -> int:
        return 24


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Telling(2, 30), "no time of a day"),
        (BeyondADay(2, 30), "no time of a day"),
        (time(2, 30, tzinfo=ZoneInfo("Europe/Prague")), "gives no offset"),
        (datetime(2031, 1, 1), "not datetime"),  # noqa: DTZ001
        ("02:30", "not str"),
    ],
)
def test_what_would_lose_a_part_is_refused(value: object, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said) as raised:
        TIME.encode(value)
    assert raised.value.__context__ is None
    assert "02" not in str(raised.value)
