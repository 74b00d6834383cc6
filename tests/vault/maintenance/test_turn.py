"""The turn: one at a time, none left behind by a run that died."""

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, update

from vault.errors import JobRunningError
from vault.jobs.job_store import JobStore
from vault.jobs.job_tables import job_table_of_jobs
from vault.maintenance.turn import turn

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(database_url)


def test_another_process_is_refused_while_it_counts_on_and_has_it_afterwards(engine: Engine) -> None:
    with turn(engine, "main", threading.Event(), beat=0.1):
        with pytest.raises(JobRunningError), turn(engine, "main", threading.Event(), silence=20):
            pass
        with turn(engine, "other", threading.Event(), beat=0.1):
            pass  # another keyring's
    with turn(engine, "main", threading.Event(), beat=0.1) as heart:
        assert not heart.is_stopping()
    engine.dispose()


def test_a_run_that_died_leaves_no_lock(engine: Engine) -> None:
    with turn(engine, "main", threading.Event()):
        pass
    with engine.begin() as connection:  # as it stands when the process is killed
        connection.execute(update(job_table_of_jobs).values(state="running"))
    begun = time.monotonic()
    with turn(engine, "main", threading.Event(), silence=0.5):
        pass
    assert time.monotonic() - begun >= 0.5
    engine.dispose()


def test_after_a_failure_it_is_given_back_at_once(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with pytest.raises(ZeroDivisionError), turn(engine, "main", threading.Event()):
        raise ZeroDivisionError
    (row,) = JobStore(engine).all()
    assert (row["job"], row["state"]) == ("maintain", "stopped")
    engine.dispose()
