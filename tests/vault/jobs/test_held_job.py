"""A run that fails leaves no job that seems to be held."""

import pytest
from sqlalchemy import Engine, create_engine

from vault.jobs.held_job import let_go_of_when_it_fails
from vault.jobs.job_store import JobName, JobState, JobStore

NAME = JobName("reencrypt", "visit")


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(database_url)


def test_whatever_ends_it_the_job_is_stopped_and_the_error_is_the_first_one(engine: Engine) -> None:
    store = JobStore(engine)
    store.create()
    taken = store.take(NAME, "goal", 3, 0.1)
    with let_go_of_when_it_fails(store, taken):
        pass
    assert [row["state"] for row in store.all()] == ["running"]
    with pytest.raises(KeyboardInterrupt), let_go_of_when_it_fails(store, taken):
        raise KeyboardInterrupt
    assert [row["state"] for row in store.all()] == [JobState.STOPPED]
    other = store.take(NAME, "goal", 3, 0.1)
    with pytest.raises(ZeroDivisionError), let_go_of_when_it_fails(store, taken):
        _ = 1 / 0
    assert [row["state"] for row in store.all()] == ["running"], "it is another's"
    assert other.run != taken.run
