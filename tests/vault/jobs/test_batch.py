"""A batch is written whole with its checkpoint, or not at all."""

import pytest
from sqlalchemy import Connection, Engine, create_engine, text, update
from sqlalchemy.exc import DBAPIError

from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import NOTES, Capitals, bodies, write_notes
from tests.vault.jobs.writing_one_by_one import WritesOneByOne
from vault.errors import JobRunningError
from vault.jobs.batch import Batch, CommitsBatches
from vault.jobs.change import Change, Failed
from vault.jobs.job_store import JobName, JobStore, Taken
from vault.jobs.outage import Outage
from vault.jobs.quarantine import listed
from vault.jobs.work import BatchWriter

NAME = JobName("capitals", "note")
CHANGES = [Change((at,), ("a",), ("A",)) for at in range(3)]
BATCH = Batch(4, (3,), CHANGES, [Failed((3,), "body", "no"), Failed((3,), "title", "no")])


@pytest.fixture
def engine(database_url: str) -> Engine:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 4)
    return engine


def commits(engine: Engine, writer: BatchWriter | None = None, tries: int = 2) -> tuple[CommitsBatches, Taken]:
    store = JobStore(engine)
    store.create()
    made = CommitsBatches(engine, store, writer or WritesOneByOne(Capitals()), Outage(1), tries, 1)
    return made, store.take(NAME, "goal", 4, silence=0)


def test_rows_checkpoint_and_quarantine_are_written_together(engine: Engine) -> None:
    made, taken = commits(engine)
    assert made.commit(taken, BATCH).written == 3
    assert bodies(engine) == ["A", "A", "A", "a"]
    (row,) = made.store.all()
    assert (row["done_up_to"], row["seen"], row["rewritten"], row["missed"], row["failed"]) == ("[3]", 4, 3, 0, 1)
    with engine.connect() as connection:
        assert [(entry["row_key"], entry["column_name"]) for entry in listed(connection)] == [
            ("[3]", "body"),
            ("[3]", "title"),
        ]


class Fails(WritesOneByOne):
    """After it has written."""

    def write(self, connection: Connection, changes: object) -> list[bool]:
        super().write(connection, changes)  # type: ignore[arg-type]
        connection.execute(text("SELECT nothing FROM nowhere"))
        raise AssertionError


def test_of_a_batch_that_fails_nothing_is_left(engine: Engine) -> None:
    made, taken = commits(engine, Fails(Capitals()))
    with pytest.raises(DBAPIError):
        made.commit(taken, BATCH)
    assert bodies(engine) == ["a"] * 4
    assert made.store.all()[0]["done_up_to"] is None


def test_a_run_whose_job_another_has_taken_writes_nothing_more(engine: Engine) -> None:
    made, taken = commits(engine)
    made.store.take(NAME, "goal", 4, silence=0)
    with pytest.raises(JobRunningError):
        made.commit(taken, BATCH)
    assert bodies(engine) == ["a"] * 4


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_what_others_hold_all_the_while_is_missed_and_the_walk_goes_on(engine: Engine) -> None:
    made, taken = commits(engine)
    with create_engine(engine.url).begin() as service:
        service.execute(update(NOTES).where(NOTES.c.id == 1).values(owner=1))
        assert made.commit(taken, BATCH).written == 0
    (row,) = made.store.all()
    assert (row["done_up_to"], row["seen"], row["missed"]) == ("[3]", 4, 3)
