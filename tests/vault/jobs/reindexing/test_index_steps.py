"""An index moves from one slot to the other while processes write and ask it, on three databases."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import IntegrityError

from kms.errors import LeaseExpiredError
from kms.key_record import Purpose
from tests.pairwise import covering_params
from tests.servers.databases import DATABASES, SERVERS
from tests.sizes import sized
from tests.vault.jobs.indexed_people import LEASE, SSN, People, Process, definition_in, person_table
from vault.changeover.guard import drop_guard, is_guarded, make_guard
from vault.changeover.phase import Phase
from vault.errors import ChangeoverError, DefinitionChangedError
from vault.index.change import begin_field_changes, record_removal
from vault.index.slot_storage import drop_slot_index
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Event
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState
from vault.jobs.left_rows import FREE, LOCKED
from vault.jobs.pace import PaceSettings
from vault.jobs.quarantine import listed
from vault.jobs.reindexing.index_steps import IndexSteps
from vault.jobs.reindexing.standing import Standing
from vault.jobs.tally import Tally
from vault.jobs.work import Work
from vault.normalise import casefold
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

EXACT = BlindIndex()
ROWS, WORKERS = sized(20, 60), sized(3, 8)
# Seconds that a worker rests between two rounds: it is to be there at each step, not to keep a processor busy.
REST = sized(50, 0) / 1000
# To a new key, or to another normaliser and width.
MOVES = (pytest.param(False, id="key"), pytest.param(True, id="normaliser"))

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def people(database_url: str, tmp_path: Path) -> Iterator[People]:
    people = People.made(database_url, tmp_path, person_table(EXACT))
    yield people
    people.close()


def rotate(people: People) -> bytes:
    return people.vault().keyring.lifecycle.rotate(Purpose.INDEX).key_id


def begin(steps: IndexSteps, people: People, table: Any) -> None:
    keyring = people.vault().keyring
    begin_field_changes(steps.changeovers, keyring, definition_in(table), who="operator@host")


def to_the_end(steps: IndexSteps) -> Standing:
    """As --wait does it."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        standing = steps.forward()
        if standing.is_done:
            return standing
        assert standing.ready_at is not None, standing.reason
        pause(standing)
    raise AssertionError("it takes too long")


def pause(standing: Standing) -> None:
    """Until it may go on, where it says when."""
    left = (standing.ready_at - datetime.now(UTC)).total_seconds() if standing.ready_at else 0.0
    time.sleep(max(0.05, left))


def test_k11_05_a_rotation_of_the_index_key_that_stops_half_way(people: People) -> None:
    """Rotate the index key, stop after 50 of 100 rows: both halves are found, duplicates of both refused."""
    table = person_table(EXACT)
    process = people.process(table)
    for key in range(100):
        process.insert(key, f"ssn {key}")
    new = rotate(people)
    steps = people.steps(table)
    begin(steps, people, table)
    stops_at_50(steps, people)
    assert people.nulls("ssn_bidx_b") == 50
    for fresh in (process, people.process(table)):
        time.sleep(people.lease)
        for key in (10, 90):
            assert fresh.find(f"ssn {key}") == [key]
            with pytest.raises(IntegrityError):
                fresh.insert(200 + key, f"ssn {key}")
    to_the_end(people.steps(table))
    assert process.find("ssn 10") == [10]
    assert process.field.plan().indexes["bidx"].asked == "b"
    assert process.field.asked_term("bidx", "ssn 10")[1:5] == new
    for key in (10, 90):
        with pytest.raises(IntegrityError):
            process.insert(200 + key, f"ssn {key}")


def stops_at_50(steps: IndexSteps, people: People) -> None:
    """As a kill after the first batch: the rows with keys from 50 on are left out of its run."""
    from vault.jobs.walking.key_range import KeyRange

    def half(work: Any) -> Any:
        Job(work, people.engine, JobSettings(), KeyRange(up_to=(49,))).run()
        raise KeyboardInterrupt

    steps.run = half
    with pytest.raises(KeyboardInterrupt):
        steps.forward()


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("database_url", "merged"), covering_params(DATABASES, MOVES, together=1), indirect=["database_url"]
)
def test_no_row_is_missed_or_doubled_while_an_index_moves(people: People, merged: bool) -> None:
    """There and back again: from a to b by a new key, or to another normaliser and width, and from b to a."""
    table = person_table(EXACT)
    processes = [people.process(table) for _ in range(2)]
    for key in range(ROWS):
        processes[0].insert(key, f"ssn {key}")
    processes[0].insert(ROWS, None)
    traffic = Traffic(processes)
    with traffic:
        for slot in "ba":
            if merged and slot == "b":
                table = person_table(BlindIndex(casefold), generation=1)
            else:
                rotate(people)
            steps = people.steps(table)
            begin(steps, people, table)
            to_the_end(people.steps(table))
            assert people.steps(table).changeovers.under_way() == []
            assert people.nulls(f"ssn_bidx_{slot}") == 0
    assert not traffic.wrong
    assert traffic.rounds >= WORKERS * 5
    for process in processes:
        assert all(process.find(f"ssn {key}") == [key] for key in range(ROWS))
    indexes = [one for one in inspect(people.engine).get_indexes("person") if one["column_names"][0].startswith("ssn")]
    assert [(one["column_names"], bool(one["unique"])) for one in indexes] == [(["ssn_bidx_a"], True)]


class Traffic:
    """Threads that write, change, ask and try duplicates, each on the rows of its own; all that is wrong is told."""

    def __init__(self, processes: list[Process]) -> None:
        self.processes = processes
        self.wrong: list[str] = []
        self.rounds = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(WORKERS)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        chance, key, round_ = random.Random(number), 1000 + number, 0
        try:
            self._patiently(self._any(chance).insert, key, f"worker {number} 0")
            while not self._stop.wait(REST):
                round_ += 1
                self._round(chance, number, key, round_)
                self.rounds += 1
        except Exception as error:
            self.wrong.append(f"worker {number}, round {round_}: {type(error).__name__}: {error}")

    def _round(self, chance: random.Random, number: int, key: int, round_: int) -> None:
        before, after = f"worker {number} {round_ - 1}", f"worker {number} {round_}"
        self._expect(chance, before, [key])
        try:
            self._patiently(self._any(chance).insert, 100_000 + number, before)
            self.wrong.append(f"a duplicate of {before} was accepted")
        except IntegrityError:
            pass
        self._patiently(self._any(chance).update, key, after)
        self._expect(chance, after, [key])
        self._expect(chance, before, [])
        steady = chance.randrange(ROWS)
        self._expect(chance, f"ssn {steady}", [steady])

    def _expect(self, chance: random.Random, value: str, keys: list[int]) -> None:
        process = self._any(chance)
        found = self._patiently(process.find, value)
        if found != keys:
            self.wrong.append(f"{value}: found {found}, not {keys}, by {process.field.plan().indexes['bidx']}")

    def _any(self, chance: random.Random) -> Process:
        return chance.choice(self.processes)

    @staticmethod
    def _patiently(act: Callable[..., Any], *words: Any) -> Any:
        """On a busy machine a reading of the key store may outlast a lease of a second; then nothing was done."""
        end = time.monotonic() + 60
        while True:
            try:
                return act(*words)
            except LeaseExpiredError:
                assert time.monotonic() < end
                time.sleep(0.05)


def test_a_step_waits_for_its_lease_and_can_be_taken_back(people: People) -> None:
    people.lease = 6
    table = person_table(EXACT)
    process = people.process(table)
    process.insert(1, "one")
    rotate(people)
    steps = people.steps(table)
    begin(steps, people, table)
    standing = steps.forward()
    assert standing.changeover is not None
    assert standing.changeover.phase is Phase.DUAL_ASK_OLD
    assert standing.ready_at is not None
    assert people.nulls("ssn_bidx_b") == 0, "the rows are filled while the lease is waited for"
    time.sleep(max(0.0, (standing.ready_at - datetime.now(UTC)).total_seconds()))
    assert steps.forward().changeover.phase is Phase.DUAL_ASK_NEW  # type: ignore[union-attr]
    people.lease = LEASE
    gone_back = people.steps(table)
    deadline = time.monotonic() + 60
    while not gone_back.back().is_done and time.monotonic() < deadline:
        time.sleep(0.1)
    assert steps.changeovers.find(SSN) is None
    process.field.keyring.beside.end()
    assert process.find("one") == [1]
    assert process.field.plan().indexes["bidx"].written == ("a",)
    process.insert(2, "two")
    assert people.nulls("ssn_bidx_b") == 2


def test_a_new_definition_is_refused_at_start_until_it_is_begun_and_older_code_goes_on(people: People) -> None:
    old, new = person_table(EXACT), person_table(BlindIndex(casefold), generation=1)
    process = people.process(old)
    process.insert(1, "Ann")
    with pytest.raises(DefinitionChangedError, match=r"run this first, .*: noisevault reindex person\.ssn"):
        people.process(new)
    with pytest.raises(DefinitionChangedError, match=r"declare generation=1 and run: noisevault reindex person\.ssn"):
        people.process(person_table(BlindIndex(casefold)))
    steps = people.steps(old)
    begin(steps, people, new)
    newer = people.process(new)
    assert newer.find("Ann") == [1]
    assert newer.find("ann") == []
    newer.insert(2, "Bob")
    assert process.find("Bob") == [2], "a value of a generation that older code does not know opens"
    to_the_end(people.steps(new))
    time.sleep(people.lease)
    assert process.find("ANN") == newer.find("ann") == [1]


def stays_short(people: People, outcome: JobState, **counts: Any) -> Any:
    """A run that does its work and leaves rows, as a busy table makes it: the rest is the tally's to say."""

    def run(work: Any) -> Tally:
        Job(work, people.engine, JobSettings()).run()
        return Tally("reindex", "person", outcome=outcome, **counts)

    return run


def test_rows_that_older_services_go_on_writing_are_no_reason_to_stop_before_the_lease_is_over(people: People) -> None:
    people.lease = 60
    table = person_table(EXACT)
    people.process(table).insert(1, "one")
    rotate(people)
    begin(people.steps(table), people, table)
    left = {"remaining": 2, "left": ((FREE, 2),)}
    standing = people.steps(table, run=stays_short(people, JobState.INCOMPLETE, **left)).forward()
    assert standing.ready_at is not None, standing.reason
    failed = people.steps(table, run=stays_short(people, JobState.INCOMPLETE, failed=1, **left)).forward()
    assert failed.ready_at is None
    assert failed.reason == (
        "2 rows of person are left without a term (2 locked or changed whenever the run came to it, and free now): run"
        " it again; 1 rows of person cannot have one: see noisevault jobs failed"
    )
    stopped = people.steps(table, run=stays_short(people, JobState.STOPPED)).forward()
    assert (stopped.reason, stopped.ready_at) == ("stopped before the end; go on by the same command", None)


def test_after_the_lease_a_row_that_is_left_has_its_reason_in_the_line(people: People) -> None:
    table = person_table(EXACT)
    people.process(table).insert(1, "one")
    rotate(people)
    begin(people.steps(table), people, table)
    people.steps(table).forward()
    time.sleep(people.lease + 0.1)
    left = {"remaining": 1, "left": ((LOCKED, 1),)}
    standing = people.steps(table, run=stays_short(people, JobState.INCOMPLETE, **left)).forward()
    assert standing.reason == "1 rows of person are left without a term (1 locked by somebody else): run it again"
    to_the_end(people.steps(table))


def test_two_rows_that_become_equal_stop_the_change_and_it_goes_back(people: People) -> None:
    old, new = person_table(EXACT), person_table(BlindIndex(casefold), generation=1)
    process = people.process(old)
    process.insert(1, "Ann")
    process.insert(2, "ANN")
    steps = people.steps(old)
    begin(steps, people, new)
    assert not people.steps(new).forward().is_done
    with people.engine.connect() as connection:
        (left,) = listed(connection)
    assert "unique" in left["reason"]
    assert process.find("ANN") == [2]
    steps = people.steps(new)
    deadline = time.monotonic() + 30
    while not steps.back().is_done and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.find("ANN") == [2]
    assert people.nulls("ssn_bidx_a") == 0


def until(go: Callable[[], Standing], phase: Phase | None) -> None:
    """As an operator who types the command again until it is that far; None: done."""
    deadline = time.monotonic() + 60
    while True:
        standing = go()
        now = standing.changeover
        if (now and now.phase) == phase or time.monotonic() > deadline:
            assert (now and now.phase) == phase
            return
        pause(standing)


def test_a_command_that_dies_when_the_old_index_is_dropped_can_be_taken_back_and_stays_unique(people: People) -> None:
    table = person_table(EXACT)
    process = people.process(table)
    process.insert(1, "one")
    rotate(people)
    begin(people.steps(table), people, table)
    until(people.steps(table).forward, Phase.NEW)
    drop_slot_index(people.engine, None, "person", "ssn_bidx_a")
    until(people.steps(table).back, None)
    time.sleep(people.lease)
    with pytest.raises(IntegrityError):
        process.insert(2, "one")
    assert process.find("one") == [1]


def test_a_removal_that_services_may_rely_on_is_not_taken_back(people: People) -> None:
    table, without = person_table(EXACT), person_table(unique=False, generation=1)
    people.process(table).insert(1, "one")
    steps, keyring_id = people.steps(table), people.vault().keyring.id
    steps.on_removal = lambda store: record_removal(store, keyring_id, definition_in(without))
    begin(steps, people, without)
    until(steps.forward, Phase.NEW)
    newer = people.process(without)
    standing = people.steps(table).back()
    assert standing.changeover is not None
    assert standing.changeover.phase is Phase.NEW
    assert "go on to the end" in standing.reason
    newer.insert(2, "two")
    until(people.steps(table).forward, None)


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_row_that_a_service_holds_stops_the_change_of_a_partial_index(database_url: str, tmp_path: Path) -> None:
    """Of which a count cannot tell that a term is lacking."""
    table = person_table(BlindIndex(last_four), unique=False)
    people = People.made(database_url, tmp_path, table)
    process = people.process(table)
    for key in range(3):
        process.insert(key, f"ssn {key}000")
    rotate(people)
    steps = people.steps(table)
    begin(steps, people, table)
    steps.forward()
    raw = table.metadata.tables["person"]
    with people.engine.begin() as connection:  # as a process did that has not heard of the change
        connection.execute(text("UPDATE person SET ssn_bidx_b = NULL WHERE id = 1"))
    with people.engine.connect() as service, service.begin():
        service.execute(select(raw.c.id).where(raw.c.id == 1).with_for_update())
        time.sleep(people.lease)
        standing = steps.forward()
    assert standing.changeover is not None
    assert standing.changeover.phase is Phase.DUAL_ASK_OLD
    assert standing.tallies[-1].remaining == 1
    until(steps.forward, Phase.DUAL_ASK_NEW)
    assert people.nulls("ssn_bidx_b") == 0
    people.close()


def test_a_guard_that_was_lost_is_made_anew_and_the_rows_are_looked_at_again(people: People) -> None:
    table = person_table(EXACT)
    people.process(table).insert(1, "one")
    rotate(people)
    steps = people.steps(table)
    begin(steps, people, table)
    steps.forward()
    time.sleep(people.lease)
    (member,), given = steps.members, ("ssn",)
    make_guard(people.engine, member.guard("b", given))
    for what in ("guarded", "complete"):
        steps.changeovers.note(SSN, member.part, "b", what)  # type: ignore[arg-type]
    drop_guard(people.engine, member.guard("b", given))
    until(steps.forward, Phase.DUAL_ASK_NEW)
    assert is_guarded(people.engine, member.guard("b", given))


def test_another_command_that_went_on_meanwhile_is_followed(people: People) -> None:
    table = person_table(EXACT)
    people.process(table).insert(1, "one")
    rotate(people)
    begin(people.steps(table), people, table)
    until(people.steps(table).forward, Phase.DUAL_ASK_OLD)

    def overtaken(work: Work) -> Tally:
        until(people.steps(table).forward, Phase.DUAL_ASK_NEW)
        return Job(work, people.engine, JobSettings()).run()

    steps = people.steps(table, run=overtaken)
    assert steps.forward().changeover.phase is Phase.DUAL_ASK_NEW  # type: ignore[union-attr]


def test_a_slot_is_not_emptied_any_more_once_somebody_goes_back(people: People) -> None:
    table = person_table(EXACT)
    process = people.process(table)
    for key in range(30):
        process.insert(key, f"ssn {key}")
    rotate(people)
    begin(people.steps(table), people, table)
    until(people.steps(table).forward, Phase.NEW)
    time.sleep(people.lease)

    def gone_back(work: Work) -> Tally:
        def meanwhile(event: Event) -> None:
            if isinstance(event, Advanced) and event.seen == 10:
                until(people.steps(table).back, Phase.DUAL_ASK_NEW)

        return Job(work, people.engine, JobSettings(PaceSettings(most_rows=10)), notify=meanwhile).run()

    steps = people.steps(table, run=gone_back)
    with pytest.raises(ChangeoverError, match="slot a is not left any more"):
        steps.forward()
    assert people.nulls("ssn_bidx_a") < 30
    until(people.steps(table).back, None)
    assert people.nulls("ssn_bidx_a") == 0
    assert process.find("ssn 3") == [3]


def test_a_command_that_dies_on_its_way_back_leaves_nothing_unguarded(people: People) -> None:
    """It took the guard away, and another goes forward again; a process that slept wrote meanwhile."""
    table = person_table(EXACT)
    process = people.process(table)
    process.insert(1, "one")
    rotate(people)
    begin(people.steps(table), people, table)
    until(people.steps(table).forward, Phase.DUAL_ASK_NEW)
    steps = people.steps(table)
    steps.changeovers.step(SSN, Phase.DUAL_ASK_OLD, steps.parts, who="ann", why="a test")
    (member,) = steps.members
    steps.changeovers.withdraw(SSN, "b")
    drop_guard(people.engine, member.guard("b"))
    with people.engine.begin() as connection:
        connection.execute(text("UPDATE person SET ssn_bidx_b = NULL WHERE id = 1"))
    until(steps.forward, Phase.DUAL_ASK_NEW)
    assert people.nulls("ssn_bidx_b") == 0
    assert is_guarded(people.engine, member.guard("b", ("ssn",)))
