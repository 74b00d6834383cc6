"""Parts of a pass: kept, counted with their job, and added to it once."""

import pytest
from sqlalchemy import Engine, create_engine, select

from vault.errors import JobRunningError
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.job_tables import job_table_of_jobs, part_table
from vault.jobs.parts import Parts, forget_parts
from vault.jobs.walking.key_range import KeyRange

pytestmark = pytest.mark.databases_in_turn

NAME = JobName("reencrypt", "visit")
RANGES = [KeyRange(None, (10, "a")), KeyRange((10, "a"), (20, "b")), KeyRange((20, "b"), None)]


@pytest.fixture
def store(database_url: str) -> JobStore:
    store = JobStore(create_engine(database_url))
    store.create()
    return store


def rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return len(connection.execute(select(job_table_of_jobs)).all()) + len(
            connection.execute(select(part_table)).all()
        )


def work_at(store: JobStore, parts: Parts, mark: str) -> list[Taken]:
    """Some of each of the first two; the second is done."""
    taken = [store.take(part.name, mark, 5, 0.0, mark) for part in parts.stored()[:2]]
    with store.engine.begin() as connection:
        store.advance(connection, taken[0], (5, "x"), seen=4, failed=1, rewritten=3, missed=0)
        store.advance(connection, taken[1], (15, "x"), seen=6, failed=0, rewritten=5, missed=1)
    store.tell(taken[1], JobState.COMPLETE)
    return taken


def test_what_was_split_is_found_again_by_the_run_that_goes_on(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, 0.1)
    parts = Parts(store, taken)
    assert parts.stored() == []
    begun = parts.begin(RANGES)
    assert parts.stored() == begun
    assert [part.key_range for part in begun] == RANGES
    store.tell(taken, JobState.STOPPED)
    again = store.take(NAME, "goal", 100, 0.1)
    assert Parts(store, again).stored() == begun
    store.tell(again, JobState.STOPPED)
    other = store.take(NAME, "another goal", 100, 0.1)
    assert Parts(store, other).stored() == []


def test_a_part_goes_on_from_its_checkpoint_and_one_of_another_pass_does_not(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, 0.1)
    parts = Parts(store, taken)
    parts.begin(RANGES)
    first, second = work_at(store, parts, taken.mark)
    again = store.take(first.name, taken.mark, 5, 0.0, taken.mark)
    assert (again.done_up_to, again.seen, again.failed, again.mark) == ((5, "x"), 4, 1, taken.mark)
    ended = store.take(second.name, taken.mark, 5, 0.0, taken.mark)
    assert (ended.done_up_to, ended.seen) == ((15, "x"), 6), "its result may have been lost with its worker"
    other = store.take(first.name, "other", 5, 0.0, "other")
    assert (other.done_up_to, other.seen, other.mark) == (None, 0, "other")
    with pytest.raises(JobRunningError), store.engine.begin() as connection:
        store.advance(connection, again, (9, "x"), seen=1)


def test_their_counts_are_the_job_s_at_every_moment(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, 0.1)
    alone = store.take(JobName.of("reencrypt", "visit", KeyRange((1,), (2,))), "goal", 1, 0.1)
    parts = Parts(store, taken)
    parts.begin(RANGES)
    work_at(store, parts, taken.mark)

    def shown() -> list[tuple[str, int, int, int, int]]:
        return [(r["part"], r["seen"], r["missed"], r["failed"], r["rewritten"]) for r in store.all()]

    both = sorted([(alone.name.part, 0, 0, 0, 0), ("whole", 10, 1, 1, 8)])
    assert shown() == both, "a range that somebody runs by itself is shown by itself"
    assert sum(one.seen for one in parts.progress().values()) == 10
    assert sorted(one.is_done for one in parts.progress().values()) == [False, True]
    parts.end()
    assert shown() == both
    assert parts.progress() == {}
    assert rows(store.engine) == 2


def test_a_run_that_is_not_split_leaves_none_of_them(store: JobStore) -> None:
    taken = store.take(NAME, "goal", 100, 0.1)
    Parts(store, taken).begin(RANGES)
    work_at(store, Parts(store, taken), taken.mark)
    forget_parts(store, taken)
    forget_parts(store, taken)
    assert rows(store.engine) == 1


def test_who_lost_the_job_touches_no_part(store: JobStore) -> None:
    lost = store.take(NAME, "goal", 100, 0.1)
    Parts(store, lost).begin(RANGES)
    ours = store.take(NAME, "goal", 100, 0.05)
    for act in (lambda: Parts(store, lost).begin(RANGES), Parts(store, lost).end, lambda: forget_parts(store, lost)):
        with pytest.raises(JobRunningError):
            act()
    assert len(Parts(store, ours).stored()) == 3
