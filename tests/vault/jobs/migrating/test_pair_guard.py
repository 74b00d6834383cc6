"""Pair guard: what old programs, sleepers and textual SQL write is refused by the database, and nothing else is."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    create_engine,
    insert,
    make_url,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tests.vault.jobs.migrating.test_backfill import to_phase
from tests.vault.jobs.two_columns_tables import RAW, Client, Clients, clients
from vault.changeover.phase import Phase
from vault.errors import ChangeoverError
from vault.jobs.migrating import pair_guard
from vault.jobs.migrating.pair_guard import PairGuard, PairRule, drop_pair_guard, guarded_by, make_pair_guard

WRITES = {
    "plaintext alone": "INSERT INTO client (id, mail) VALUES (9, 'x')",
    "sealed alone": "INSERT INTO client (id, mail_sealed) VALUES (9, {new})",
    "both": "INSERT INTO client (id, mail, mail_sealed) VALUES (9, 'x', {new})",
    "neither": "INSERT INTO client (id) VALUES (9)",
    "plaintext changed alone": "UPDATE client SET mail = 'y' WHERE id = 1",
    "plaintext changed as a collation does not see": "UPDATE client SET mail = 'BOB' WHERE id = 1",
    "plaintext gone alone": "UPDATE client SET mail = NULL WHERE id = 1",
    "sealed gone alone": "UPDATE client SET mail_sealed = NULL WHERE id = 1",
    "sealed changed alone": "UPDATE client SET mail_sealed = {new} WHERE id = 1",
    "both changed": "UPDATE client SET mail = 'y', mail_sealed = {new} WHERE id = 1",
    "both gone": "UPDATE client SET mail = NULL, mail_sealed = NULL WHERE id = 1",
    "another column": "UPDATE client SET visits = 3",
    "another column of an old row": "UPDATE client SET visits = 3 WHERE id = 2",
    "plaintext set as it is": "UPDATE client SET mail = mail",
    "a sealed value for an old row": "UPDATE client SET mail_sealed = {new} WHERE id = 2",
    "re-encryption of a row not restored": "UPDATE client SET mail_sealed = {new} WHERE id = 3",
    "a new sealed value for an empty row": "UPDATE client SET mail_sealed = {new} WHERE id = 4",
}
REFUSED = {
    PairRule.PAIRED: {
        "plaintext alone",
        "plaintext changed alone",
        "plaintext changed as a collation does not see",
        "sealed gone alone",
    },
    PairRule.MATCHED: {
        "plaintext alone",
        "sealed alone",
        "plaintext changed alone",
        "plaintext changed as a collation does not see",
        "plaintext gone alone",
        "sealed gone alone",
        "a new sealed value for an empty row",
    },
    PairRule.CLEARED: {
        "plaintext alone",
        "both",
        "plaintext changed alone",
        "plaintext changed as a collation does not see",
        "both changed",
    },
}


WAITED_FOR = text("SELECT mode FROM pg_locks WHERE relation = 'client'::regclass AND NOT granted")
HELD_BY_OTHERS = text(
    "SELECT mode FROM pg_locks WHERE relation = 'client'::regclass AND granted AND pid <> pg_backend_pid()"
)


@pytest.fixture
def at(tmp_path: Path, database_url: str) -> Iterator[Clients]:
    """Rows: 1 both, 2 plaintext alone, 3 sealed alone, 4 neither."""
    with clients(database_url, tmp_path) as made:
        to_phase(made, Phase.DUAL_ASK_OLD)
        with Session(made.engine) as session:
            session.add_all([Client(id=1, mail="bob"), Client(id=3, mail="cleo"), Client(id=4)])
            session.commit()
        made.plain({2: "ann"})
        with made.engine.begin() as connection:
            connection.execute(update(RAW).where(RAW.c.id == 3).values(mail=None))
        yield made


def guard(rule: PairRule) -> PairGuard:
    return PairGuard(RAW, "mail", "mail_sealed", rule)


@pytest.mark.parametrize("rule", PairRule, ids=lambda rule: rule.value)
def test_a_guard_refuses_just_what_its_rule_says(at: Clients, rule: PairRule) -> None:
    make_pair_guard(at.engine, guard(rule))
    new = "'\\x0102'" if at.engine.dialect.name == "postgresql" else "x'0102'"
    refused = set()
    for name, write in WRITES.items():
        with at.engine.connect() as connection:
            try:
                connection.execute(text(write.format(new=new)))
            except DBAPIError as error:
                if "noisevault: mail and mail_sealed" in str(error.orig):
                    refused.add(name)
            connection.rollback()
    assert refused == REFUSED[rule]


@pytest.mark.parametrize("name", ["a%b", "a%sb's", "%(n)s"])
def test_a_table_may_have_any_name(database_url: str, name: str) -> None:
    engine = create_engine(database_url)
    odd = Table(name, MetaData(), Column("id", Integer), Column("p'%", Integer), Column("s %s", LargeBinary(9)))
    odd.create(engine)
    for rule in PairRule:
        odd_guard = PairGuard(odd, "p'%", "s %s", rule)
        make_pair_guard(engine, odd_guard)
        assert guarded_by(engine, odd_guard) == {rule}
        with pytest.raises(DBAPIError, match="noisevault: p'% and s %s must"), engine.begin() as connection:
            connection.execute(insert(odd), {"p'%": 1})
    drop_pair_guard(engine, odd_guard)
    assert guarded_by(engine, odd_guard) == set()


def test_one_guard_follows_another(at: Clients) -> None:
    assert guarded_by(at.engine, guard(PairRule.PAIRED)) == set()
    for rule in (PairRule.PAIRED, PairRule.PAIRED, PairRule.MATCHED, PairRule.CLEARED):
        make_pair_guard(at.engine, guard(rule))
        assert guarded_by(at.engine, guard(rule)) == {rule}
    drop_pair_guard(at.engine, guard(PairRule.PAIRED))
    drop_pair_guard(at.engine, guard(PairRule.PAIRED))
    assert guarded_by(at.engine, guard(PairRule.CLEARED)) == set()


@pytest.mark.parametrize(
    ("phase", "rule"),
    [(Phase.DUAL_ASK_OLD, PairRule.PAIRED), (Phase.DUAL_ASK_NEW, PairRule.MATCHED), (Phase.NEW, PairRule.CLEARED)],
)
def test_what_the_mapping_writes_passes(at: Clients, phase: Phase, rule: PairRule) -> None:
    make_pair_guard(at.engine, guard(rule))
    to_phase(at, phase)
    with Session(at.engine) as session:
        session.add(Client(id=9, mail="new"))
        session.get_one(Client, 1).mail = "other"
        session.get_one(Client, 4).visits = 7
        session.commit()
        session.get_one(Client, 9).mail = None
        session.commit()


def test_a_process_that_slept_in_the_first_mode_is_stopped(at: Clients) -> None:
    make_pair_guard(at.engine, guard(PairRule.PAIRED))
    to_phase(at, Phase.OLD)
    with Session(at.engine) as session:
        session.add(Client(id=9, mail="new"))
        with pytest.raises(DBAPIError):
            session.flush()
        session.rollback()
        session.get_one(Client, 1).mail = "other"
        with pytest.raises(DBAPIError):
            session.flush()


def test_at_no_moment_is_there_no_guard_while_one_follows_another(at: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB commits each statement that makes or drops a trigger; PostgreSQL all of them as one."""
    make_pair_guard(at.engine, guard(PairRule.PAIRED))
    seen, run = [], pair_guard.run_or_leave_to_owner

    def watched(engine: Engine, statements: list[str], *others: Any) -> None:
        for some in [statements] if engine.dialect.name == "postgresql" else [[one] for one in statements]:
            run(engine, some, *others)
            seen.append(guarded_by(engine, guard(PairRule.PAIRED)))

    monkeypatch.setattr(pair_guard, "run_or_leave_to_owner", watched)
    make_pair_guard(at.engine, guard(PairRule.MATCHED))
    assert seen
    assert set() not in seen
    assert guarded_by(at.engine, guard(PairRule.PAIRED)) == {PairRule.MATCHED}


@pytest.mark.postgres
def test_a_role_that_may_not_is_told_what_its_owner_is_to_run(postgres_url: str, tmp_path: Path) -> None:
    with clients(postgres_url, tmp_path) as at:
        role = f"clerk_{secrets.token_hex(4)}"
        with at.engine.begin() as connection:
            connection.execute(text(f"CREATE ROLE {role} LOGIN"))
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE ON client TO {role}"))
        clerk = create_engine(make_url(postgres_url).set(username=role))
        with pytest.raises(ChangeoverError, match="may not change the triggers of client") as refused:
            make_pair_guard(clerk, guard(PairRule.PAIRED))
        with at.engine.begin() as connection:
            connection.exec_driver_sql(str(refused.value).split("\n", 1)[1])
        make_pair_guard(clerk, guard(PairRule.PAIRED))
        assert guarded_by(at.engine, guard(PairRule.PAIRED)) == {PairRule.PAIRED}
        with at.engine.begin() as connection:
            connection.execute(text(f"DROP OWNED BY {role}"))
            connection.execute(text(f"DROP ROLE {role}"))
        clerk.dispose()


@pytest.mark.postgres
def test_a_service_that_reads_and_then_writes_is_in_no_ring_with_what_changes_the_guard(
    postgres_url: str, tmp_path: Path
) -> None:
    """Whoever holds the weaker lock and asks for the stronger one waits for others who do the same."""
    asked: list[str] = []
    with clients(postgres_url, tmp_path) as at:
        make_pair_guard(at.engine, guard(PairRule.PAIRED))
        with at.engine.connect() as connection, connection.begin():
            connection.execute(text("SELECT count(*) FROM client"))  # ACCESS SHARE, to the end
            with ThreadPoolExecutor(1) as pool:
                changing = pool.submit(make_pair_guard, at.engine, guard(PairRule.MATCHED))
                with at.engine.connect() as looking:
                    while not asked:
                        asked += looking.execute(WAITED_FOR).scalars()
                        looking.rollback()
                held = connection.execute(HELD_BY_OTHERS).scalars().all()
                connection.commit()
                changing.result()
    assert set(asked) == {"AccessExclusiveLock"}
    assert set(held) <= {"AccessShareLock"}, "nothing is held that a service's write would wait for"
