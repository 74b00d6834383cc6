"""Records of one keyring and one database, on a key store with a clock that is set."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kms import KeyStore
from kms.key_database import open_key_database
from vault.maintenance.records import MaintenanceRecords


@dataclass
class Clock:
    moment: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def passes(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def key_store(database_url: str, clock: Clock) -> Iterator[KeyStore]:
    store = KeyStore(open_key_database(database_url), now=clock)
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def records(key_store: KeyStore) -> MaintenanceRecords:
    return MaintenanceRecords(key_store, bytes(range(16)), "ab" * 32)


@pytest.fixture
def local_records(tmp_path: Path, clock: Clock) -> Iterator[MaintenanceRecords]:
    """On SQLite alone."""
    store = KeyStore(open_key_database(f"sqlite:///{tmp_path / 'keys.db'}"), now=clock)
    store.create_schema()
    yield MaintenanceRecords(store, bytes(range(16)), "ab" * 32)
    store.close()
