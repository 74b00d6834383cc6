"""Clear on each database: a plaintext goes where a sealed value stands for it, and stays where it would be lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text, update
from sqlalchemy.orm import Session

from tests.vault.jobs.migrating.test_backfill import to_phase
from tests.vault.jobs.two_columns_tables import MAIL, Client, Clients, clients
from vault.changeover.phase import Phase
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.migrating.clear import ALONE, Clear
from vault.jobs.quarantine import listed


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
