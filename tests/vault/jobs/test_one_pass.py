"""A pass: pages of the size that the pace gives, read while the batch before is written, each row once."""

import threading
import time

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import Capitals, bodies, write_notes
from tests.vault.jobs.writing_one_by_one import WritesOneByOne
from vault.errors import DefinitionError
from vault.jobs.batch import CommitsBatches
from vault.jobs.change import Change
from vault.jobs.events import Advanced, Event
from vault.jobs.heart import Heart
from vault.jobs.job_store import JobName, JobStore
from vault.jobs.one_pass import Pass, PassResult
from vault.jobs.outage import Outage
from vault.jobs.pace import Pace, PaceSettings
from vault.jobs.walking.key_range import WHOLE
from vault.jobs.work import BatchWriter, Work


def run(engine: Engine, work: Work, writer: BatchWriter, events: list[Event], **pace: float) -> PassResult:
    store = JobStore(engine)
    store.create()
    taken = store.take(JobName(work.name, "note"), work.goal, 0, silence=0)
    one = Pass(work, engine, WHOLE, Outage(5), events.append, time.monotonic)
    settings = PaceSettings(**({"most_rows": 10} | pace))  # type: ignore[arg-type]
    commits = CommitsBatches(engine, store, writer, ["body"], Outage(5), 3, 1)
    with Heart(store, taken, 0.05, threading.Event()) as heart:
        return one.run(taken, commits, heart, Pace.begin(settings), 50, lambda: None)


class Watched(WritesOneByOne):
    """Notes whether the page after a batch was read before the batch had been written."""

    def __init__(self, work: Capitals) -> None:
        super().__init__(work)
        self.work = work
        self.read_meanwhile: list[bool] = []
        self.threads: set[str] = set()

    def write(self, connection: Connection, changes: list[Change]) -> list[bool]:  # type: ignore[override]
        own, end = len(self.read_meanwhile) + 1, time.monotonic() + 0.5
        while len(self.work.pages) == own and time.monotonic() < end:
            time.sleep(0.01)
        self.read_meanwhile.append(len(self.work.pages) > own)
        self.threads.add(threading.current_thread().name)
        return super().write(connection, changes)


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_the_next_page_is_read_while_a_batch_is_written(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 50)
    work = Capitals()
    writer = Watched(work)
    assert run(engine, work, writer, []) == PassResult(50, 50, 0, 0)
    assert writer.read_meanwhile[:-1] == [True] * 4
    assert "MainThread" not in writer.threads


def test_sqlite_takes_turns_in_one_thread() -> None:
    engine = create_engine("sqlite://")
    write_notes(engine, ["a"] * 20)
    work = Capitals()
    writer = Watched(work)
    assert run(engine, work, writer, []).rewritten == 20
    assert writer.read_meanwhile == [False, False]
    assert writer.threads == {"MainThread"}
    engine.dispose()


def test_what_is_told_adds_up_and_ends_with_all(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a", "B", "c!"] * 16)
    events: list[Event] = []
    result = run(engine, Capitals(), WritesOneByOne(Capitals()), events)
    assert result == PassResult(48, 16, 0, 16)
    last = [event for event in events if isinstance(event, Advanced)][-1]
    assert (last.seen, last.rows, last.rewritten, last.failed) == (48, 50, 16, 16)
    assert last.rate > 0


def test_rows_are_rewritten_no_faster_than_is_allowed(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 30)
    began = time.monotonic()
    assert run(engine, Capitals(), WritesOneByOne(Capitals()), [], rows_per_second=20).rewritten == 30
    assert time.monotonic() - began >= 1.0
    began = time.monotonic()
    run(engine, Capitals(), WritesOneByOne(Capitals()), [], rows_per_second=1)
    assert time.monotonic() - began < 5, "what is only read is not held back"
    assert set(bodies(engine)) == {"A"}


@pytest.mark.mariadb
def test_a_walk_that_would_have_no_end_is_refused(mariadb_url: str) -> None:
    """MariaDB tells a FLOAT of 0.1 as 0.1, and then finds it greater than that."""
    engine = create_engine(mariadb_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE note (id FLOAT PRIMARY KEY, body TEXT, owner INTEGER)"))
        connection.execute(text("INSERT INTO note VALUES (0.1, 'A', 0)"))
    with pytest.raises(DefinitionError, match="note cannot be walked"):
        run(engine, Capitals(), WritesOneByOne(Capitals()), [], most_rows=1)
