"""What most tests of key management start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kms.key_store import KeyStore
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
    store.engine.dispose()


@pytest.fixture
def any_store(database_url: str) -> Iterator[KeyStore]:
    """A key store on each kind of database."""
    store = KeyStore.from_url(database_url)
    store.create_schema()
    yield store
    store.engine.dispose()
