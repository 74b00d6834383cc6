"""Equal is not the same: what Python takes for equal though the database holds other bytes."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.jobs.writing.sameness import as_span, same, same_row

AN_HOUR = timezone(timedelta(hours=1))
EQUAL_BUT_OTHER = [
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (Decimal("1.0"), Decimal("1.00")),
    (Decimal(0), Decimal("-0")),
    (datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 1, 13, tzinfo=AN_HOUR)),
    (time(12, tzinfo=UTC), time(13, tzinfo=AN_HOUR)),
    ([1, 2], [1, 2.0]),
    (b"a", bytearray(b"a")),
]
values = st.one_of(
    st.none(),
    st.binary(),
    st.text(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.uuids(),
    st.timedeltas(),
    st.lists(st.integers() | st.none()),
)


@pytest.mark.parametrize(("one", "other"), EQUAL_BUT_OTHER)
def test_what_is_equal_need_not_be_the_same(one: Any, other: Any) -> None:
    assert one == other
    assert not same(one, other)


def test_a_nan_is_the_same_as_another() -> None:
    assert same(float("nan"), float("nan"))
    assert same(Decimal("NaN"), Decimal("NaN"))


@given(values, values)
def test_what_is_the_same_is_equal_and_of_one_type(one: Any, other: Any) -> None:
    assert same(one, one)
    assert same(one, other) == same(other, one)
    if same(one, other):
        assert one == other
        assert type(one) is type(other)


def test_rows_are_the_same_when_all_their_values_are() -> None:
    assert same_row((1, b"x", date(2020, 1, 1)), (1, b"x", date(2020, 1, 1)))
    assert not same_row((1, b"x", None), (1, b"x", b""))


@given(st.times())
def test_a_time_of_day_is_as_far_from_midnight_as_its_span(moment: time) -> None:
    midnight = datetime(2020, 1, 1, tzinfo=UTC)
    assert midnight + as_span(moment) == datetime.combine(midnight, moment, UTC)
