"""Compiled modes: a statement that was kept from another mode is made anew, or does not run."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import bindparam, select, text
from sqlalchemy.orm import Session

from tests.vault.mapping.migrating import Migration, Patient
from vault.errors import ModeChangedError
from vault.mapping.compiled_modes import mode_in_force, mode_of_compiled
from vault.modes.mode import Mode

pytestmark = pytest.mark.databases_in_turn

ASKED = select(Patient.ssn).where(Patient.id == 1)


@pytest.fixture
def apart(migration: Migration) -> Migration:
    """A patient whose two values are not alike, so that each read says where it was."""
    migration.modes.set(Mode.DUAL_READ_PLAINTEXT)
    with Session(migration.engine) as session:
        session.add(Patient(id=1, ssn="plain§sealed"))
        session.commit()
        session.execute(text("UPDATE patient SET ssn = :value"), {"value": "plain§plain"})
        session.commit()
    return migration


def read(migration: Migration) -> Any:
    with migration.engine.connect() as connection:
        return connection.scalar(ASKED)


def test_a_held_statement_is_read_in_the_mode_of_its_moment(apart: Migration) -> None:
    for mode in [*Mode, *reversed(Mode)] * 2:
        apart.modes.set(mode)
        for _ in range(2):
            assert read(apart) == ("plain§sealed" if mode.reads_sealed else "plain§plain")


def test_a_compiled_statement_of_the_mode_before_runs_while_its_lease_does(apart: Migration) -> None:
    kept: dict[Any, Any] = {}
    with apart.engine.connect().execution_options(compiled_cache=kept) as connection:
        assert connection.scalar(ASKED) == "plain§plain"
        before = dict(kept)
        apart.modes.set(Mode.DUAL_READ_SEALED)
        assert connection.scalar(ASKED) == "plain§plain"
        kept.update(before)
        apart.modes.lease_runs = False
        try:
            with pytest.raises(ModeChangedError, match="run it again"):
                connection.scalar(ASKED)
        finally:
            apart.modes.lease_runs = True


def test_a_compiled_statement_two_modes_old_does_not_run(apart: Migration) -> None:
    kept: dict[Any, Any] = {}
    with apart.engine.connect().execution_options(compiled_cache=kept) as connection:
        connection.scalar(ASKED)
        apart.modes.set(Mode.DUAL_READ_SEALED)
        apart.modes.set(Mode.SEALED_ONLY)
        with pytest.raises(ModeChangedError, match=r"patient\.ssn_sealed"):
            connection.scalar(ASKED)
    assert read(apart) == "plain§sealed"


def test_an_own_cache_of_the_application_is_emptied_by_what_it_keeps_too_long(apart: Migration) -> None:
    kept: dict[Any, Any] = {}
    with apart.engine.connect().execution_options(compiled_cache=kept) as connection:
        assert connection.scalar(ASKED) == "plain§plain"
        apart.modes.set(Mode.DUAL_READ_SEALED)
        assert connection.scalar(ASKED) == "plain§plain"  # as a process does that has not heard of it yet
        assert connection.scalar(ASKED) == "plain§sealed"
        apart.modes.set(Mode.SEALED_ONLY)
        apart.modes.set(Mode.SEALED_ONLY)
        with pytest.raises(ModeChangedError):
            connection.scalar(ASKED)
        assert connection.scalar(ASKED) == "plain§sealed"


def test_without_a_vault_a_statement_is_compiled_as_sealed() -> None:
    sealed = Patient.__table__.c.ssn_sealed.type.owner
    compiled = ASKED.compile()
    assert mode_of_compiled(compiled, sealed) is Mode.SEALED_ONLY
    assert mode_in_force(compiled.dialect, sealed) is Mode.SEALED_ONLY
    assert "ssn_sealed" in str(compiled)


def test_one_statement_has_one_mode_from_beginning_to_end(apart: Migration) -> None:
    sealed = Patient.__table__.c.ssn_sealed.type.owner
    compiled = ASKED.compile(apart.engine)
    apart.modes.set(Mode.DUAL_READ_SEALED)
    assert mode_of_compiled(compiled, sealed) is Mode.DUAL_READ_PLAINTEXT


def test_threads_ask_and_read_rightly_while_the_mode_changes(migration: Migration) -> None:
    """A statement's SQL, parameters and result are of one mode: else plaintext would be compared with terms."""
    migration.modes.set(Mode.DUAL_READ_PLAINTEXT)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=n, ssn=f"plain§{n}") for n in range(1, 21)])
        session.commit()
    wrong: list[object] = []
    over = threading.Event()

    def ask(seed: int) -> None:
        held = select(Patient.id, Patient.ssn).where(Patient.ssn == bindparam("ssn"))
        n = seed
        while not over.is_set():
            n = 1 + (n + 7) % 20
            anew = select(Patient.id, Patient.ssn).where(Patient.ssn.in_([f"plain§{n}"]))
            with migration.engine.connect() as connection:
                for found in (connection.execute(held, {"ssn": f"plain§{n}"}).all(), connection.execute(anew).all()):
                    if [tuple(row) for row in found] != [(n, f"plain§{n}")]:
                        wrong.append((n, found))

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask, seed) for seed in range(4)]
        for number in range(60):
            time.sleep(0.02)
            migration.modes.set(list(Mode)[1 + number % 2])
        over.set()
    for one in asking:
        one.result()
    assert wrong == []
