"""Field migration on each database: all the way there and back, and no step that is not proved."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String, Table, create_engine, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from kms import LeaseSettings
from tests.servers.databases import SERVERS
from tests.vault.jobs.two_columns_tables import MAIL, RAW, Client, Clients, clients
from tests.vault.mapping.conftest import new_vault
from vault.attaching import attach
from vault.errors import ChangeoverError
from vault.jobs.engine import Job
from vault.jobs.events import Advanced, Event
from vault.jobs.job_settings import JobSettings
from vault.jobs.job_store import JobState, JobStore
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.migrating.field_migration import FieldMigration, Moved
from vault.jobs.migrating.pair_guard import PairGuard, PairRule, drop_pair_guard, guarded_by
from vault.jobs.pace import PaceSettings
from vault.jobs.quarantine import listed
from vault.jobs.tally import Tally
from vault.mapping import Sealed
from vault.modes.mode import Mode
from vault.modes.recorded_modes import mode_of
from vault.normalise import casefold
from vault.terms.term import BlindIndex

LEASE = 1.0

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def at(tmp_path: Path, database_url: str) -> Iterator[Clients]:
    with clients(database_url, tmp_path, LEASE) as made:
        made.plain({n: f"{n}@x" for n in range(5)})
        yield made


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Clients]:
    with clients(f"sqlite:///{tmp_path / 'application.db'}", tmp_path, LEASE) as made:
        made.plain({n: f"{n}@x" for n in range(5)})
        yield made


def migration(at: Clients) -> FieldMigration:
    return FieldMigration(MAIL, at.opened, at.engine)


def run(at: Clients) -> Any:
    return lambda work: Job(work, at.engine).run()


def step(at: Clients, to: Mode) -> None:
    """When the lease is over, as an operator who waits."""
    one = migration(at)
    deadline = time.monotonic() + 60
    while True:
        try:
            one.change(to, who="ann", why="test")
        except ChangeoverError as error:
            if "a sealing lease" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def proved(at: Clients, job: str, **words: Any) -> Moved:
    deadline = time.monotonic() + 60
    while True:
        moved: Moved = getattr(migration(at), job)(run(at), **words)
        if moved.until is None or time.monotonic() > deadline:
            return moved
        time.sleep(max(0.05, (moved.until - datetime.now(UTC)).total_seconds()))


def rules(at: Clients) -> set[PairRule]:
    return guarded_by(at.engine, PairGuard(RAW, "mail", "mail_sealed", PairRule.PAIRED))


def read(at: Clients) -> list[str | None]:
    at.opened.keyring.beside.end()  # a change that another process made is known by then
    with Session(at.engine) as session:
        return list(session.scalars(select(Client.mail).order_by(Client.id)))


@pytest.mark.every_database
def test_all_the_way_there_and_back(at: Clients) -> None:
    values = [f"{n}@x" for n in range(5)]
    assert read(at) == values
    step(at, Mode.DUAL_READ_PLAINTEXT)
    assert read(at) == values
    with pytest.raises(ChangeoverError, match=r"noisevault backfill client\.mail_sealed"):
        step(at, Mode.DUAL_READ_SEALED)
    moved = proved(at, "backfill")
    assert (moved.tally.outcome, moved.proved, rules(at)) == (JobState.COMPLETE, True, {PairRule.PAIRED})
    with at.engine.connect() as connection, pytest.raises(DBAPIError):
        connection.execute(text("INSERT INTO client (id, mail) VALUES (9, 'old')"))
    step(at, Mode.DUAL_READ_SEALED)
    assert read(at) == values
    step(at, Mode.SEALED_ONLY)
    assert read(at) == values
    with pytest.raises(ChangeoverError, match="backfill is for mode dual-read-plaintext"):
        proved(at, "backfill")
    moved = proved(at, "clear", who="ann", why="done")
    assert (moved.proved, rules(at)) == (True, {PairRule.CLEARED})
    assert {row[0] for row in at.stored().values()} == {None}
    assert migration(at).find() is None
    assert read(at) == values

    step(at, Mode.DUAL_READ_SEALED)
    assert rules(at) == {PairRule.PAIRED}
    assert read(at) == values
    with pytest.raises(ChangeoverError, match=r"noisevault restore client\.mail_sealed"):
        step(at, Mode.DUAL_READ_PLAINTEXT)
    moved = proved(at, "restore")
    assert (moved.proved, rules(at)) == (True, {PairRule.MATCHED})
    step(at, Mode.DUAL_READ_PLAINTEXT)
    assert read(at) == values
    step(at, Mode.PLAINTEXT)
    assert rules(at) == set()
    assert read(at) == values
    with Session(at.engine) as session:
        session.get_one(Client, 1).mail = "new@x"
        session.commit()
    assert at.stored()[1] == ("new@x", None, None, None)
    history = migration(at).store.history(migration(at).subject)
    assert [event.who for event in history] == ["start-up", *["ann"] * (len(history) - 1)]
    assert all(event.why for event in history)


def test_no_step_is_skipped_and_after_the_first_none_is_made_before_its_lease(quick: Clients) -> None:
    one = migration(quick)
    with pytest.raises(ChangeoverError, match="no one step leads"):
        one.change(Mode.DUAL_READ_SEALED, who="ann", why="test")
    assert one.change(Mode.PLAINTEXT, who="ann", why="test") is Mode.PLAINTEXT
    assert one.change(Mode.DUAL_READ_PLAINTEXT, who="ann", why="test") is Mode.PLAINTEXT
    with pytest.raises(ChangeoverError, match="a sealing lease"):
        one.change(Mode.DUAL_READ_SEALED, who="ann", why="test")
    assert mode_of(one.find()) is Mode.DUAL_READ_PLAINTEXT


def test_a_run_before_the_lease_is_over_moves_rows_and_proves_nothing(quick: Clients) -> None:
    step(quick, Mode.DUAL_READ_PLAINTEXT)
    moved = migration(quick).backfill(run(quick))
    assert (moved.tally.rewritten, moved.proved, rules(quick)) == (5, False, set())
    assert moved.until is not None
    moved = proved(quick, "backfill")
    assert (moved.tally.rewritten, moved.proved) == (0, True)


def test_a_run_that_leaves_a_row_proves_nothing(quick: Clients) -> None:
    quick.plain({9: "much-too-long@x"})
    step(quick, Mode.DUAL_READ_PLAINTEXT)
    moved = proved(quick, "backfill")
    assert (moved.tally.failed, moved.proved) == (1, False)
    with pytest.raises(ChangeoverError, match="proof that both columns of every row say the same: noisevault backfill"):
        step(quick, Mode.DUAL_READ_SEALED)


def test_the_last_step_may_be_taken_back_at_once(quick: Clients) -> None:
    step(quick, Mode.DUAL_READ_PLAINTEXT)
    migration(quick).change(Mode.PLAINTEXT, who="ann", why="an alarm")
    assert mode_of(migration(quick).find()) is Mode.PLAINTEXT


def test_a_rehearsal_makes_and_records_nothing(quick: Clients) -> None:
    step(quick, Mode.DUAL_READ_PLAINTEXT)
    time.sleep(LEASE)

    def rehearse(work: Any) -> Tally:
        return Job(work, quick.engine).rehearse()

    moved = migration(quick).backfill(rehearse, dry_run=True)
    assert (moved.tally.rewritten, moved.proved, rules(quick)) == (5, False, set())


def test_a_plaintext_that_may_not_be_null_stops_the_last_step(tmp_path: Path, database_url: str) -> None:
    metadata = MetaData()
    table = Table(
        "strict", metadata, Column("id", String(9), primary_key=True),
        Column("s", String(9), nullable=False), Column("x", Sealed(String(9), migrating="s")),
    )  # fmt: skip
    opened = new_vault(tmp_path, LeaseSettings(sealing=0.2))
    engine = create_engine(database_url)
    attach(engine, opened, metadata)
    metadata.create_all(engine)
    one = FieldMigration(table.c.x, opened, engine)
    for mode in (Mode.DUAL_READ_PLAINTEXT, Mode.DUAL_READ_SEALED):
        time.sleep(0.3)
        if mode is Mode.DUAL_READ_SEALED:
            one.backfill(lambda work: Job(work, engine).run())
        one.change(mode, who="ann", why="test")
    time.sleep(0.3)
    with pytest.raises(ChangeoverError, match=r"strict\.s is NOT NULL"):
        one.change(Mode.SEALED_ONLY, who="ann", why="test")
    opened.close()


def test_of_two_values_that_the_index_takes_for_equal_one_is_left_and_listed(tmp_path: Path, database_url: str) -> None:
    metadata = MetaData()
    kind = Sealed(String(9), index=BlindIndex(casefold), unique=True, migrating="s")
    table = Table("twins", metadata, Column("id", String(9), primary_key=True), Column("x", kind))
    opened = new_vault(tmp_path, LeaseSettings(sealing=0.2))
    engine = create_engine(database_url)
    attach(engine, opened, metadata)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO twins (id, s) VALUES ('1', 'S3CR3T'), ('2', 's3cr3t'), ('3', 'c')"))
    one = FieldMigration(table.c.x, opened, engine)
    time.sleep(0.3)
    one.change(Mode.DUAL_READ_PLAINTEXT, who="ann", why="test")
    tally = one.backfill(lambda work: Job(work, engine).run()).tally
    assert (tally.rewritten, tally.failed, tally.outcome) == (2, 1, JobState.INCOMPLETE)
    with engine.connect() as connection:
        (entry,) = listed(connection)
        assert connection.scalars(text("SELECT id FROM twins WHERE x IS NULL")).all() == [
            json.loads(entry["row_key"])[0]
        ]
    assert "a unique index" in entry["reason"]
    assert "s3cr3t" not in entry["reason"].lower()
    with engine.begin() as connection:
        connection.execute(text("UPDATE twins SET s = 'other' WHERE x IS NULL"))
    tally = one.backfill(lambda work: Job(work, engine, JobSettings(silence=0.1)).run()).tally
    assert (tally.rewritten, tally.failed, tally.outcome) == (1, 0, JobState.COMPLETE)
    engine.dispose()
    opened.close()


@pytest.mark.parametrize("database_url", SERVERS, indirect=True)
def test_a_row_that_a_service_holds_and_whose_values_differ_keeps_a_run_from_proving(at: Clients) -> None:
    step(at, Mode.DUAL_READ_PLAINTEXT)
    run(at)(Backfill(MAIL, at.opened))
    old_program(at, 2)  # before the guard is there
    time.sleep(LEASE + 0.1)

    def while_it_is_held(work: Any) -> Tally:
        with at.engine.connect() as service, service.begin():
            service.execute(select(RAW.c.id).where(RAW.c.id == 2).with_for_update())
            return at.run(work)

    moved = migration(at).backfill(while_it_is_held)
    assert (moved.tally.outcome, moved.tally.remaining, moved.proved) == (JobState.INCOMPLETE, 1, False)
    with pytest.raises(ChangeoverError, match="needs the proof that both columns"):
        step(at, Mode.DUAL_READ_SEALED)
    assert proved(at, "backfill").proved
    step(at, Mode.DUAL_READ_SEALED)
    assert read(at)[2] == "old"


def test_a_checkpoint_of_before_a_roll_back_proves_nothing(quick: Clients) -> None:
    """In mode plaintext old programs write again, to rows that a run which was ended had done."""
    at, stop = quick, threading.Event()
    step(at, Mode.DUAL_READ_PLAINTEXT)
    time.sleep(LEASE + 0.1)

    def ended(work: Any) -> Tally:
        def end(event: Event) -> None:
            if isinstance(event, Advanced):
                stop.set()

        return Job(work, at.engine, JobSettings(PaceSettings(most_rows=1)), notify=end, stop=stop).run()

    assert migration(at).backfill(ended).tally.outcome is JobState.STOPPED
    (job,) = JobStore(at.engine).all()
    assert job["done_up_to"] is not None
    step(at, Mode.PLAINTEXT)
    old_program(at, 0)
    step(at, Mode.DUAL_READ_PLAINTEXT)
    time.sleep(LEASE + 0.1)
    assert migration(at).backfill(run(at)).proved
    step(at, Mode.DUAL_READ_SEALED)
    assert read(at)[0] == "old"


def test_a_run_that_was_ended_behind_its_guard_goes_on_where_it_was(quick: Clients) -> None:
    step(quick, Mode.DUAL_READ_PLAINTEXT)
    time.sleep(LEASE + 0.1)
    goals = []
    for _ in range(2):
        migration(quick).backfill(lambda work: goals.append(work.goal) or run(quick)(work))
    drop_pair_guard(quick.engine, PairGuard(RAW, "mail", "mail_sealed", PairRule.PAIRED))
    migration(quick).backfill(lambda work: goals.append(work.goal) or run(quick)(work))
    assert goals[0] == goals[1] != goals[2]


def test_nothing_that_was_proved_holds_without_its_guard(at: Clients) -> None:
    """A table that is made anew, as Alembic's batch mode does it, loses its triggers."""
    step(at, Mode.DUAL_READ_PLAINTEXT)
    assert proved(at, "backfill").proved
    drop_pair_guard(at.engine, PairGuard(RAW, "mail", "mail_sealed", PairRule.PAIRED))
    old_program(at, 0)
    for said in ("the trigger is gone", "needs the proof that both columns"):
        with pytest.raises(ChangeoverError, match=rf"{said}.* noisevault backfill client\.mail_sealed"):
            step(at, Mode.DUAL_READ_SEALED)
    assert proved(at, "backfill").proved
    step(at, Mode.DUAL_READ_SEALED)
    assert read(at)[0] == "old"
    time.sleep(LEASE + 0.1)
    step(at, Mode.SEALED_ONLY)
    step(at, Mode.DUAL_READ_SEALED)
    assert proved(at, "restore").proved
    drop_pair_guard(at.engine, PairGuard(RAW, "mail", "mail_sealed", PairRule.PAIRED))
    with pytest.raises(ChangeoverError, match=r"the trigger is gone .* noisevault restore client\.mail_sealed"):
        step(at, Mode.DUAL_READ_PLAINTEXT)
    assert proved(at, "restore").proved
    step(at, Mode.DUAL_READ_PLAINTEXT)


def old_program(at: Clients, key: int) -> None:
    """It knows the plaintext column alone."""
    with at.engine.begin() as connection:
        connection.execute(update(RAW).where(RAW.c.id == key).values(mail="old"))
