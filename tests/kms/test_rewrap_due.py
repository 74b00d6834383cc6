"""Rewrap due: what a newer KEK version leaves behind is told, and nothing is stored."""

from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.rewrap_due import rewrap_due
from kms.routed_provider import RoutedProvider
from tests.kms.rewrapping_provider import RewrappingProvider
from tests.kms.scripted_provider import ScriptedProvider


def test_keys_under_an_older_version_are_due_until_they_are_rewrapped(store: KeyStore) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main")
    assert keyring.lifecycle.rewrap_due() == []
    provider.version = 2
    before = store.load("main").records
    new = keyring.lifecycle.rotate(Purpose.DATA)
    assert {one.key_id for one in keyring.lifecycle.rewrap_due()} == {one.key_id for one in before}
    stored = [record.wrapped for record in store.load("main").records if record.key_id != new.key_id]
    assert stored == [record.wrapped for record in before], "to ask changes nothing"
    keyring.lifecycle.rewrap()
    assert keyring.lifecycle.rewrap_due() == []
    keyring.close()


def test_the_service_is_asked_once_with_one_key(store: KeyStore) -> None:
    provider = RewrappingProvider()
    keyring = Keyring.create(store, provider, "main")
    provider.rewraps.clear()
    keyring.lifecycle.rewrap_due()
    assert provider.rewraps == [1]
    keyring.close()


def test_of_a_service_that_tells_nothing_nothing_is_due(store: KeyStore) -> None:
    provider = ScriptedProvider()
    keyring = Keyring.create(store, provider, "main")
    assert rewrap_due(provider, store.load("main").records) == []
    assert rewrap_due(RoutedProvider(RewrappingProvider()), []) == []
    keyring.close()
