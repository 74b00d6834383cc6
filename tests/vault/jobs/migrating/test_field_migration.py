"""Field migration on each database: all the way there and back, and no step that is not proved."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String, Table, create_engine, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from kms import LeaseSettings
from tests.vault.jobs.two_columns_tables import MAIL, RAW, Client, Clients, clients
from tests.vault.mapping.conftest import new_vault
from vault.attach import attach
from vault.errors import ChangeoverError
from vault.jobs.engine import Job, JobSettings, Tally
from vault.jobs.job_store import JobState
from vault.jobs.migrating.field_migration import FieldMigration, Moved
from vault.jobs.migrating.pair_guard import PairGuard, PairRule, guarded_by
from vault.jobs.quarantine import listed
from vault.mapping import Sealed
from vault.modes.mode import Mode
from vault.modes.recorded_modes import mode_of
from vault.normalise import casefold
from vault.terms.term import BlindIndex

LEASE = 1.0


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
    deadline = time.monotonic() + 10
    while True:
        try:
            one.change(to, who="ann", why="test")
        except ChangeoverError as error:
            if "lease" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def proved(at: Clients, job: str, **words: Any) -> Moved:
    deadline = time.monotonic() + 10
    while True:
        moved: Moved = getattr(migration(at), job)(run(at), **words)
        if moved.until is None or time.monotonic() > deadline:
            return moved
        time.sleep(0.1)


def rules(at: Clients) -> set[PairRule]:
    return guarded_by(at.engine, PairGuard(RAW, "mail", "mail_sealed", PairRule.PAIRED))


def read(at: Clients) -> list[str | None]:
    at.opened.keyring.beside.end()  # a change that another process made is known by then
    with Session(at.engine) as session:
        return list(session.scalars(select(Client.mail).order_by(Client.id)))


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
