from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vault.jobs.walking.key_text import KeyNotKeptError, key_digest, read_key, write_key

PART = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.binary(),
    st.uuids(),
    st.decimals(allow_nan=False),
    st.floats(allow_nan=False),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.times(),
    st.timedeltas(),
)


@settings(deadline=None)
@given(st.lists(PART, min_size=1, max_size=4))
def test_a_key_is_read_as_it_was_written_with_its_types(parts: list[Any]) -> None:
    key = tuple(parts)
    text = write_key(key)
    assert "\n" not in text
    assert text.isascii()
    found = read_key(text)
    assert found == key
    assert [type(part) for part in found] == [type(part) for part in key]


@settings(deadline=None)
@given(st.lists(PART, min_size=1, max_size=3), st.lists(PART, min_size=1, max_size=3))
def test_two_keys_have_two_texts(one: list[Any], other: list[Any]) -> None:
    if [(type(part), part) for part in one] != [(type(part), part) for part in other]:
        assert write_key(tuple(one)) != write_key(tuple(other))


def test_a_key_is_shown_as_people_write_it() -> None:
    assert write_key((9, "Ann")) == '[9, "Ann"]'
    assert write_key((date(2026, 1, 2), Decimal("1.50"))) == '[{"date": "2026-01-02"}, {"decimal": "1.50"}]'
    assert write_key((memoryview(b"\0\xff"),)) == '[{"bytes": "00ff"}]'
    assert read_key('[{"microseconds": "-5"}]') == (timedelta(microseconds=-5),)
    assert read_key(write_key((datetime(2026, 1, 1), time(1)))) == (datetime(2026, 1, 1), time(1))  # noqa: DTZ001


def test_a_key_of_another_kind_has_no_text() -> None:
    with pytest.raises(KeyNotKeptError, match="complex"):
        write_key((1j,))
    with pytest.raises(ValueError, match="no key of kind"):
        read_key('[{"complex": "1j"}]')


def test_a_digest_has_one_length() -> None:
    assert len(key_digest("x" * 5000)) == len(key_digest("")) == 64
