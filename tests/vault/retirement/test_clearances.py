"""Which databases are cleared of a key, and since when that counts; on three databases."""

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
from vault.retirement.clearance_tables import clearance_table
from vault.retirement.clearances import Clearances

pytestmark = pytest.mark.databases_in_turn

KEYRING, KEY, OTHER = bytes(15) + b"\x01", b"\x01" * 4, b"\x02" * 4
A, B = DatabaseIdentity("a", "", "run 1"), DatabaseIdentity("b", "", "run 2")
T = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def store(database_url: str) -> Iterator[KeyStore]:
    store = KeyStore.from_url(database_url)
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def clearances(store: KeyStore) -> Clearances:
    for identity in (A, B):
        DatabaseRegister(store).see(KEYRING, identity)
    return Clearances(store, KEYRING)


def missing(clearances: Clearances, since: datetime = T, key_id: bytes = KEY) -> list[str]:
    return [one.place for one in clearances.missing(key_id, since)]


def test_the_longest_wait_is_of_clearances_that_count(clearances: Clearances, store: KeyStore) -> None:
    assert clearances.longest_wait(KEY, T) is None
    clearances.note(A.digest, KEY, T, 0, cleared=True, wait=HOUR)
    clearances.note(B.digest, KEY, T, 0, cleared=True, wait=2 * HOUR)
    clearances.note(B.digest, KEY, T, 0, cleared=True)  # as for destroying
    found = clearances.longest_wait(KEY, T)
    assert found is not None
    assert (found[0], found[1].place) == (2 * HOUR, "b")
    assert clearances.longest_wait(KEY, T + HOUR) is None, "the key was restored since"
    assert clearances.longest_wait(OTHER, T) is None
    of_a = clearances.longest_wait(KEY, T, but=B.digest)
    DatabaseRegister(store).forget(KEYRING, B.digest)
    assert of_a is not None
    assert (of_a, of_a[0]) == (clearances.longest_wait(KEY, T), HOUR)
    clearances.note(A.digest, KEY, T, 0, cleared=True, wait=HOUR / 4)
    shorter = clearances.longest_wait(KEY, T)
    assert shorter is not None
    assert shorter[0] == HOUR / 4, "who clears it again says anew"


def test_each_database_has_to_be_cleared_since_then(clearances: Clearances) -> None:
    assert missing(clearances) == ["a", "b"]
    clearances.note(A.digest, KEY, T, 0, cleared=True)
    clearances.note(B.digest, KEY, T - HOUR, 0, cleared=True)
    assert missing(clearances) == ["b"], "what was before counts no more"
    clearances.note(B.digest, KEY, T + HOUR, 0, cleared=True)
    assert missing(clearances) == []
    assert missing(clearances, key_id=OTHER) == ["a", "b"]
    assert missing(clearances, T + HOUR) == ["a"]


def test_a_scan_that_finds_something_ends_a_clearance_and_one_that_does_not_leaves_it(clearances: Clearances) -> None:
    clearances.note(A.digest, KEY, T, 0, cleared=True)
    clearances.note(A.digest, KEY, T + HOUR, 0)
    scan = clearances.scans()[A.digest, KEY]
    assert (scan.scanned_at, scan.found, scan.cleared_at) == (T + HOUR, 0, T)
    clearances.note(A.digest, KEY, T + HOUR, 3)
    assert missing(clearances) == ["a", "b"]
    clearances.note(A.digest, KEY, T + 2 * HOUR, 0)
    assert missing(clearances) == ["a", "b"], "nobody knows whether its columns refuse the key"


def test_a_forgotten_database_does_not_count_and_one_that_is_void_does(store: KeyStore, clearances: Clearances) -> None:
    clearances.note(A.digest, KEY, T, 0, cleared=True)
    DatabaseRegister(store).forget(KEYRING, B.digest)
    assert missing(clearances) == []
    clearances.void(A.digest)
    assert missing(clearances) == ["a"]


def test_two_addresses_of_one_run_of_a_server_are_one_database(store: KeyStore, clearances: Clearances) -> None:
    again = DatabaseIdentity("c", "", A.instance)
    DatabaseRegister(store).see(KEYRING, again)
    clearances.note(B.digest, KEY, T, 0, cleared=True)
    assert missing(clearances) == ["a", "c"]
    clearances.note(A.digest, KEY, T, 0, cleared=True)
    assert missing(clearances) == []
    DatabaseRegister(store).see(KEYRING, DatabaseIdentity("c", "", "run 3"))
    assert missing(clearances) == ["c"], "it was started anew, or is a copy"
    for place in ("d", "e"):  # of which none is told
        DatabaseRegister(store).see(KEYRING, DatabaseIdentity(place))
    clearances.note(DatabaseIdentity("d").digest, KEY, T, 0, cleared=True)
    assert missing(clearances) == ["c", "e"]


def test_many_who_note_it_first_at_once_all_do(clearances: Clearances) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: clearances.note(A.digest, KEY, T, 0, cleared=True), range(4)))
    assert len(clearances.scans()) == 1


def test_a_scan_is_dated_by_the_clock_that_is_behind(store: KeyStore) -> None:
    ahead = KeyStore(store.engine, now=lambda: datetime(2100, 1, 1, tzinfo=UTC))
    assert Clearances(ahead, KEYRING).now() < datetime(2100, 1, 1, tzinfo=UTC)
    behind = KeyStore(store.engine, now=lambda: T)
    assert Clearances(behind, KEYRING).now() == T


def test_a_row_that_was_changed_by_hand_is_told(store: KeyStore, clearances: Clearances) -> None:
    clearances.note(A.digest, KEY, T, 0)
    with writing(store.engine) as connection:
        connection.execute(update(clearance_table).values(scanned_at="once"))
    with pytest.raises(KeyringError, match="a row of noisevault_clearance makes no sense"):
        clearances.scans()
