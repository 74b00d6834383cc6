"""A service sealed by the old key and sleeps while the key is retired: its row is moved, or refused, and never lost."""

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from kms import KeyState, Purpose
from tests.flows.faults.late_writer import LATE, REFUSED, late_writer
from tests.flows.faults.visits import (
    Place,
    as_first,
    first_state,
    key_ids,
    make_visits,
    patient,
    require_whole,
    rotate,
    row,
    stored,
)
from tests.kms.rested import let_rest
from tests.vault.projects import make_project
from vault.cli.key_clearing import KeyClearing
from vault.errors import KeyInUseError, RetiredKeyError
from vault.project import Project


def rows_of(url: str) -> int:
    """Nothing on SQLite, where a service that sleeps in its transaction stops every re-encryption of the file."""
    return 0 if url.startswith("sqlite") else 30


def made(folder: Path, url: str, rows: int) -> Project:
    return make_visits(folder, url, rows) if rows else make_project(folder, patient(url))


def retire(project: Project, key_id: bytes, patience: float = 60.0) -> None:
    clearing = KeyClearing(project, reencrypt=True, patience=patience)
    lifecycle = project.opened.keyring.lifecycle
    lifecycle.retire(key_id, look=lambda found: clearing.require_cleared(found, found.changed_at))


def state(project: Project, key_id: bytes) -> KeyState:
    return next(one.state for one in project.opened.keyring.records() if one.key_id == key_id)


def replaced(project: Project) -> bytes:
    """The data key that was active; another is, and no process seals by the old one any more."""
    (old,) = project.opened.keyring.records(Purpose.DATA)
    rotate(project)
    let_rest(project.opened.key_store.engine)
    return old.key_id


def active(project: Project) -> bytes:
    return project.opened.keyring.sealing(Purpose.DATA).key.key_id


def test_who_sleeps_with_its_row_in_an_open_transaction_is_waited_for_and_the_row_is_moved(
    tmp_path: Path, database_url: str
) -> None:
    rows = rows_of(database_url)
    project = made(tmp_path, database_url, rows)
    with late_writer(Place(tmp_path), sealed_only=False) as writer:
        old, woken = replaced(project), []

        def wake() -> None:
            woken.append((time.monotonic(), state(project, old), writer.woken()))

        timer = threading.Timer(1.5, wake)
        timer.start()
        retire(project, old)
        ended = time.monotonic()
        timer.join()
    assert [(found, code) for _, found, code in woken] == [(KeyState.DEACTIVATED, 0)], "it had committed"
    assert ended > woken[0][0], "retiring waited for it"
    assert state(project, old) is KeyState.RETIRED
    require_whole(project, dict(as_first(rows)) | {LATE: [first_state(LATE)]}, active(project))
    project.close()


def test_who_slept_past_its_lease_between_sealing_and_writing_is_refused_and_writes_again(
    tmp_path: Path, database_url: str
) -> None:
    project, place = make_visits(tmp_path, database_url, 30), Place(tmp_path)
    with late_writer(place, sealed_only=True) as writer:
        old = replaced(project)
        retire(project, old)
        assert state(project, old) is KeyState.RETIRED
        assert writer.woken() == REFUSED, "told, so that it can write again"
    with place.opened() as (engine, table, _vault), engine.begin() as connection:
        connection.execute(table.insert().values(row(LATE, first_state(LATE))))
    require_whole(project, dict(as_first(30)) | {LATE: [first_state(LATE)]}, active(project))
    project.close()


def test_without_the_triggers_that_row_would_be_lost(tmp_path: Path, database_url: str) -> None:
    """What the tests above prove: the same service, and only a scan."""
    project = made(tmp_path, database_url, 0)
    with late_writer(Place(tmp_path), sealed_only=True) as writer:
        old = replaced(project)
        project.opened.keyring.lifecycle.retire(old)
        assert writer.woken() == 0
    assert key_ids(project) == {old}
    with pytest.raises(RetiredKeyError):
        stored(project)
    project.close()


def test_a_transaction_that_stays_open_for_long_is_told_and_the_key_stays(tmp_path: Path, database_url: str) -> None:
    short = f"{database_url}?timeout=0.2" if database_url.startswith("sqlite") else database_url
    rows = rows_of(database_url)
    project = made(tmp_path, short, rows)
    with late_writer(Place(tmp_path), sealed_only=False) as writer:
        old = replaced(project)
        with pytest.raises(KeyInUseError, match=r"some transaction has held visit for 1 s: .* it is one of: "):
            retire(project, old, patience=1.0)
        assert state(project, old) is KeyState.DEACTIVATED
        if not database_url.startswith("sqlite"):
            with project.engine.connect() as connection:  # nobody queues behind a command that gave up
                connection.execute(text("SELECT COUNT(*) FROM visit"))
        assert writer.woken() == 0
    retire(project, old)
    require_whole(project, dict(as_first(rows)) | {LATE: [first_state(LATE)]}, active(project))
    project.close()
