"""A locked keyring changes its keys' states along the ways there are, dated by the later clock."""

from datetime import UTC, datetime, timedelta

import pytest

from kms.errors import KeyringError
from kms.key_record import KeyState
from kms.key_store import KeyStore
from kms.locked_keyring import locked
from tests.kms.test_key_store import KEYRING, record, record_of, with_keyring


@pytest.mark.parametrize("hours", [5, -5])
def test_a_change_is_dated_by_the_later_clock(any_store: KeyStore, hours: int) -> None:
    with_keyring(any_store, record(b"aaaa"))
    now = datetime.now(UTC)
    with locked(any_store.engine, KEYRING, now + timedelta(hours=hours)) as keyring:
        keyring.set_state(keyring.record(b"aaaa"), KeyState.DEACTIVATED)
    expected = now + timedelta(hours=max(hours, 0))
    assert abs(record_of(any_store, b"aaaa").changed_at - expected) < timedelta(minutes=1)


def test_a_state_that_leads_nowhere_near_is_refused(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"))
    with locked(any_store.engine, KEYRING, datetime.now(UTC)) as keyring:
        with pytest.raises(KeyringError, match="61616161 is active and cannot become destroyed"):
            keyring.set_state(keyring.record(b"aaaa"), KeyState.DESTROYED)
        with pytest.raises(KeyringError, match="no key 7a7a7a7a"):
            keyring.record(b"zzzz")
    assert record_of(any_store, b"aaaa").kept


def test_what_fails_changes_nothing(any_store: KeyStore) -> None:
    with_keyring(any_store, record(b"aaaa"))

    def stop_in_the_middle() -> None:
        with locked(any_store.engine, KEYRING, datetime.now(UTC)) as keyring:
            keyring.set_state(keyring.record(b"aaaa"), KeyState.DEACTIVATED)
            keyring.record(b"zzzz")

    with pytest.raises(KeyringError, match="no key"):
        stop_in_the_middle()
    assert record_of(any_store, b"aaaa").state is KeyState.ACTIVE
