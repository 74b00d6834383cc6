"""What a worker does with a task: a report whatever happens, and in it no word of a driver, a key or a row."""

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Engine, create_engine, insert, select, text

from kms import UnavailableError
from tests.servers.databases import SERVERS
from tests.vault.jobs.plain_work import NOTES, Capitals, bodies, write_notes
from vault.errors import JobError
from vault.jobs.engine import Job, JobSettings
from vault.jobs.events import Event, RowFailed
from vault.jobs.job_store import JobName, JobState, JobStore, Taken
from vault.jobs.job_tables import part_table
from vault.jobs.parts import Parts
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.workers.kept_open import KeptOpen, sessions
from vault.jobs.workers.part_run import run_part
from vault.jobs.workers.part_task import PartReport, PartTask
from vault.jobs.workers.recipe import Supply
from vault.jobs.workers.shared_pass import SharedPass
from vault.jobs.workers.workers import WorkersOf

pytestmark = pytest.mark.databases_in_turn

NAME = JobName("capitals", "note")
SETTINGS = JobSettings(patience=0.1, beat=0.05)


@dataclass(frozen=True)
class NotesRecipe:
    url: str
    goal: str = "capitals"
    wrong: str = ""

    @contextmanager
    def open(self, kept: KeptOpen) -> Iterator[Supply]:
        if self.wrong == "vault":
            raise JobError("what an operator is to do")
        if self.wrong == "other":
            raise RuntimeError("s3cr3t")
        engine = create_engine(self.url)
        if self.wrong == "driver":
            with engine.connect() as connection:
                connection.execute(text("SELECT 's3cr3t' FROM nowhere"))
        yield Supply.of_work(engine, lambda: Away() if self.wrong == "away" else Capitals(self.goal))
        engine.dispose()


class Away(Capitals):
    def renew(self, rows: object) -> object:  # type: ignore[override]
        raise UnavailableError("the key service is away")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 30)
    yield engine
    sessions().end()
    engine.dispose()


def given(engine: Engine, **recipe: str) -> tuple[JobStore, Taken, PartTask]:
    """The task of the rows from 10 to 19."""
    store = JobStore(engine)
    store.create()
    taken = store.take(NAME, "goal", 30, 0.1)
    (part,) = Parts(store, taken).begin([KeyRange((9,), (19,))])
    url = engine.url.render_as_string(hide_password=False)
    task = PartTask("s", NotesRecipe(url, **recipe), SETTINGS, NAME, taken.run, taken.mark, "capitals", part, 10)
    return store, taken, pickle.loads(pickle.dumps(task))


def test_the_part_is_done_and_no_more(engine: Engine) -> None:
    store, taken, task = given(engine)
    assert run_part(task) == PartReport()
    assert bodies(engine) == ["a"] * 10 + ["A"] * 10 + ["a"] * 10
    (progress,) = Parts(store, taken).progress().values()
    assert (progress.state, progress.seen, progress.rewritten) == (JobState.COMPLETE, 10, 10)
    assert run_part(task) == PartReport(), "done twice it is done"
    (progress,) = Parts(store, taken).progress().values()
    assert (progress.seen, progress.rewritten) == (10, 10)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("vault", "what an operator is to do"),
        ("other", "RuntimeError in the worker"),
        ("driver", "the database refused or did not answer"),
    ],
)
def test_what_goes_wrong_is_told_without_what_it_may_hold(engine: Engine, wrong: str, said: str) -> None:
    _, _, task = given(engine, wrong=wrong)
    report = run_part(task)
    assert said in report.failure
    assert "s3cr3t" not in str(pickle.dumps(report))


def test_what_was_waited_for_is_told(engine: Engine) -> None:
    _, _, task = given(engine, wrong="away")
    report = run_part(task)
    assert "the key service is away" in report.failure
    assert [reason for reason, _ in report.waited] == ["the key service is away"]


def test_a_worker_of_another_goal_touches_nothing(engine: Engine) -> None:
    _, _, task = given(engine, goal="other")
    assert run_part(task) == PartReport(other_goal="other")
    assert bodies(engine) == ["a"] * 30


def test_of_a_run_that_is_over_nothing_is_begun(engine: Engine) -> None:
    store, taken, task = given(engine)
    store.tell(taken, JobState.STOPPED)
    assert run_part(task) == PartReport(stopped=True)
    assert "is run by another process" in run_part(replace(task, run="another")).failure
    assert bodies(engine) == ["a"] * 30


def test_of_few_rows_the_run_does_the_pass_itself(engine: Engine) -> None:
    store, taken, _ = given(engine)
    store.tell(taken, JobState.STOPPED)
    with ThreadPoolExecutor(1) as threads:
        shared = SharedPass(NotesRecipe("not opened"), WorkersOf(threads, 2), worth_it=31)
        assert Job(Capitals(), engine, SETTINGS, shared=shared).run().rewritten == 30
    with engine.connect() as connection:
        assert connection.execute(select(part_table)).all() == [], "another run's, of another goal"


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_whole_pass_of_parts_on_every_server(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            insert(NOTES), [{"id": at, "body": "a!" if at % 50 == 0 else "a", "owner": 0} for at in range(-300, 0)]
        )
    events: list[Event] = []
    url = engine.url.render_as_string(hide_password=False)
    with ThreadPoolExecutor(2) as threads:
        shared = SharedPass(NotesRecipe(url), WorkersOf(threads, 2), least_rows=20)
        tally = Job(Capitals(), engine, SETTINGS, notify=events.append, shared=shared).run()
    assert (tally.outcome, tally.rewritten, tally.failed) == (JobState.INCOMPLETE, 324, 6)
    assert len([one for one in events if isinstance(one, RowFailed)]) == 6
    assert bodies(engine).count("A") == 324
    (row,) = JobStore(engine).all()
    assert (row["seen"], row["failed"], row["rewritten"]) == (330, 6, 324)
