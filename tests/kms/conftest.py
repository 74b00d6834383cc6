"""What most tests of key management start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyStore]:
    """A key store on SQLite."""
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def any_store(database_url: str) -> Iterator[KeyStore]:
    """A key store on each kind of database."""
    store = KeyStore.from_url(database_url)
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def keyring(store: KeyStore, provider: ScriptedProvider, clock: ManualClock) -> Keyring:
    keyring = Keyring.create(store, provider, "main", clock=clock, refresh=False)
    provider.batches.clear()
    return keyring


@pytest.fixture
def elsewhere(keyring: Keyring, store: KeyStore, provider: ScriptedProvider, clock: ManualClock) -> Keyring:
    """The same keyring in another process."""
    return Keyring.open(store, provider, "main", clock=clock, refresh=False)
