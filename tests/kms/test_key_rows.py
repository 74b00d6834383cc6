"""Rows keep times as text in UTC and refuse what makes no sense."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import KeyringError
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.key_rows import time_text, to_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
offsets = st.builds(timezone, st.integers(-840, 840).map(lambda minutes: timedelta(minutes=minutes)))

moments = st.datetimes(timezones=offsets).filter(lambda moment: 1970 < moment.year < 9999)


@given(moments)
def test_a_time_is_the_same_instant_after_its_text(moment: datetime) -> None:
    assert datetime.fromisoformat(time_text(moment)) == moment
    assert time_text(moment).endswith("+00:00")


@given(st.lists(moments, max_size=5))
def test_times_sort_as_their_texts(times: list[datetime]) -> None:
    assert sorted(map(time_text, times)) == [time_text(moment) for moment in sorted(times)]


def test_a_tombstone_is_never_inserted() -> None:
    with pytest.raises(KeyringError, match="not stored anew"):
        to_row(KeyRecord(bytes(16), Purpose.DATA, b"aaaa", 1, KeyState.DESTROYED, None, NOW, NOW))
