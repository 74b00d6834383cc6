"""Which versions of a KEK wrap keys, and until when those did that do no more, on three databases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from kms.errors import KeyringError
from kms.kek_versions import kek_version_left_table
from kms.key_database import writing
from kms.key_record import KeyRecord, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.provider import Wrapped
from tests.kms.rested import retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider

NOW = datetime(2100, 1, 1, tzinfo=UTC)  # the later of this clock and the database's dates what happens


def rewrapped(record: KeyRecord, version: str) -> tuple[KeyRecord, Wrapped]:
    assert record.wrapped is not None
    return record, replace(record.wrapped, ciphertext=record.wrapped.ciphertext + b"+", kek_version=version)


def versions(store: KeyStore) -> dict[str, tuple[int, datetime | None]]:
    return {use.version: (use.wraps, use.left_at) for use in store.kek_versions()}


def test_what_each_version_wraps_and_since_when_one_wraps_none(any_store: KeyStore) -> None:
    now = NOW
    store = KeyStore(any_store.engine, now=lambda: now)
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    first = keyring.records()[0].wrapped
    assert first is not None
    assert versions(store) == {first.kek_version: (3, None)}
    one, *others = keyring.records()
    store.replace_wrapped([rewrapped(one, "2")])
    assert versions(store) == {first.kek_version: (2, None), "2": (1, None)}
    now += timedelta(days=1)
    store.replace_wrapped([rewrapped(other, "2") for other in others])
    assert versions(store) == {first.kek_version: (0, now), "2": (3, None)}
    moved, now = now, now + timedelta(days=1)
    store.replace_wrapped([rewrapped(keyring.records()[0], "10")])
    assert [use.version for use in store.kek_versions()] == [first.kek_version, "2", "10"], "as numbers"
    assert versions(store)[first.kek_version] == (0, moved)
    now += timedelta(days=1)
    store.replace_wrapped([rewrapped(keyring.records()[0], first.kek_version)])
    store.replace_wrapped([rewrapped(keyring.records()[0], "2")])
    assert versions(store)[first.kek_version] == (0, now), "the last time counts"


def test_what_is_stored_anew_by_the_same_version_leaves_none(store: KeyStore) -> None:
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    record = keyring.records()[0]
    assert record.wrapped is not None
    store.replace_wrapped([rewrapped(record, record.wrapped.kek_version)])
    assert versions(store) == {record.wrapped.kek_version: (3, None)}


def test_a_destroyed_key_is_in_backups_from_before(store: KeyStore) -> None:
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    old = keyring.records(Purpose.DATA)[0]
    assert old.wrapped is not None
    keyring.lifecycle.rotate(Purpose.DATA)
    retire_and_destroy(keyring, store.engine, old.key_id)
    store.replace_wrapped([rewrapped(one, "2") for one in keyring.records() if one.kept])
    wraps, left = versions(store)[old.wrapped.kek_version]
    assert wraps == 0
    assert left is not None


def test_a_row_that_was_changed_by_hand_is_told(store: KeyStore) -> None:
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    store.replace_wrapped([rewrapped(keyring.records()[0], "2")])
    with writing(store.engine) as connection:
        connection.execute(update(kek_version_left_table).values(left_at="once"))
    with pytest.raises(KeyringError, match="noisevault_kek_version_left makes no sense"):
        store.kek_versions()
