"""Runs of a work: passes and proof, death and resumption, what operators wish, and what a database does meanwhile."""

import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, RowMapping, Text, create_engine, delete, insert, text, update

from kms import UnavailableError
from tests.servers.databases import SERVERS
from tests.sizes import sized
from tests.vault.jobs.plain_work import NOTES, Capitals, bodies, write_notes
from vault.errors import JobError, JobIncompleteError, JobRunningError
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Began, Ended, Event, Held, Proved, RowFailed, RowLeft, Waiting
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish
from vault.jobs.left_rows import FREE, MOVING
from vault.jobs.pace import PaceSettings
from vault.jobs.quarantine import listed
from vault.jobs.tally import Tally
from vault.jobs.walking.key_range import KeyRange
from vault.jobs.walking.stored_key import StoredKey

pytestmark = pytest.mark.databases_in_turn

NAME = JobName("capitals", "note")
# Of a service that updates two rows while runs write them.
ROUNDS = sized(60, 200)


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(database_url)


def settings(rows: int = 10, **others: object) -> JobSettings:
    return JobSettings(PaceSettings(most_rows=rows), **({"beat": 0.05, "silence": 0.5} | others))  # type: ignore[arg-type]


class Meanwhile(Capitals):
    """do: what others do, by the number of the page, after it was read and before it is written."""

    def __init__(self, do: "dict[int, object]", goal: str = "capitals") -> None:
        super().__init__(goal)
        self.do = do

    def meanwhile(self, keys: list[int]) -> None:
        act = self.do.pop(len(self.pages), None)
        if act is not None:
            act()  # type: ignore[operator]


def test_each_row_is_written_once_and_what_it_did_is_told(engine: Engine) -> None:
    write_notes(engine, ["a"] * 25 + ["B"] * 5)
    events: list[Event] = []
    work = Capitals()
    tally = Job(work, engine, settings(), notify=events.append).run()
    assert bodies(engine) == ["A"] * 25 + ["B"] * 5
    assert (tally.rewritten, tally.changed_meanwhile, tally.failed, tally.remaining) == (25, 0, 0, 0)
    assert tally.outcome is JobState.COMPLETE
    tally.require_complete()
    assert work.renewed == list(range(25))
    assert isinstance(events[0], Began)
    assert [event.seen for event in events if isinstance(event, Advanced)] == [10, 20, 30]
    assert {event.rows for event in events if isinstance(event, Advanced)} == {30}
    assert [type(event) for event in events[-2:]] == [Proved, Ended]


@pytest.mark.every_database
def test_k12_01_what_changed_meanwhile_stays_and_is_looked_at_again(engine: Engine) -> None:
    write_notes(engine, ["a"] * 30)

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(update(NOTES).where(NOTES.c.id == 7).values(body="service"))

    work = Meanwhile({1: write})
    tally = Job(work, engine, settings()).run()
    assert bodies(engine) == ["A"] * 7 + ["SERVICE"] + ["A"] * 22
    assert (tally.rewritten, tally.changed_meanwhile, tally.remaining) == (30, 1, 0)
    assert len(work.pages) == 6, "two passes of three pages"


@pytest.mark.every_database
def test_k12_03_rows_that_come_and_go_lose_nobody_a_place(engine: Engine) -> None:
    write_notes(engine, ["a"] * 200)
    next_key = iter(range(200, 400))

    def come_and_go(page: int) -> None:
        with engine.begin() as connection:
            connection.execute(delete(NOTES).where(NOTES.c.id.between(page * 20 - 20, page * 20 - 16)))
            for _ in range(5):
                connection.execute(insert(NOTES).values(id=-next(next_key) if page % 2 else next(next_key), body="a"))

    work = Meanwhile({page: lambda page=page: come_and_go(page) for page in range(1, 11)})  # type: ignore[misc]
    tally = Job(work, engine, settings(20)).run()
    assert set(bodies(engine)) == {"A"}
    assert len(bodies(engine)) == 200
    assert tally.outcome is JobState.COMPLETE
    assert tally.remaining == 0


def test_a_row_that_never_rests_ends_the_run_after_so_many_passes_and_is_told(engine: Engine) -> None:
    write_notes(engine, ["a"] * 12)
    count = iter(range(1000))

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(update(NOTES).where(NOTES.c.id == 7).values(body=f"again {next(count)}"))

    work = Meanwhile(dict.fromkeys(range(1, 100), write))
    tally = Job(work, engine, settings(20, passes=3)).run()
    assert (tally.outcome, tally.remaining, tally.changed_meanwhile) == (JobState.INCOMPLETE, 1, 3)
    assert tally.why == (("body", "is not capitals", 1),)
    assert tally.left == ((FREE, 1),)
    with pytest.raises(JobIncompleteError, match="1 rows are not done: run the job again"):
        tally.require_complete()


def test_rows_that_others_have_done_after_the_count_are_not_told_as_left(engine: Engine) -> None:
    """The count found one, the look for it none: what is told agrees."""
    write_notes(engine, ["a"] * 12)
    told: list[Event] = []

    def write(body: str) -> None:
        with engine.begin() as connection:
            connection.execute(update(NOTES).where(NOTES.c.id == 7).values(body=body))

    def notify(event: Event) -> None:
        told.append(event)
        if isinstance(event, Proved) and len([one for one in told if isinstance(one, Proved)]) == 1:
            write("DONE BY ITS SERVICE")

    tally = Job(Meanwhile({1: lambda: write("again")}), engine, settings(20, passes=1), notify=notify).run()
    assert (tally.outcome, tally.remaining, tally.left, tally.why) == (JobState.COMPLETE, 0, (), ())
    assert [one.remaining for one in told if isinstance(one, Proved)] == [1, 0]
    assert not [one for one in told if isinstance(one, RowLeft)]


def test_where_a_row_that_is_left_cannot_be_found_there_is_a_reason_all_the_same(engine: Engine) -> None:
    """It is counted each time, and done each time that it is looked for."""
    write_notes(engine, ["a"] * 12)

    def write(body: str) -> None:
        with engine.begin() as connection:
            connection.execute(update(NOTES).where(NOTES.c.id == 7).values(body=body))

    class Elusive(Meanwhile):
        def refresh(self) -> None:  # before each count
            super().refresh()
            write("again")

    def notify(event: Event) -> None:
        if isinstance(event, Proved):
            write("DONE")

    work = Elusive({1: lambda: write("yet again")})
    tally = Job(work, engine, settings(20, passes=1), notify=notify).run()
    assert (tally.outcome, tally.remaining, tally.left) == (JobState.INCOMPLETE, 1, ((MOVING, 1),))


class Blind(Meanwhile):
    """Of which a count cannot tell what is done. Satisfies OverlooksRows."""

    def may_overlook(self) -> bool:
        return True

    def unfinished(self, group: RowMapping) -> Mapping[str, str]:
        return {}


@pytest.mark.parametrize(("last", "outcome"), [("b", JobState.INCOMPLETE), ("DONE", JobState.COMPLETE)])
def test_a_row_that_was_missed_to_the_end_is_looked_at_where_a_count_cannot_tell(
    engine: Engine, last: str, outcome: JobState
) -> None:
    write_notes(engine, ["a", "b", "c"])
    bodies_meanwhile = iter(["not yet", last])

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(update(NOTES).where(NOTES.c.id == 1).values(body=next(bodies_meanwhile)))

    events: list[Event] = []
    tally = Job(Blind({1: write, 2: write}), engine, settings(passes=2), notify=events.append).run()
    left = [event.key for event in events if isinstance(event, RowLeft)]
    assert (tally.outcome, tally.remaining, tally.rewritten) == (outcome, len(left), 2)
    assert left == (["[1]"] if outcome is JobState.INCOMPLETE else [])


def test_a_run_over_a_range_lets_go_of_what_came_right_in_it_and_of_nothing_else(engine: Engine) -> None:
    write_notes(engine, ["b!"] * 40)
    Job(Capitals(), engine, settings()).run()
    with engine.begin() as connection:
        connection.execute(update(NOTES).where(NOTES.c.id.in_([3, 12, 15])).values(body="b"))
        connection.execute(delete(NOTES).where(NOTES.c.id.in_([14, 30])))
    Job(Capitals(), engine, settings(), KeyRange((9,), (19,))).run()
    with engine.connect() as connection:
        left = [int(row["row_key"][1:-1]) for row in listed(connection)]
    assert sorted(left) == [at for at in range(40) if at not in {12, 14, 15, 30}], (
        "3 came right, and is not its range's"
    )


def test_k12_06_rows_that_cannot_be_done_are_listed_until_they_can(engine: Engine) -> None:
    write_notes(engine, ["a"] * 11 + ["b!"] * 10 + ["a"] * 29)
    events: list[Event] = []
    tally = Job(Capitals(), engine, settings(), notify=events.append).run()
    assert (tally.rewritten, tally.failed, tally.remaining) == (40, 10, 0)
    assert tally.outcome is JobState.INCOMPLETE
    assert bodies(engine) == ["A"] * 11 + ["b!"] * 10 + ["A"] * 29
    assert [event.key for event in events if isinstance(event, RowFailed)] == [f"[{at}]" for at in range(11, 21)]
    with engine.begin() as connection:
        assert [row["row_key"] for row in listed(connection, "note")] == [f"[{at}]" for at in range(11, 21)]
        connection.execute(update(NOTES).where(NOTES.c.id < 15).values(body="repaired"))
        connection.execute(delete(NOTES).where(NOTES.c.id == 15))
    tally = Job(Capitals(), engine, settings()).run()
    assert (tally.rewritten, tally.failed) == (15, 5)
    with engine.connect() as connection:
        assert [row["row_key"] for row in listed(connection, "note")] == [f"[{at}]" for at in range(16, 21)]


def test_a_part_of_a_table_is_done_alone_and_the_parts_together_are_the_whole(engine: Engine) -> None:
    write_notes(engine, ["a"] * 40)
    tally = Job(Capitals(), engine, settings(), KeyRange((9,), (19,))).run()
    assert (tally.rewritten, tally.outcome) == (10, JobState.COMPLETE)
    assert bodies(engine) == ["a"] * 10 + ["A"] * 10 + ["a"] * 20
    for part in (KeyRange(None, (9,)), KeyRange((19,), None)):
        Job(Capitals(), engine, settings(), part).run().require_complete()
    assert set(bodies(engine)) == {"A"}


def test_a_rehearsal_says_what_would_be_done_and_writes_nothing_at_all(engine: Engine) -> None:
    write_notes(engine, ["a"] * 25 + ["b!"] * 2)
    before = bodies(engine)
    events: list[Event] = []
    tally = Job(Capitals(), engine, settings(), notify=events.append).rehearse()
    assert (tally.rewritten, tally.failed) == (25, 2)
    assert bodies(engine) == before
    assert JobStore(engine).all() == []
    assert isinstance(events[0], Began)
    assert events[0].dry_run


def test_a_run_ends_after_the_batch_in_hand_and_goes_on_there_later(engine: Engine) -> None:
    write_notes(engine, ["a"] * 100)
    stop = threading.Event()
    tally = Job(Meanwhile({4: stop.set}), engine, settings(), stop=stop).run()
    assert tally.outcome is JobState.STOPPED
    assert tally.rewritten == 40
    assert bodies(engine).count("A") == 40
    events: list[Event] = []
    again = Capitals()
    tally = Job(again, engine, settings(), notify=events.append).run()
    assert (tally.rewritten, tally.outcome) == (60, JobState.COMPLETE)
    assert again.pages[0][0] == 40
    assert isinstance(events[0], Began)
    assert (events[0].resumed, events[0].seen) == (True, 40)


def test_an_error_ends_a_run_and_nobody_waits_for_it(engine: Engine) -> None:
    write_notes(engine, ["a"] * 100)

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Job(Meanwhile({4: fail}), engine, settings()).run()
    assert JobStore(engine).all()[0]["state"] == JobState.STOPPED
    began = time.monotonic()
    assert Job(Capitals(), engine, settings(silence=600)).run().rewritten in {70, 60}
    assert time.monotonic() - began < 60


def test_it_pauses_and_goes_on_and_stops_as_others_wish(engine: Engine) -> None:
    write_notes(engine, ["a"] * 100)
    store, events = JobStore(engine), list[Event]()

    def wish(wish: JobWish) -> None:
        store.wish(NAME, wish)
        time.sleep(0.3)

    work = Meanwhile({2: lambda: wish(JobWish.PAUSE), 5: lambda: wish(JobWish.STOP)})
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(Job(work, engine, settings(), notify=events.append).run)
        end = time.monotonic() + 30
        while not any(isinstance(event, Held) for event in events):
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(0.3)
        assert store.all()[0]["state"] == JobState.PAUSED
        assert len(work.pages) == 2
        store.wish(NAME, JobWish.RUN)
        tally = running.result(60)
    assert (tally.outcome, tally.rewritten) == (JobState.STOPPED, 50)
    assert [event.paused for event in events if isinstance(event, Held)] == [True, False]
    assert store.all()[0]["state"] == JobState.STOPPED


@pytest.mark.every_database
def test_two_runs_at_once_the_second_says_so_and_leaves(engine: Engine) -> None:
    write_notes(engine, ["a"] * 50)
    refused: list[str] = []

    def second() -> None:
        with pytest.raises(JobRunningError) as caught:
            Job(Capitals(), engine, settings(silence=20)).run()
        refused.append(str(caught.value))

    tally = Job(Meanwhile({2: second}), engine, settings()).run()
    assert (tally.rewritten, tally.outcome) == (50, JobState.COMPLETE)
    assert "noisevault jobs stop note" in refused[0]


def test_a_key_service_that_is_sealed_in_the_middle_is_waited_for_and_no_row_is_half_written(engine: Engine) -> None:
    write_notes(engine, ["a"] * 30)
    events: list[Event] = []

    def sealed() -> None:
        raise UnavailableError("the key service is sealed")

    work = Meanwhile({2: sealed, 3: sealed, 5: sealed})
    tally = Job(work, engine, settings(patience=60), notify=events.append).run()
    assert (tally.rewritten, tally.outcome) == (30, JobState.COMPLETE)
    assert [event.reason for event in events if isinstance(event, Waiting)] == ["the key service is sealed"] * 3
    with pytest.raises(JobError, match="is sealed; what was written so far stays"):
        Job(Meanwhile(dict.fromkeys(range(1, 99), sealed), "another goal"), engine, settings(patience=0.2)).run()
    assert JobStore(engine).all()[0]["state"] == JobState.STOPPED


CHILD = """
import os, sys
from sqlalchemy import create_engine
from tests.vault.jobs.plain_work import Capitals
from vault.jobs.engine import Job
from vault.jobs.job_settings import JobSettings
from vault.jobs.tally import Tally
from vault.jobs.events import Advanced
from vault.jobs.pace import PaceSettings

def die(event):
    if isinstance(event, Advanced) and event.seen == 40:
        os.kill(os.getpid(), 9)

Job(Capitals(), create_engine(sys.argv[1]), JobSettings(PaceSettings(most_rows=10)), notify=die).run()
"""


@pytest.mark.every_database
def test_k12_08_a_killed_run_goes_on_where_it_was_and_each_row_is_written_once(engine: Engine) -> None:
    write_notes(engine, ["a"] * 100)
    url = engine.url.render_as_string(hide_password=False)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, url], cwd=Path(__file__).parents[3], check=False, capture_output=True, timeout=120
    )
    assert child.returncode == -9, child.stderr
    done = bodies(engine).count("A")
    assert done in {40, 50}, "the batches before are committed, and perhaps the one that was being written"
    work = Capitals()
    events: list[Event] = []
    tally = Job(work, engine, settings(), notify=events.append).run()
    assert isinstance(events[0], Began)
    assert events[0].resumed
    assert work.pages[0][0] in {40, done}
    assert tally.rewritten == 100 - done
    assert work.renewed == list(range(done, 100))
    tally.require_complete()


def test_a_checkpoint_of_another_kind_of_key_is_not_used(engine: Engine) -> None:
    """A migration made the key another while the job was stopped."""
    write_notes(engine, ["a"] * 30)
    stop = threading.Event()
    Job(Meanwhile({2: stop.set}), engine, settings(), stop=stop).run()
    work = Capitals()
    work.table.primary_key.columns["id"].type = StoredKey(Text())
    events: list[Event] = []
    Job(work, engine, settings(), notify=events.append).run()
    assert isinstance(events[0], Began)
    assert not events[0].resumed


def test_what_a_checkpoint_left_out_is_looked_at_where_a_count_cannot_tell(engine: Engine) -> None:
    write_notes(engine, ["a"] * 30)
    stop = threading.Event()
    Job(Blind({2: stop.set}), engine, settings(), stop=stop).run()
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_job SET done_up_to = '[25]'"))
    tally = Job(Blind({}), engine, settings(passes=1)).run()
    assert (tally.outcome, tally.remaining) == (JobState.INCOMPLETE, bodies(engine).count("a"))
    assert Job(Blind({}), engine, settings()).run().outcome is JobState.COMPLETE
    assert set(bodies(engine)) == {"A"}


def test_what_was_done_for_another_goal_is_looked_at_again(engine: Engine) -> None:
    write_notes(engine, ["a"] * 30)
    stop = threading.Event()
    Job(Meanwhile({2: stop.set}), engine, settings(), stop=stop).run()
    work = Capitals("another goal")
    Job(work, engine, settings()).run()
    assert work.pages[0][0] == 0


CUT = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> connection_id()",
}


def cut_all(url: str) -> None:
    """End every other connection of the database."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for (found,) in connection.execute(text(CUT[engine.dialect.name])).all():
            if engine.dialect.name == "mysql":
                connection.execute(
                    text(f"BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; KILL {found}; END")
                ).close()
    engine.dispose()


@pytest.mark.every_database
@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_connections_that_are_cut_in_the_middle_cost_nothing(database_url: str) -> None:
    engine = create_engine(database_url)
    write_notes(engine, ["a"] * 200)
    events: list[Event] = []
    work = Meanwhile({page: lambda: cut_all(database_url) for page in range(2, 20, 3)})
    tally = Job(work, engine, settings(patience=60), notify=events.append).run()
    assert set(bodies(engine)) == {"A"}
    assert tally.outcome is JobState.COMPLETE
    assert any(isinstance(event, Waiting) for event in events)


@pytest.mark.every_database
def test_a_database_that_stays_away_ends_the_run_with_what_to_do(engine: Engine, database_url: str) -> None:
    nowhere = {"sqlite": None, "postgresql": "postgresql+psycopg://u@127.0.0.1:1/x"}.get(
        engine.dialect.name, "mariadb+pymysql://u@127.0.0.1:1/x"
    )
    if nowhere is None:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE t (x INTEGER)"))
            connection.execute(text("INSERT INTO t VALUES (1)"))
            other = create_engine(database_url, connect_args={"timeout": 0.01})
            with pytest.raises(JobError, match="go on by the same command"):
                Job(Capitals(), other, settings(patience=0.1)).run()
        return
    with pytest.raises(JobError, match="go on by the same command"):
        Job(Capitals(), create_engine(nowhere), settings(patience=0.1)).run()


@pytest.mark.every_database
@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_k12_10_a_service_that_holds_a_row_and_comes_back_for_another_never_fails(database_url: str) -> None:
    """It updates row 5, and then 3, which the run may hold by then; a lock that it loses would raise."""
    engine, service = create_engine(database_url), create_engine(database_url)
    write_notes(engine, ["a"] * 12)
    ended, rounds = threading.Event(), 0
    tallies: list[Tally] = []

    def again() -> None:
        while not ended.is_set():
            tallies.append(Job(Capitals(f"round {len(tallies)}"), engine, settings(6, passes=2)).run())

    def met() -> bool:
        return len(tallies) > 3 and sum(tally.changed_meanwhile for tally in tallies) > 0

    end = time.monotonic() + 120
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(again)
        try:
            while (rounds < ROUNDS or not met()) and not running.done():
                assert time.monotonic() < end
                with service.begin() as connection:
                    for row in (5, 3):
                        connection.execute(update(NOTES).where(NOTES.c.id == row).values(body=f"a{rounds}"))
                        time.sleep(0.005)
                rounds += 1
        finally:
            ended.set()
        running.result(60)
    Job(Capitals("last"), engine, settings(6)).run().require_complete()
    assert rounds >= ROUNDS
    assert met()
    assert all(tally.remaining == 0 for tally in tallies if tally.outcome is JobState.COMPLETE)
    assert bodies(engine) == ["A"] * 3 + [f"A{rounds - 1}", "A", f"A{rounds - 1}"] + ["A"] * 6


class Leased(Capitals):
    """For a while after `began` a service may write in small letters again; it does so once, after the proof."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        super().__init__()
        self.engine = engine
        self.until = time.monotonic() + seconds

    def unsafe_seconds(self) -> float:
        left = max(0.0, self.until - time.monotonic())
        if left:
            with self.engine.begin() as connection:
                connection.execute(update(NOTES).where(NOTES.c.id == 1).values(body="late"))
        return left


def test_a_run_says_for_how_long_services_may_write_as_before_and_can_wait_for_that(engine: Engine) -> None:
    write_notes(engine, ["a"] * 5)
    tally = Job(Leased(engine, 600), engine, settings(passes=1)).run()
    assert (tally.outcome, tally.remaining) == (JobState.INCOMPLETE, 1)
    assert 500 < tally.unsafe_seconds <= 600
    tally = Job(Leased(engine, 1), engine, settings(after_lease=True)).run()
    assert (tally.outcome, tally.remaining, tally.unsafe_seconds) == (JobState.COMPLETE, 0, 0)
    assert bodies(engine)[1] == "LATE"
