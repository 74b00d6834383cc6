"""One key that spoils a call does not hide the others; an outage is nobody's own."""

import pytest

from kms.each_alone import all_or_each_alone, not_all, unwrapped_alone
from kms.errors import CannotUnwrapError, UnavailableError
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.secret import SecretKey
from tests.kms.scripted_provider import ScriptedProvider


def test_what_works_is_one_call(store: KeyStore, provider: ScriptedProvider) -> None:
    records = Keyring.create(store, provider, "main").records()
    given, failures = all_or_each_alone(provider.unwrap, records)
    assert set(given) == {record.key_id for record in records}
    assert failures == {}
    assert provider.batches[3:] == [3]


def test_a_key_that_does_not_open_is_told_alone(store: KeyStore, provider: ScriptedProvider) -> None:
    one, bad, other = Keyring.create(store, provider, "main").records()
    provider.refuse[bad.context] = CannotUnwrapError("changed")
    given, failures = all_or_each_alone(provider.unwrap, [one, bad, other])
    assert set(given) == {one.key_id, other.key_id}
    assert {key_id: str(error) for key_id, error in failures.items()} == {bad.key_id: "changed"}


def test_a_single_key_is_not_asked_twice(store: KeyStore, provider: ScriptedProvider) -> None:
    bad, *_ = Keyring.create(store, provider, "main").records()
    provider.refuse[bad.context] = CannotUnwrapError("changed")
    assert set(all_or_each_alone(provider.unwrap, [bad])[1]) == {bad.key_id}
    assert provider.batches[3:] == [1]


def test_an_outage_is_raised_after_one_call(store: KeyStore, provider: ScriptedProvider) -> None:
    records = Keyring.create(store, provider, "main").records()
    provider.fail = UnavailableError("down")
    with pytest.raises(UnavailableError):
        all_or_each_alone(provider.unwrap, records)
    assert provider.batches[3:] == [3]


def test_nothing_is_asked_for_nothing(provider: ScriptedProvider) -> None:
    assert all_or_each_alone(provider.unwrap, []) == ({}, {})
    assert provider.batches == []


def test_what_was_not_done_is_told_by_reason_with_the_ids() -> None:
    same = CannotUnwrapError("changed")
    error = not_all("moved", {b"\x01" * 4: same, b"\x02" * 4: same, b"\x03" * 4: CannotUnwrapError("short")}, 4)
    assert isinstance(error, CannotUnwrapError)
    assert str(error) == (
        "3 of 4 keys are not moved, the others are: key 01010101, 02020202: changed; key 03030303: short"
    )
    assert str(not_all("moved", {b"\x01" * 4: same}, 1)) == "1 of 1 keys are not moved: key 01010101: changed"


@pytest.mark.parametrize("size", [16, 31, 33, 64])
def test_k10_06_a_key_of_another_length_than_ours_is_none(
    store: KeyStore, provider: ScriptedProvider, size: int
) -> None:
    """Whoever may wrap under the key-encryption key can give one its place, in the store and in its context."""
    keyring = Keyring.create(store, provider, "main", refresh=False)
    record, *others = keyring.records()
    foreign = provider.wrap(SecretKey(b"\7" * size), record.context)
    store.replace_wrapped([(record, foreign)])
    fresh = Keyring.open(store, provider, "main", refresh=False)
    stored = fresh.records()
    keys, failures = unwrapped_alone(provider.unwrap, stored)
    assert set(keys) == {other.key_id for other in others}
    assert set(failures) == {record.key_id}
    for use in (lambda: fresh.sealing(record.purpose), lambda: fresh.opening(record.purpose, record.key_id)):
        with pytest.raises(CannotUnwrapError, match=f"opens to {size} bytes, and a data key has 32"):
            use()
    assert [(found.key_id, type(error)) for found, error in fresh.lifecycle.check()] == [
        (record.key_id, CannotUnwrapError)
    ]
