"""What most tests of key management start from."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kms.key_store import KeyStore
from kms.key_tables import metadata
from kms.keyring import Keyring
from kms.schema_version import schema_table
from tests.kms.manual_clock import ManualClock
from tests.kms.scripted_provider import ScriptedProvider
from tests.prepared import PreparedDatabases
from tests.servers.databases import DATABASES


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


def _make_tables(url: str) -> None:
    with closing(KeyStore.from_url(url)) as store:
        store.create_schema()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedDatabases:
    """Databases with the tables of a key store."""
    tables = (schema_table, *metadata.sorted_tables)
    return PreparedDatabases(_make_tables, tables, tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def store(tmp_path: Path, prepared: PreparedDatabases) -> Iterator[KeyStore]:
    """A key store on SQLite."""
    store = KeyStore.from_url(f"sqlite:///{prepared.copied_to(tmp_path / 'keys.db')}")
    yield store
    store.close()


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path, prepared: PreparedDatabases) -> str:
    """A database of each kind: for a test of any_store with its tables, else fresh and empty."""
    if "any_store" in request.fixturenames:
        return prepared.url(request.param, request, tmp_path)
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'application.db'}"
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def any_store(database_url: str) -> Iterator[KeyStore]:
    """A key store on each kind of database."""
    store = KeyStore.from_url(database_url)
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
