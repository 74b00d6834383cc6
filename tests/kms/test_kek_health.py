"""Whether a key-encryption key answers is told in one unwrap each, whatever it says."""

from dataclasses import replace

import pytest

from kms.errors import AccessDeniedError, KmsError, UnavailableError
from kms.kek_health import KekHealth, kek_health
from kms.key_record import KeyRecord, KeyState, Purpose
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider


def moved(record: KeyRecord, kek: str) -> KeyRecord:
    assert record.wrapped is not None
    return replace(record, wrapped=replace(record.wrapped, kek=kek))


def test_one_unwrap_tells_that_it_answers(keyring: Keyring, provider: ScriptedProvider) -> None:
    keyring.lifecycle.rotate(Purpose.DATA)
    provider.batches.clear()
    records = keyring.records()
    (health,) = kek_health(provider, records)
    assert records[0].wrapped is not None
    assert health == KekHealth(records[0].wrapped.kek)
    assert str(health) == "answers"
    assert provider.batches == [1]


def test_the_key_that_is_asked_about_is_one_that_seals(keyring: Keyring, provider: ScriptedProvider) -> None:
    """An old key whose row is damaged says nothing about the key-encryption key."""
    keyring.lifecycle.rotate(Purpose.DATA)
    old, *_ = keyring.records(Purpose.DATA)
    provider.refuse = {old.context: AccessDeniedError("not this one")}
    assert [str(one) for one in kek_health(provider, keyring.records())] == ["answers"]


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (UnavailableError("the server is sealed"), "does not answer: the server is sealed"),
        (AccessDeniedError("the policy is against it"), "refuses: the policy is against it"),
    ],
)
def test_a_failure_is_told_and_does_not_end_the_listing(
    keyring: Keyring, provider: ScriptedProvider, failure: KmsError, words: str
) -> None:
    provider.fail = failure
    (health,) = kek_health(provider, keyring.records())
    assert str(health) == words
    assert health.failure is not None
    assert health.failure.__traceback__ is None


def test_each_key_encryption_key_is_asked_and_an_outage_is_met_once(
    keyring: Keyring, provider: ScriptedProvider
) -> None:
    records = [moved(record, kek) for record, kek in zip(keyring.records(), "abc", strict=True)]
    provider.fail = AccessDeniedError("no")
    assert [(one.kek, str(one)) for one in kek_health(provider, records)] == [(kek, "refuses: no") for kek in "abc"]
    assert provider.batches == [1, 1, 1]
    provider.fail = UnavailableError("down")
    assert [str(one) for one in kek_health(provider, records)] == ["does not answer: down"] * 3
    assert provider.batches == [1, 1, 1, 1]


def test_tombstones_name_no_key_encryption_key(keyring: Keyring, provider: ScriptedProvider) -> None:
    gone = [replace(record, state=KeyState.DESTROYED, wrapped=None) for record in keyring.records()]
    assert kek_health(provider, gone) == []
    assert provider.batches == []
