"""Restore on each database: the plaintext comes back from the sealed values, as what they are now."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from tests.vault.jobs.migrating.test_backfill import to_phase
from tests.vault.jobs.two_columns_tables import BORN, MAIL, Client, Clients, clients
from vault.changeover.phase import Phase
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.migrating.restore import Restore
from vault.jobs.quarantine import listed

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def at(tmp_path: Path, database_url: str) -> Iterator[Clients]:
    with clients(database_url, tmp_path) as made:
        to_phase(made, Phase.NEW)
        with Session(made.engine) as session:
            session.add_all([Client(id=n, mail=f"{n}@x") for n in range(5)])
            session.add(Client(id=5))
            session.commit()
        to_phase(made, Phase.DUAL_ASK_NEW)
        yield made


def test_every_value_comes_back_once(at: Clients) -> None:
    assert {row[0] for row in at.stored().values()} == {None}
    assert at.run(Restore(MAIL, at.opened)).rewritten == 5
    second = at.run(Restore(MAIL, at.opened))
    assert (second.rewritten, second.remaining, second.outcome) == (0, 0, JobState.COMPLETE)
    assert [row[0] for row in at.stored().values()] == ["0@x", "1@x", "2@x", "3@x", "4@x", None]
    to_phase(at, Phase.DUAL_ASK_OLD)
    with Session(at.engine) as session:
        assert session.scalars(select(Client.mail).order_by(Client.id)).all()[:2] == ["0@x", "1@x"]


def test_a_plaintext_that_is_not_the_sealed_value_is_replaced(at: Clients) -> None:
    """A DBA's paste, and one that only a collation takes for equal."""
    with at.engine.begin() as connection:
        for key, value in ((1, "pasted"), (2, "2@X"), (5, "pasted")):
            connection.execute(text("UPDATE client SET mail = :value WHERE id = :key"), {"value": value, "key": key})
    assert at.run(Restore(MAIL, at.opened)).rewritten == 6
    assert [row[0] for row in at.stored().values()] == ["0@x", "1@x", "2@x", "3@x", "4@x", None]


def test_a_value_that_does_not_open_is_left_and_listed(at: Clients) -> None:
    with at.engine.begin() as connection:
        connection.execute(update(at.table).where(at.table.c.id == 3).values(mail_sealed=b"\x01garbage"))
    tally = at.run(Restore(MAIL, at.opened))
    assert (tally.rewritten, tally.failed, tally.outcome) == (4, 1, JobState.INCOMPLETE)
    with at.engine.connect() as connection:
        assert [(row.row_key, row.column_name) for row in listed(connection)] == [("[3]", "mail_sealed")]


def test_a_text_that_not_every_database_holds_is_left(at: Clients) -> None:
    to_phase(at, Phase.NEW)
    with Session(at.engine) as session:
        session.get_one(Client, 1).mail = "a\0b"
        session.commit()
    to_phase(at, Phase.DUAL_ASK_NEW)
    tally = at.run(Restore(MAIL, at.opened))
    assert (tally.rewritten, tally.failed) == (4, 1)


def test_a_row_bound_value_comes_back(at: Clients) -> None:
    from datetime import date

    to_phase(at, Phase.NEW)
    with Session(at.engine) as session:
        session.get_one(Client, 1).born = date(2001, 2, 3)
        session.commit()
    to_phase(at, Phase.DUAL_ASK_NEW)
    assert Job(Restore(BORN, at.opened), at.engine).rehearse().rewritten == 1
    assert at.run(Restore(BORN, at.opened)).rewritten == 1
    with at.engine.connect() as connection:
        assert connection.scalar(select(at.table.c.born).where(at.table.c.id == 1)) == date(2001, 2, 3)
