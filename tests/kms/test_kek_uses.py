"""By which KEKs the keys of each keyring are, or were, wrapped."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from kms.errors import KeyringError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.rested import retire_and_destroy
from tests.kms.scripted_provider import ScriptedProvider

DATA = Purpose.DATA


def uses(store: KeyStore) -> dict[tuple[str, str], datetime | None]:
    return {(use.keyring, use.kek): use.until for use in store.kek_uses()}


def test_live_keys_tombstones_and_moves_are_told_with_their_times(any_store: KeyStore) -> None:
    now = datetime(2100, 1, 1, tzinfo=UTC)  # the later of this clock and the database's dates a key
    store = KeyStore(any_store.engine, now=lambda: now)
    one, two = ScriptedProvider(), ScriptedProvider(bytes([1] * 32))
    first, second = one._real.kek, two._real.kek
    keyring, other = Keyring.create(store, one, "main"), Keyring.create(store, one, "other")
    assert uses(store) == {("main", first): None, ("other", first): None}
    old = keyring.records(DATA)[0].key_id
    keyring.lifecycle.rotate(DATA)
    retire_and_destroy(keyring, store.engine, old)
    destroyed, now = now, now + timedelta(days=1)
    keyring.lifecycle.move(two)
    assert uses(store) == {("main", first): now, ("main", second): None, ("other", first): None}
    moved, now = now, now + timedelta(days=1)
    assert destroyed < moved
    Keyring.open(store, two, "main").lifecycle.move(one)
    assert uses(store)["main", first] is None
    assert uses(store)["main", second] == now
    now += timedelta(days=1)
    keyring.lifecycle.move(two)
    assert uses(store)["main", first] == now  # the later time counts
    assert keyring.lifecycle.move(two) == []
    now += timedelta(days=1)
    other.lifecycle.shred(confirm="other")
    assert uses(store)["other", first] == now


def test_a_rewrap_by_the_same_kek_leaves_none(store: KeyStore, provider: ScriptedProvider) -> None:
    keyring = Keyring.create(store, provider, "main")
    record, *_ = keyring.records()
    (key,) = provider.unwrap([(record.wrapped, record.context)] if record.wrapped else [])
    assert store.replace_wrapped([(record, provider.wrap(key, record.context))])
    assert list(uses(store).values()) == [None]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE noisevault_key SET kek = x'ff'",
        "UPDATE noisevault_key SET kek = 'local:x' || char(10)",
        "UPDATE noisevault_key SET state = 'destroyed', wrapped = NULL, changed_at = 'yesterday'",
        "PRAGMA foreign_keys = OFF; UPDATE noisevault_key SET keyring_id = zeroblob(16)",
    ],
)
def test_rows_that_were_changed_by_hand_are_told_as_such(
    store: KeyStore, provider: ScriptedProvider, change: str
) -> None:
    Keyring.create(store, provider, "main", refresh=False)
    with closing(sqlite3.connect(str(store.engine.url.database))) as by_hand:
        by_hand.executescript(change)
    with pytest.raises(KeyringError, match="makes no sense"):
        store.kek_uses()


def test_a_machine_whose_clock_is_behind_dates_no_end_too_early(any_store: KeyStore) -> None:
    behind = KeyStore(any_store.engine, now=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    begun = datetime.now(UTC) - timedelta(minutes=1)
    one, two = ScriptedProvider(), ScriptedProvider(bytes([1] * 32))
    keyring = Keyring.create(behind, one, "main", refresh=False)
    keyring.lifecycle.move(two)
    Keyring.open(behind, two, "main", refresh=False).lifecycle.shred(confirm="main")
    assert all(end is not None and end > begun for end in uses(behind).values())
