"""A keyring whose key store has the tables of changeovers, on each kind of database."""

from collections.abc import Iterator

import pytest

from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from vault.definition_store import create_schema


@pytest.fixture
def store(database_url: str) -> Iterator[KeyStore]:
    store = KeyStore.from_url(database_url)
    store.create_schema()
    create_schema(store.engine)
    yield store
    store.engine.dispose()


@pytest.fixture
def keyring(store: KeyStore) -> Keyring:
    return Keyring.create(store, ScriptedProvider(), "main", refresh=False)
