"""One database is cleared of a key: what is moved before the triggers and after them, and what is written down."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, Table, create_engine

from kms.key_record import KeyRecord, KeyState, Purpose
from kms.key_store import KeyStore
from kms.provider import Wrapped
from tests.vault.projects import write_policy
from vault.databases.database_identity import DatabaseIdentity
from vault.errors import KeyInUseError
from vault.policy import Policy
from vault.retirement.clearances import Clearances
from vault.retirement.clearing import ROUNDS, Clearing
from vault.retirement.refused_keys import refused_keys
from vault.rows.key_uses import KeyUse
from vault.schema import tables

T = datetime(2026, 1, 1, tzinfo=UTC)
OLD, BEFORE = b"\x01" * 4, b"\x02" * 4
RECORD = KeyRecord(bytes(16), Purpose.DATA, OLD, 1, KeyState.DEACTIVATED, Wrapped(b"w", "local:kek", "1"), T, T)
HERE = DatabaseIdentity("here")
FOUND = [KeyUse(2, "values", "visit.diagnosis")]


class Place:
    """A database in which the key is needed as often as it is said, and what happened, in order."""

    def __init__(self, folder: Path) -> None:
        self.table: Table = tables(Policy.load(write_policy(folder))).tables["visit"]
        self.engine: Engine = create_engine(f"sqlite:///{folder / 'application.db'}")
        self.table.create(self.engine)
        self.store = KeyStore.from_url(f"sqlite:///{folder / 'keys.db'}")
        self.store.create_schema()
        self.clearances = Clearances(self.store, RECORD.keyring_id)
        self.found: list[list[KeyUse]] = []
        self.told: list[tuple[str, bool]] = []

    def refuses(self) -> bool:
        return OLD in refused_keys(self.engine, self.table)

    def uses(self, _: KeyRecord) -> list[KeyUse]:
        self.told.append(("scan", self.refuses()))
        return self.found.pop(0) if self.found else []

    def move(self, _: list[KeyUse]) -> None:
        self.told.append(("move", self.refuses()))

    def clear(self, move: Callable[[list[KeyUse]], None] | None = None) -> None:
        Clearing(
            self.engine, [self.table], HERE, self.clearances, self.uses, move or self.move, [BEFORE], patience=5
        ).clear(RECORD)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.engine.dispose()
    made.store.close()


def test_what_is_found_is_moved_before_any_row_is_refused_and_again_after_it(place: Place) -> None:
    place.found = [FOUND, FOUND, FOUND]
    begun = place.clearances.now()
    place.clear()
    assert place.told == [
        ("scan", False),
        ("move", False),
        ("scan", True),
        ("move", True),
        ("scan", True),
        ("move", True),
        ("scan", True),
    ]
    scan = place.clearances.scans()[HERE.digest, OLD]
    assert scan.found == 0
    assert scan.clears(begun)
    assert refused_keys(place.engine, place.table) == {OLD, BEFORE}


def test_what_comes_again_and_again_is_told(place: Place) -> None:
    place.found = [FOUND] * (ROUNDS + 1)
    with pytest.raises(KeyInUseError, match=f"by 2 values of visit.diagnosis after {ROUNDS} re-encryptions"):
        place.clear()
    assert place.clearances.scans()[HERE.digest, OLD].cleared_at is None


def test_what_cannot_be_moved_leaves_a_count_and_no_trigger(place: Place) -> None:
    def refuse(_: list[KeyUse]) -> None:
        raise KeyInUseError("first reindex")

    place.found = [FOUND]
    with pytest.raises(KeyInUseError, match="first reindex"):
        place.clear(refuse)
    assert not place.refuses()
    scan = place.clearances.scans()[HERE.digest, OLD]
    assert (scan.found, scan.cleared_at) == (2, None)


def test_a_scan_before_the_triggers_clears_nothing(place: Place) -> None:
    class StoppedError(Exception):
        pass

    def stop(_: KeyRecord) -> list[KeyUse]:
        if place.refuses():
            raise StoppedError
        return []

    with pytest.raises(StoppedError):
        Clearing(place.engine, [place.table], HERE, place.clearances, stop, place.move).clear(RECORD)
    assert place.clearances.scans()[HERE.digest, OLD].cleared_at is None
    place.clear()  # by the same command
    assert place.clearances.scans()[HERE.digest, OLD].clears(datetime.now(UTC) - timedelta(minutes=1))
