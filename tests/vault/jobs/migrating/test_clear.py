"""Clear on each database: a plaintext goes where a sealed value stands for it, and stays where it would be lost."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import CHAR, Float, Integer, Numeric, String, Text, text, update
from sqlalchemy.orm import Session

from tests.vault.jobs.migrating.test_backfill import to_phase
from tests.vault.jobs.two_columns_tables import MAIL, Client, Clients, clients
from vault.changeover.phase import Phase
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.migrating.clear import ALONE, OTHER, Clear
from vault.jobs.migrating.two_columns import TwoColumns
from vault.jobs.quarantine import listed

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def at(tmp_path: Path, database_url: str) -> Iterator[Clients]:
    with clients(database_url, tmp_path) as made:
        to_phase(made, Phase.DUAL_ASK_NEW)
        with Session(made.engine) as session:
            session.add_all([Client(id=n, mail=f"{n}@x") for n in range(5)])
            session.add(Client(id=5))
            session.commit()
        to_phase(made, Phase.NEW)
        yield made


def test_every_plaintext_goes_and_every_value_stays(at: Clients) -> None:
    assert Job(Clear(MAIL, at.opened), at.engine).rehearse().rewritten == 5
    assert at.run(Clear(MAIL, at.opened)).rewritten == 5
    second = at.run(Clear(MAIL, at.opened))
    assert (second.rewritten, second.remaining, second.outcome) == (0, 0, JobState.COMPLETE)
    assert [row[:2] for row in at.stored().values()] == [*((None, f"{n}@x") for n in range(5)), (None, None)]


def test_a_plaintext_without_a_sealed_value_that_opens_is_left_and_listed(at: Clients) -> None:
    with at.engine.begin() as connection:
        connection.execute(text("UPDATE client SET mail = :value WHERE id = 5"), {"value": "pasted"})
        connection.execute(update(at.table).where(at.table.c.id == 3).values(mail_sealed=b"\x01garbage"))
    tally = at.run(Clear(MAIL, at.opened))
    assert (tally.rewritten, tally.failed, tally.outcome) == (4, 2, JobState.INCOMPLETE)
    with at.engine.connect() as connection:
        found = {row.row_key: (row.column_name, row.reason) for row in listed(connection)}
    assert found["[5]"] == ("mail", ALONE)
    assert found["[3]"][0] == "mail_sealed"
    assert "pasted" not in str(found)


def test_a_plaintext_that_is_another_value_is_left_and_listed(at: Clients) -> None:
    """As of a program that went past the mapping while no guard was there."""
    too_long = "as long as the sealed column takes no more"
    with at.engine.begin() as connection:
        for key, value in {1: "another", 2: "2@X", 3: too_long[:40]}.items():
            connection.execute(update(at.table).where(at.table.c.id == key).values(mail=value))
    tally = at.run(Clear(MAIL, at.opened))
    assert (tally.rewritten, tally.failed, tally.outcome) == (2, 3, JobState.INCOMPLETE)
    with at.engine.connect() as connection:
        found = listed(connection)
    assert {row.row_key: row.reason for row in found} == dict.fromkeys(("[1]", "[2]", "[3]"), OTHER)
    assert [row[0] for row in at.stored().values()] == [None, "another", "2@X", too_long[:40], None, None]


@pytest.mark.parametrize(
    ("kind", "exact"),
    [(Text(), True), (String(9), True), (Integer(), True), (CHAR(9), False), (Float(), False), (Numeric(9, 2), False)],
)
def test_a_column_that_keeps_less_than_it_is_given_is_not_compared(at: Clients, kind: Any, exact: bool) -> None:
    """Of those a difference is the column's, not the program's."""
    pair = TwoColumns(MAIL, at.opened)
    pair.owner = SimpleNamespace(plaintext_type=kind)  # type: ignore[assignment]
    assert pair.keeps_exactly is exact
