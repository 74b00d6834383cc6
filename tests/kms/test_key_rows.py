"""Rows keep times as text in UTC and refuse what makes no sense."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.errors import KeyringError
from kms.key_database import writing
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.key_rows import time_text, to_row
from kms.key_store import KeyStore
from kms.keyring import Keyring

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


FORGED = [
    "kek = x'ff00'",
    "kek = 'local:x' || char(10) || 'all 3 keys of keyring main unwrap'",
    "kek = 'local:x' || char(27) || '[2J'",
    "kek_version = 7.5 || char(7)",
    "kek_version = printf('%.*c', 5000, '1')",
    "changed_at = '0001-01-01T00:00:00+14:00'",
    "created_at = '2026-01-01'",
    "wrapped = 100000000000",
]


@pytest.mark.parametrize("change", FORGED)
def test_a_row_that_the_program_never_wrote_is_told_as_such(store: KeyStore, keyring: Keyring, change: str) -> None:
    with writing(store.engine) as connection:
        connection.exec_driver_sql(f"UPDATE noisevault_key SET {change}")
    with pytest.raises(KeyringError, match="makes no sense") as told:
        keyring.records()
    assert str(told.value).isprintable()


@pytest.mark.parametrize("value", ["100000000000", "zeroblob(17)", "'0123456789abcdef'"])
def test_a_keyring_whose_id_is_none_is_told_as_such(store: KeyStore, keyring: Keyring, value: str) -> None:
    with writing(store.engine) as connection:
        connection.exec_driver_sql("DELETE FROM noisevault_key")
        connection.exec_driver_sql(f"UPDATE noisevault_keyring SET id = {value}")
    with pytest.raises(KeyringError, match="keyring 'main' makes no sense"):
        store.load("main")
    with pytest.raises(KeyringError, match="keyring 'main' makes no sense"):
        store.kek_uses()
