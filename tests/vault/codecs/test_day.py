from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.day import DATE
from vault.errors import InvalidValueError


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "2000-02-29"])
def test_k02_01_a_date_comes_back_as_it_was(text: str) -> None:
    assert DATE.decode(DATE.encode(date.fromisoformat(text))).isoformat() == text


@given(st.dates())
def test_days_are_counted_from_1970_as_other_programs_do(value: date) -> None:
    days = np.frombuffer(DATE.encode(value), "<i4").astype("datetime64[D]")
    assert str(days[0]) == value.isoformat()


@pytest.mark.parametrize("value", [datetime(2031, 1, 1), "2031-01-01", np.datetime64("2031-01-01"), 7, None])  # noqa: DTZ001
def test_nothing_is_cut_down_to_a_date(value: object) -> None:
    with pytest.raises(InvalidValueError, match=r"holds datetime\.date"):
        DATE.encode(value)
