"""The register, on three databases: seen once and again, by two at once, forgotten, and seen again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from kms.errors import KeyringError
from kms.key_database import writing
from kms.key_store import KeyStore
from vault.databases.database_identity import DatabaseIdentity
from vault.databases.database_register import DatabaseRegister
from vault.databases.database_tables import database_table

pytestmark = pytest.mark.databases_in_turn

KEYRING, OTHER = bytes(15) + b"\x01", bytes(15) + b"\x02"
CLINIC = DatabaseIdentity("postgresql://db.example:5432/clinic", "7 16384")
FUTURE = datetime.now(UTC) + timedelta(days=3650)  # past the database's clock, so that the later one is this


class Clock:
    def __init__(self) -> None:
        self.now = FUTURE

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(database_url: str, clock: Clock) -> Iterator[KeyStore]:
    made = KeyStore.from_url(database_url)
    store = KeyStore(made.engine, now=clock)
    store.create_schema()
    yield store
    store.close()


def test_a_database_is_registered_once_for_each_keyring(store: KeyStore, clock: Clock) -> None:
    register = DatabaseRegister(store)
    assert register.databases(KEYRING) == []
    register.see(KEYRING, CLINIC)
    clock.now += timedelta(minutes=59)
    register.see(KEYRING, CLINIC)
    (seen,) = register.databases(KEYRING)
    assert (seen.place, seen.digest, seen.forgotten_at) == (CLINIC.place, CLINIC.digest, None)
    assert seen.first_seen == seen.last_seen == FUTURE, "not written more often than each hour"
    clock.now += timedelta(minutes=2)
    register.see(KEYRING, CLINIC)
    (seen,) = register.databases(KEYRING)
    assert (seen.first_seen, seen.last_seen) == (FUTURE, clock.now)
    assert register.databases(OTHER) == []


def test_what_was_forgotten_and_is_seen_again_counts_again(store: KeyStore) -> None:
    register = DatabaseRegister(store)
    register.see(KEYRING, CLINIC)
    register.forget(KEYRING, CLINIC.digest)
    (forgotten,) = register.databases(KEYRING)
    assert forgotten.forgotten_at == FUTURE
    register.see(KEYRING, CLINIC)  # within the hour
    assert [one.forgotten_at for one in register.databases(KEYRING)] == [None]


def test_many_who_see_it_first_at_once_all_do(store: KeyStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: DatabaseRegister(store).see(KEYRING, CLINIC), range(4)))
    assert len(DatabaseRegister(store).databases(KEYRING)) == 1


def test_a_row_that_was_changed_by_hand_is_told(store: KeyStore) -> None:
    DatabaseRegister(store).see(KEYRING, CLINIC)
    with writing(store.engine) as connection:
        connection.execute(update(database_table).values(last_seen="yesterday"))
    with pytest.raises(KeyringError, match="a row of noisevault_database makes no sense"):
        DatabaseRegister(store).databases(KEYRING)
