"""Records: the last run and the last success of each step, each keyring's and database's their own."""

import pytest
from sqlalchemy import update

from kms import KeyringError, KeyStore
from kms.key_database import writing
from tests.vault.maintenance.conftest import Clock
from vault.maintenance.record_tables import maintenance_table
from vault.maintenance.records import MaintenanceRecords
from vault.maintenance.step import Outcome, Result, Step

pytestmark = pytest.mark.databases_in_turn


def test_before_anything_was_recorded_there_is_nothing_and_no_table(records: MaintenanceRecords) -> None:
    assert records.read() == {}


def test_a_failure_leaves_the_last_success_as_it_was(records: MaintenanceRecords, clock: Clock) -> None:
    begun = clock()
    clock.passes(4)
    records.note(Step.VERIFY, "visit", Result(Outcome.DONE, "", 1000, "g"), begun)
    first = records.read()[Step.VERIFY, "visit"]
    assert (first.rate, first.runs, first.failures, first.goal) == (250.0, 1, 0, "g")
    assert first.succeeded_at == clock()
    clock.passes(60)
    records.note(Step.VERIFY, "visit", Result(Outcome.FAILED, "no"), clock())
    second = records.read()[Step.VERIFY, "visit"]
    assert (second.runs, second.failures, second.outcome) == (2, 1, Outcome.FAILED)
    assert (second.succeeded_at, second.rate) == (first.succeeded_at, None)


def test_each_keyring_and_each_database_has_its_own(records: MaintenanceRecords, key_store: KeyStore) -> None:
    records.note(Step.ROTATE, "", Result(Outcome.DONE, ""), records.now())
    assert MaintenanceRecords(key_store, bytes(16), "ab" * 32).read() == {}
    assert MaintenanceRecords(key_store, bytes(range(16)), "cd" * 32).read() == {}
    assert list(records.read()) == [(Step.ROTATE, "")]


def test_a_row_that_was_changed_by_hand_is_told(records: MaintenanceRecords, key_store: KeyStore) -> None:
    records.note(Step.ROTATE, "", Result(Outcome.DONE, ""), records.now())
    with writing(key_store.engine) as connection:
        connection.execute(update(maintenance_table).values(outcome="fine"))
    with pytest.raises(KeyringError, match="changed by hand"):
        records.read()
