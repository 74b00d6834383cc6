"""Verification on each database: what was altered is named, what services write meanwhile is not, and runs resume."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from kms import ProviderSettings, Purpose
from tests.vault.phases import set_phase
from tests.vault.projects import make_project, visit
from vault.changeover.phase import Phase, Subject
from vault.errors import JobRunningError
from vault.jobs.events import Event, RowWrong, Verified
from vault.jobs.job_store import JobName, JobState, JobStore, JobWish
from vault.jobs.pace import PaceSettings
from vault.jobs.quarantine import listed
from vault.jobs.verifying.finding import Finding
from vault.jobs.verifying.page import Page
from vault.jobs.verifying.row_check import RowCheck
from vault.jobs.verifying.verify import Verify, VerifySettings, VerifyTally
from vault.project import Project
from vault.rows.raw_table import raw_table
from vault.sample_size import Sample

pytestmark = pytest.mark.databases_in_turn

PERSONS = 50
TERM = "national_id_bidx_a"


@pytest.fixture
def project(tmp_path: Path, database_url: str) -> Iterator[Project]:
    yield from filled(tmp_path, database_url)


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Project]:
    yield from filled(tmp_path, f"sqlite:///{tmp_path / 'application.db'}")


def filled(folder: Path, url: str) -> Iterator[Project]:
    project = make_project(folder, url)
    with project.engine.begin() as connection:
        connection.execute(insert(project.table("visit")), [visit(person) for person in range(PERSONS)])
    yield project
    project.engine.dispose()


def verify(project: Project, rows_a_page: int = 10, check: RowCheck | None = None, **settings: Any) -> Verify:
    pace = PaceSettings(most_rows=rows_a_page, rows_per_second=settings.pop("rows_per_second", None))
    others = {name: settings.pop(name) for name in ("notify", "stop") if name in settings}
    check = check or RowCheck(project.table("visit"), project.opened)
    return Verify(check, project.engine, VerifySettings(pace, **settings), **others)


def found(project: Project, **settings: Any) -> tuple[VerifyTally, list[tuple[str, str, str]]]:
    events: list[Event] = []
    tally = verify(project, notify=events.append, **settings).run()
    return tally, [(e.key, e.column, e.kind) for e in events if isinstance(e, RowWrong)]


def alter(project: Project, person: int, **columns: Any) -> None:
    """Around the vault, as a database administrator would."""
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person == person).values(columns))


def stored(project: Project, person: int, column: str) -> Any:
    raw = raw_table(project.table("visit"))
    with project.engine.connect() as connection:
        return connection.scalar(select(raw.c[column]).where(raw.c.person == person))


def entries(project: Project) -> list[tuple[str, str, str]]:
    with project.engine.connect() as connection:
        return [(row["row_key"], row["column_name"], row["reason"]) for row in listed(connection)]


def persons_found(project: Project, national_id: str) -> Sequence[int]:
    table = project.table("visit")
    with project.engine.connect() as connection:
        return connection.scalars(select(table.c.person).where(table.c.national_id == national_id)).all()


@dataclass
class Meanwhile(RowCheck):
    """A service does something between reading a page and checking it; once, before the look with number `at`."""

    project: Project
    service: Callable[[], None]
    at: int = 1
    looks: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.project.table("visit"), self.project.opened)

    def check(self, page: Page) -> list[Finding]:
        self.looks += 1
        if self.looks == self.at:
            self.service()
        return super().check(page)


def test_a_whole_table_passes(project: Project) -> None:
    tally, wrong = found(project)
    assert (tally.seen, tally.failed, tally.outcome, wrong) == (PERSONS, 0, JobState.COMPLETE, [])
    assert entries(project) == []


def test_k08_05_one_altered_byte_of_a_term_is_reported_and_misleads_no_look_up(project: Project) -> None:
    term = stored(project, 7, TERM)
    for at in (0, 1, 5, len(term) - 1):
        alter(project, 7, **{TERM: term[:at] + bytes([term[at] ^ 1]) + term[at + 1 :]})
        tally, wrong = found(project)
        assert wrong == [("[7, 1]", TERM, "term is wrong")], at
        assert (tally.seen, tally.failed, tally.outcome) == (PERSONS, 1, JobState.INCOMPLETE)
        for other in (6, 8):
            assert persons_found(project, f"99-{other:05d}") == [other]
        assert persons_found(project, "99-00007") == []
        table = project.table("visit")
        with project.engine.connect() as connection:
            by_key = select(table.c.national_id).where(table.c.person == 7, table.c.year == 1)
            assert connection.scalar(by_key) == "99-00007"


def test_another_values_term_is_reported_and_an_update_that_gives_the_value_mends_it(project: Project) -> None:
    alter(project, 7, **{TERM: stored(project, 8, TERM)})
    assert found(project)[1] == [("[7, 1]", TERM, "term is wrong")]
    table = project.table("visit")
    with project.engine.begin() as connection:
        row = update(table).where(table.c.person == 7, table.c.year == 1)
        connection.execute(row.values(national_id="99-00007"))
    assert found(project)[1] == []


def test_every_kind_of_altered_row_is_named_once_and_the_others_are_not(project: Project) -> None:
    sealed = stored(project, 1, "diagnosis")
    alter(project, 1, diagnosis=sealed[:-1] + bytes([sealed[-1] ^ 1]))
    alter(project, 2, diagnosis=stored(project, 3, "diagnosis"))
    alter(project, 11, diagnosis=b"\x01\x00\xff\xff\xff\xff" + bytes(40))
    alter(project, 12, diagnosis=b"asthma")
    alter(project, 13, diagnosis=sealed[:1] + b"\x09" + sealed[2:])
    alter(project, 21, national_id=None)
    alter(project, 22, **{TERM: None})
    alter(project, 23, national_id_bidx_b=stored(project, 23, TERM))
    alter(project, 24, diagnosis=None)
    tally, wrong = found(project)
    assert wrong == [
        ("[1, 1]", "diagnosis", "does not open"),
        ("[2, 1]", "diagnosis", "does not open"),
        ("[11, 1]", "diagnosis", "unknown key"),
        ("[12, 1]", "diagnosis", "not sealed"),
        ("[13, 1]", "diagnosis", "unknown generation"),
        ("[21, 1]", TERM, "term without a value"),
        ("[22, 1]", TERM, "term is lacking"),
        ("[23, 1]", "national_id_bidx_b", "term in a slot without a key"),
    ]
    assert tally.failed == 8
    assert ("diagnosis", "does not open", 2) in tally.faults
    assert not [reason for _, _, reason in entries(project) if "asthma" in reason]


def test_k12_06_pages_of_only_bad_rows_do_not_end_the_run(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    with project.engine.begin() as connection:
        connection.execute(update(raw).where(raw.c.person.between(10, 29)).values(diagnosis=bytes(40)))
    tally, wrong = found(project)
    assert (tally.seen, tally.failed, len(wrong)) == (PERSONS, 20, 20)


def test_what_a_service_writes_after_the_page_was_read_is_no_alarm(project: Project) -> None:
    table = project.table("visit")

    def write() -> None:
        with project.engine.begin() as connection:
            connection.execute(update(table).where(table.c.person == 3, table.c.year == 1).values(national_id="98-1"))

    assert found(project, check=Meanwhile(project, write))[1] == []


def test_a_row_that_was_mended_before_the_second_look_is_no_alarm(project: Project) -> None:
    sealed = stored(project, 3, "diagnosis")
    alter(project, 3, diagnosis=bytes(40))
    check = Meanwhile(project, lambda: alter(project, 3, diagnosis=sealed))
    assert found(project, check=check)[1] == []
    assert check.looks == 6, "five pages, and the first one's row again"


def test_a_row_that_vanished_before_the_second_look_is_no_alarm(project: Project) -> None:
    raw = raw_table(project.table("visit"))
    alter(project, 3, diagnosis=bytes(40))

    def delete() -> None:
        with project.engine.begin() as connection:
            connection.execute(raw.delete().where(raw.c.person == 3))

    assert found(project, check=Meanwhile(project, delete))[1] == []


def test_a_value_under_a_key_that_another_process_made_meanwhile_is_no_alarm(on_sqlite: Project) -> None:
    project = on_sqlite
    other = Project.open(project.policy, ProviderSettings())
    other.opened.keyring.lifecycle.rotate(Purpose.DATA)
    table = other.table("visit")
    with other.engine.begin() as connection:
        connection.execute(insert(table), [visit(900)])
    assert found(project)[1] == []
    other.engine.dispose()


def test_a_change_of_an_index_that_another_process_began_meanwhile_is_no_alarm(on_sqlite: Project) -> None:
    project, subject = on_sqlite, Subject("visit", "national_id", "bidx")
    other = Project.open(project.policy, ProviderSettings())

    def change() -> None:
        set_phase(other.opened.key_store, other.opened.keyring, subject, Phase.DUAL_ASK_OLD)
        for person in (30, 40):
            alter(project, person, national_id_bidx_b=stored(project, person, TERM))

    check = Meanwhile(project, change, at=2)
    assert found(project, check=check)[1] == []
    assert check.looks == 6, "five pages, and the row of the fourth again"
    other.engine.dispose()


def test_writers_at_full_speed_bring_no_false_alarm(project: Project) -> None:
    table, over = project.table("visit"), threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not over.is_set():
            person = written % PERSONS
            with project.engine.begin() as connection:
                values = {"national_id": f"97-{written:05d}", "diagnosis": f"d{written}"}
                connection.execute(update(table).where(table.c.person == person, table.c.year == 1).values(values))
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        runs = [found(project, rows_a_page=3, keep=False)[1] for _ in range(5)]
    finally:
        over.set()
        writer.join()
    assert runs == [[]] * 5
    assert written > 0


def test_a_row_that_is_good_again_leaves_the_quarantine(project: Project) -> None:
    sealed = stored(project, 3, "diagnosis")
    alter(project, 3, diagnosis=b"text")
    alter(project, 4, **{TERM: None})
    found(project)
    assert [(key, column) for key, column, _ in entries(project)] == [("[3, 1]", "diagnosis"), ("[4, 1]", TERM)]
    alter(project, 3, diagnosis=sealed)
    found(project)
    ((key, column, reason),) = entries(project)
    assert (key, column) == ("[4, 1]", TERM)
    assert reason.startswith("term is lacking: ")


def test_nothing_is_written_where_it_may_only_read(project: Project) -> None:
    alter(project, 3, diagnosis=b"text")
    assert found(project, keep=False)[0].failed == 1
    assert JobStore(project.engine).all() == []
    assert entries(project) == []


def stopped_after(project: Project, seen: int, **settings: Any) -> VerifyTally:
    stop = threading.Event()

    def notify(event: Event) -> None:
        if getattr(event, "seen", 0) >= seen:
            stop.set()

    return verify(project, notify=notify, stop=stop, **settings).run()


def test_a_run_that_was_stopped_goes_on_where_it_was_and_counts_all(project: Project) -> None:
    alter(project, 3, diagnosis=b"text")
    alter(project, 33, diagnosis=b"text")
    first = stopped_after(project, 20)
    assert (first.seen, first.failed, first.outcome) == (20, 1, JobState.STOPPED)
    alter(project, 4, diagnosis=b"text")
    tally, wrong = found(project)
    assert wrong == [("[33, 1]", "diagnosis", "not sealed")], "what was seen before is not seen again"
    assert (tally.seen, tally.failed) == (PERSONS, 2)
    assert [key for key, _, _ in entries(project)] == ["[3, 1]", "[33, 1]"]


def test_a_run_may_begin_anew(on_sqlite: Project) -> None:
    stopped_after(on_sqlite, 20)
    alter(on_sqlite, 4, diagnosis=b"text")
    tally, wrong = found(on_sqlite, anew=True)
    assert (tally.seen, wrong) == (PERSONS, [("[4, 1]", "diagnosis", "not sealed")])


def test_what_is_checked_by_other_keys_is_not_gone_on_with(on_sqlite: Project) -> None:
    stopped_after(on_sqlite, 20)
    on_sqlite.opened.keyring.lifecycle.rotate(Purpose.DATA)
    alter(on_sqlite, 4, diagnosis=b"text")
    assert found(on_sqlite)[1] == [("[4, 1]", "diagnosis", "not sealed")]


def test_two_runs_at_once_are_one_too_many(on_sqlite: Project) -> None:
    refused: list[str] = []

    def begin() -> None:
        with pytest.raises(JobRunningError) as raised:
            verify(on_sqlite, beat=0.1).run()
        refused.append(str(raised.value))

    verify(on_sqlite, beat=0.1, rows_per_second=60, check=Meanwhile(on_sqlite, begin)).run()
    assert "jobs stop visit" in refused[0]


def test_a_sample_of_a_number_is_so_many_rows_and_keeps_nothing(project: Project) -> None:
    alter(project, 3, diagnosis=b"text")
    tally, _ = found(project, sample=Sample(rows=7))
    assert tally.seen == 7
    assert found(project, sample=Sample(rows=700))[0].failed == 1
    assert JobStore(project.engine).all() == []


def test_a_sample_of_a_share_is_about_so_many_rows(project: Project) -> None:
    assert found(project, sample=Sample(share=1.0))[0].seen == PERSONS
    seen = [found(project, sample=Sample(share=0.5))[0].seen for _ in range(4)]
    assert 0 < sum(seen) / 4 < PERSONS
    assert len(set(seen)) > 1 or seen[0] not in {0, PERSONS}


def test_the_rate_is_kept(on_sqlite: Project) -> None:
    began = time.monotonic()
    verify(on_sqlite, rows_per_second=50, keep=False).run()
    assert time.monotonic() - began > 0.7


def test_events_tell_the_end_with_what_was_found(on_sqlite: Project) -> None:
    alter(on_sqlite, 3, diagnosis=b"text")
    events: list[Event] = []
    verify(on_sqlite, notify=events.append).run()
    expected = Verified("verify", "visit", "incomplete", PERSONS, 1, (("diagnosis", "not sealed", 1),))
    assert events[-1] == expected


def test_an_operator_pauses_resumes_and_stops_it(on_sqlite: Project) -> None:
    store, name = JobStore(on_sqlite.engine), JobName("verify", "visit")
    store.create()
    seen: list[str] = []

    def notify(event: Event) -> None:
        kind = type(event).__name__ + (str(event.paused) if hasattr(event, "paused") else "")
        if kind == "Advanced" and "HeldTrue" not in seen:
            store.wish(name, JobWish.PAUSE)
            time.sleep(0.3)
        if kind == "HeldTrue":
            store.wish(name, JobWish.RUN)
        seen.append(kind)

    tally = verify(on_sqlite, beat=0.05, notify=notify).run()
    assert tally.seen == PERSONS
    held = seen.index("HeldTrue")
    assert seen[held : held + 2] == ["HeldTrue", "HeldFalse"]
    assert (seen.count("HeldTrue"), seen.count("HeldFalse")) == (1, 1)
