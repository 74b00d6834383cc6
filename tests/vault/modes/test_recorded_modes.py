"""Recorded modes: what the key store says of a migrating field, and for how long that is relied on."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from kms import Keyring, KeyStore, LeaseSettings, open_provider
from kms.errors import KmsError
from kms.key_database import writing
from kms.providers.local import create_key_file
from tests.kms.manual_clock import ManualClock
from tests.vault.phases import set_phase
from vault.changeover.phase import Phase
from vault.changeover.tables import changeover_event_table, changeover_table
from vault.definition_store import create_schema, register
from vault.definitions.definition import FieldDefinition
from vault.modes.mode import Mode
from vault.modes.recorded_modes import (
    PLAINTEXT,
    SEALED,
    RecordedModes,
    changeovers_of,
    mode_of,
    phase_of,
    subject_of_field,
)
from vault.terms.term import BlindIndex

FIELD = FieldDefinition("patient", "ssn_sealed", "str/1", indexes=(BlindIndex(),))
OTHER = FieldDefinition("patient", "phone_sealed", "str/1")


class Process:
    """One process's keyring and modes, with a clock of its own and no thread."""

    def __init__(self, store: KeyStore, uri: str) -> None:
        self.clock = ManualClock()
        self.store = store
        self.keyring = Keyring.open(
            store, open_provider(uri), "main", leases=LeaseSettings(sealing=180), clock=self.clock, refresh=False
        )
        self.modes = RecordedModes(store, self.keyring)

    def record(self, mode: Mode | None) -> None:
        """As a command in another process does."""
        phase = None if mode is None else phase_of(mode)
        set_phase(self.store, Elsewhere(self.keyring), subject_of_field(FIELD), phase, old=PLAINTEXT, new=SEALED)


class Elsewhere:
    """The keyring for set_phase(), whose own leases go on."""

    def __init__(self, keyring: Keyring) -> None:
        self.id = keyring.id
        self.beside = self

    def end(self) -> None:
        pass


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    create_key_file(tmp_path / "kek")
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    uri = f"local:{tmp_path / 'kek'}"
    Keyring.create(store, open_provider(uri), "main").close()
    create_schema(store.engine)
    process = Process(store, uri)
    yield process
    process.keyring.close()
    store.engine.dispose()


def test_a_new_migrating_field_is_plaintext_and_that_is_recorded(process: Process) -> None:
    assert process.modes.mode(FIELD) is Mode.PLAINTEXT
    assert process.modes.mode(FIELD) is Mode.PLAINTEXT
    store = changeovers_of(process.store, process.keyring)
    (event,) = store.history(subject_of_field(FIELD))
    assert (event.who, event.why) == ("start-up", "declared with migrating=")
    assert store.lease.total_seconds() == 180


def test_of_two_processes_that_begin_at_once_one_does(process: Process) -> None:
    other = Process(process.store, f"local:{Path(str(process.store.engine.url.database)).parent / 'kek'}")
    assert process.modes.mode(OTHER) is Mode.PLAINTEXT  # both have read the store
    assert other.modes.mode(OTHER) is Mode.PLAINTEXT
    assert process.modes.mode(FIELD) is other.modes.mode(FIELD) is Mode.PLAINTEXT
    with process.store.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(changeover_event_table)) == 2
    other.keyring.close()


def test_a_field_that_another_process_began_and_recorded_since_is_not_taken_for_sealed_only(process: Process) -> None:
    other = Process(process.store, f"local:{Path(str(process.store.engine.url.database)).parent / 'kek'}")
    assert process.modes.mode(OTHER) is Mode.PLAINTEXT  # it has read the store, and relies on that
    assert other.modes.mode(FIELD) is Mode.PLAINTEXT
    register(process.store.engine, [FIELD], other.keyring)
    assert process.modes.mode(FIELD) is Mode.PLAINTEXT
    other.keyring.close()


def test_a_field_that_was_recorded_before_is_sealed_only(process: Process) -> None:
    """Also when somebody deletes the changeover: the record can only be stricter than the code."""
    register(process.store.engine, [OTHER], process.keyring)
    assert process.modes.mode(OTHER) is Mode.SEALED_ONLY
    assert process.modes.mode(FIELD) is Mode.PLAINTEXT
    register(process.store.engine, [FIELD], process.keyring)
    with writing(process.store.engine) as connection:
        connection.execute(delete(changeover_table))
    process.keyring.beside.end()
    assert process.modes.mode(FIELD) is Mode.SEALED_ONLY


def test_threads_that_meet_the_end_of_a_migration_at_once_all_go_on(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None ends what another is reading, which would keep that one from going on."""
    register(process.store.engine, [FIELD], process.keyring)
    process.record(Mode.SEALED_ONLY)
    assert process.modes.mode(FIELD) is Mode.SEALED_ONLY
    process.record(None)
    process.keyring.beside.end()
    met = threading.Barrier(8)
    recorded = RecordedModes._is_recorded

    def all_at_once(modes: RecordedModes, definition: FieldDefinition) -> bool:
        met.wait(10)
        return recorded(modes, definition)

    monkeypatch.setattr(RecordedModes, "_is_recorded", all_at_once)
    monkeypatch.setattr("kms.state_lease.MOST_ENDED_READINGS", 1)
    with ThreadPoolExecutor(8) as threads:
        modes = list(threads.map(lambda _: process.modes.mode(FIELD), range(8)))
    assert modes == [Mode.SEALED_ONLY] * 8


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
def test_the_mode_is_what_is_recorded(process: Process, mode: Mode) -> None:
    process.record(mode)
    assert process.modes.mode(FIELD) is mode
    assert process.modes.may_run(FIELD, mode)
    assert phase_of(mode_of(changeovers_of(process.store, process.keyring).find(subject_of_field(FIELD)))) in Phase


def test_a_change_is_known_within_a_lease_and_counted_once(process: Process) -> None:
    process.record(Mode.PLAINTEXT)
    assert process.modes.mode(FIELD) is Mode.PLAINTEXT
    process.record(Mode.DUAL_READ_PLAINTEXT)
    process.clock.now += 100
    assert (process.modes.mode(FIELD), process.modes.changes) == (Mode.PLAINTEXT, 0)
    process.clock.now += 100
    assert process.modes.changes == 1  # a statement that uses no migrating field looks too
    assert process.modes.mode(FIELD) is Mode.DUAL_READ_PLAINTEXT
    process.clock.now += 200
    assert process.modes.changes == 1  # read anew, and the same


def test_what_was_compiled_in_the_mode_before_runs_until_the_lease_of_that_mode_is_over(process: Process) -> None:
    process.record(Mode.DUAL_READ_PLAINTEXT)
    assert process.modes.mode(FIELD) is Mode.DUAL_READ_PLAINTEXT  # relied on for 120 s, as no thread renews it
    process.record(Mode.DUAL_READ_SEALED)
    process.clock.now += 60
    process.keyring.beside.end()  # as the thread does, which has read it early
    assert process.modes.mode(FIELD) is Mode.DUAL_READ_SEALED
    assert process.modes.may_run(FIELD, Mode.DUAL_READ_PLAINTEXT)
    assert not process.modes.may_run(FIELD, Mode.PLAINTEXT)
    process.clock.now += 59
    assert process.modes.may_run(FIELD, Mode.DUAL_READ_PLAINTEXT)
    process.clock.now += 1
    assert not process.modes.may_run(FIELD, Mode.DUAL_READ_PLAINTEXT)
    assert process.modes.may_run(FIELD, Mode.DUAL_READ_SEALED)


def test_without_the_key_store_a_mode_holds_for_its_lease_and_no_longer(process: Process) -> None:
    process.record(Mode.DUAL_READ_SEALED)
    assert process.modes.mode(FIELD) is Mode.DUAL_READ_SEALED
    Path(str(process.store.engine.url.database)).unlink()
    process.store.engine.dispose()
    process.clock.now += 179
    assert process.modes.mode(FIELD) is Mode.DUAL_READ_SEALED
    process.clock.now += 2
    with pytest.raises(KmsError):
        process.modes.mode(FIELD)
    assert process.modes.changes == 0  # for statements that use no migrating field nothing is amiss


def test_where_nothing_migrates_the_key_store_is_not_asked(process: Process) -> None:
    Path(str(process.store.engine.url.database)).unlink()
    process.store.engine.dispose()
    assert process.modes.changes == 0
