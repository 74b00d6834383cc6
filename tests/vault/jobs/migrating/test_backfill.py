"""Backfill on each database: rows that there are, rows that change meanwhile, rows that cannot be sealed."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from kms.key_record import Purpose
from tests.sizes import sized
from tests.vault.jobs.two_columns_tables import BORN, MAIL, Client, Clients, clients
from tests.vault.phases import set_phase
from vault.changeover.phase import Phase, Subject
from vault.jobs.engine import Job
from vault.jobs.job_store import JobState
from vault.jobs.migrating.backfill import Backfill
from vault.jobs.proof import prove
from vault.jobs.quarantine import listed
from vault.mapping import definition_of
from vault.modes.recorded_modes import PLAINTEXT, SEALED, subject_of_field

ROOT = Path(__file__).parents[4]
ROWS = sized(200, 1000)

pytestmark = pytest.mark.databases_in_turn


@pytest.fixture
def at(tmp_path: Path, database_url: str) -> Iterator[Clients]:
    with clients(database_url, tmp_path) as made:
        to_phase(made, Phase.DUAL_ASK_OLD)
        yield made


def to_phase(made: Clients, phase: Phase) -> None:
    for column in (MAIL, BORN):
        subject = subject_of_field(definition_of(column))
        set_phase(made.opened.key_store, made.opened.keyring, subject, phase, old=PLAINTEXT, new=SEALED)


def whole(made: Clients, value: str | None) -> tuple[Any, ...]:
    return (value, value, *made.terms(value)) if value is not None else (None,) * 4


@pytest.mark.every_database
def test_all_rows_are_sealed_once(at: Clients) -> None:
    """K09-01: run 1 reports 1,000, run 2 reports 0; reads before and after follow the mode."""
    at.plain({n: f"A{n}@x" for n in range(ROWS)} | {ROWS: None})
    with Session(at.engine) as session:
        assert session.scalar(select(Client.mail).where(Client.id == 7)) == "A7@x"
    assert at.run(Backfill(MAIL, at.opened)).rewritten == ROWS
    second = at.run(Backfill(MAIL, at.opened))
    assert (second.rewritten, second.remaining, second.failed, second.outcome) == (0, 0, 0, JobState.COMPLETE)
    stored = at.stored()
    assert all(stored[n] == whole(at, f"A{n}@x") for n in range(0, ROWS, 37))
    assert stored[ROWS] == whole(at, None)
    to_phase(at, Phase.DUAL_ASK_NEW)
    with Session(at.engine) as session:
        assert session.scalars(select(Client.id).where(Client.mail == "a7@X")).all() == [7]  # by the index's rule
        assert session.scalar(select(func.count(Client.mail))) == ROWS


def test_a_run_that_is_killed_is_gone_on_with(at: Clients, tmp_path: Path) -> None:
    """K09-03: SIGKILL in the middle; the rerun does the rest, and all have their terms."""
    at.plain({n: f"A{n}@x" for n in range(ROWS)})
    program = textwrap.dedent(f"""
        from sqlalchemy import create_engine
        from kms import Keyring, KeyStore, open_provider
        from kms.key_record import Purpose
        from tests.vault.jobs.two_columns_tables import MAIL
        from vault.attaching import attach
        from vault.jobs.migrating.backfill import Backfill
        from vault.jobs.engine import Job
        from vault.jobs.job_settings import JobSettings
        from vault.jobs.pace import PaceSettings
        from vault.opened import OpenedVault

        store = KeyStore.from_url({str(at.opened.key_store.engine.url)!r})
        opened = OpenedVault(Keyring.open(store, open_provider("local:{tmp_path / "kek"}"), "main"), store)
        engine = create_engine({at.engine.url.render_as_string(hide_password=False)!r})
        pace = PaceSettings(most_rows={ROWS // 20}, rows_per_second={ROWS // 4})
        Job(Backfill(MAIL, opened), engine, JobSettings(pace)).run()
    """)
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    sealed = select(func.count()).select_from(at.table).where(at.table.c.mail_sealed.is_not(None))
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with at.engine.connect() as connection:
                if (connection.scalar(sealed) or 0) >= ROWS // 2:
                    break
            time.sleep(0.05)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    with at.engine.connect() as connection:
        done = connection.scalar(sealed)
    assert done is not None
    assert ROWS // 2 <= done < ROWS
    assert at.run(Backfill(MAIL, at.opened), silence=0.5).rewritten == ROWS - done
    assert all(stored == whole(at, f"A{n}@x") for n, stored in at.stored().items())


def test_a_plaintext_that_an_old_program_wrote_alone_is_sealed_again(at: Clients) -> None:
    """Bytewise: what a collation takes for equal is not the same."""
    with Session(at.engine) as session:
        session.add_all([Client(id=n, mail="bob@x") for n in range(4)])
        session.commit()
        for key, value in ((1, "Bob@x"), (2, None), (3, "bob@x ")):
            session.execute(text("UPDATE client SET mail = :value WHERE id = :key"), {"value": value, "key": key})
        session.commit()
    assert at.run(Backfill(MAIL, at.opened)).rewritten == 3
    assert at.stored() == {n: whole(at, v) for n, v in enumerate(["bob@x", "Bob@x", None, "bob@x "])}


LOOK_LIKE_MORE = ["", " ", "None", "null", "0", "\x01\x02abcd\x7f", "AQIDBAUGBwg=", "\\x0100ffffff", "\N{LOCK}\N{LOCK}"]


def test_k09_own_1_plaintext_that_looks_empty_or_sealed_is_sealed_like_any_other(at: Clients) -> None:
    """What decides is the sealed column, never what the plaintext looks like; only NULL is left out."""
    at.plain(dict(enumerate(LOOK_LIKE_MORE)) | {50: None})
    assert at.run(Backfill(MAIL, at.opened)).rewritten == len(LOOK_LIKE_MORE)
    assert at.stored() == {n: whole(at, v) for n, v in enumerate(LOOK_LIKE_MORE)} | {50: whole(at, None)}
    assert at.run(Backfill(MAIL, at.opened)).rewritten == 0
    to_phase(at, Phase.DUAL_ASK_NEW)
    with Session(at.engine) as session:
        for n, value in enumerate(LOOK_LIKE_MORE):
            assert session.get_one(Client, n).mail == value
            assert session.scalars(select(Client.id).where(Client.mail == value)).all() == [n]
        assert session.scalars(select(Client.id).where(Client.mail.is_(None))).all() == [50]


def test_k09_own_2_plaintext_that_is_pasted_into_the_old_column_is_no_value(at: Clients) -> None:
    """Nor is a sealed value there, nor one whose sealed value was taken away: nothing is guessed from the bytes."""
    at.plain({1: "ann@x", 2: "ben@x"})
    at.run(Backfill(MAIL, at.opened))
    for phase in (Phase.DUAL_ASK_NEW, Phase.NEW):
        to_phase(at, phase)
        for pasted in ("eve@x", "\\x0100ffffff"):
            with at.engine.begin() as connection:
                connection.execute(text("UPDATE client SET mail = :pasted"), {"pasted": pasted})
            with Session(at.engine) as session:
                assert [one.mail for one in session.scalars(select(Client).order_by(Client.id))] == ["ann@x", "ben@x"]
                assert session.scalars(select(Client.id).where(Client.mail == pasted)).all() == []
                assert session.scalars(select(Client.id).where(Client.mail == "ben@x")).all() == [2]
    with at.engine.begin() as connection:
        connection.execute(update(at.table).where(at.table.c.id == 2).values(mail_sealed=None))
    with Session(at.engine) as session:
        assert session.get_one(Client, 2).mail is None


def test_missing_terms_are_made(at: Clients) -> None:
    with Session(at.engine) as session:
        session.add_all([Client(id=n, mail="bob@x") for n in range(3)])
        session.commit()
    with at.engine.begin() as connection:
        connection.execute(update(at.table).where(at.table.c.id == 1).values(mail_sealed_bidx_a=None))
    assert prove(at.engine, Backfill(MAIL, at.opened)).reasons == (("mail_sealed_bidx_a", "no term", 1),)
    assert at.run(Backfill(MAIL, at.opened)).rewritten == 1
    assert at.stored()[1] == whole(at, "bob@x")


def test_what_the_field_cannot_hold_is_left_and_listed(at: Clients) -> None:
    at.plain({1: "short@x", 2: "much-too-long@x", 3: "three@x"})
    with Session(at.engine) as session:
        session.add(Client(id=4, mail="four@x"))
        session.commit()
    with at.engine.begin() as connection:
        connection.execute(update(at.table).where(at.table.c.id == 4).values(mail_sealed=b"\x01garbage"))
    tally = at.run(Backfill(MAIL, at.opened))
    assert (tally.rewritten, tally.failed, tally.outcome) == (2, 2, JobState.INCOMPLETE)
    with at.engine.connect() as connection:
        entries = {row.row_key: (row.column_name, row.reason) for row in listed(connection)}
    assert entries["[2]"] == ("mail", "the text is longer than String(12)")
    assert entries["[4]"][0] == "mail_sealed"
    assert "much-too-long" not in str(entries)
    with at.engine.connect() as connection:
        kept = connection.execute(select(at.table.c.mail_sealed).order_by(at.table.c.id)).scalars().all()
    assert kept[1] is None
    assert bytes(kept[3]) == b"\x01garbage"


class Service(Backfill):
    """A service that writes a row after its page was read."""

    done = False

    def renew(self, rows: Any) -> Any:
        changes = super().renew(rows)
        if not self.done:
            self.done = True
            with Session(self.engine) as session:
                session.get_one(Client, 2).mail = "later@x"
                session.delete(session.get_one(Client, 3))
                session.add(Client(id=9, mail="nine@x"))
                session.commit()
        return changes


def test_what_a_service_writes_meanwhile_stays(at: Clients) -> None:
    at.plain({n: f"{n}@x" for n in range(5)})
    work = Service(MAIL, at.opened)
    work.engine = at.engine  # type: ignore[attr-defined]
    tally = at.run(work)
    assert tally.outcome is JobState.COMPLETE
    values = {0: "0@x", 1: "1@x", 2: "later@x", 4: "4@x", 9: "nine@x"}
    assert at.stored() == {n: whole(at, value) for n, value in values.items()}


def test_a_row_bound_field_is_bound_to_its_row(at: Clients) -> None:
    with at.engine.begin() as connection:
        connection.execute(text("INSERT INTO client (id, born) VALUES (1, '2001-02-03'), (2, '2001-02-04')"))
    assert at.run(Backfill(BORN, at.opened)).rewritten == 2
    to_phase(at, Phase.DUAL_ASK_NEW)
    with Session(at.engine) as session:
        assert [str(client.born) for client in session.scalars(select(Client).order_by(Client.id))] == [
            "2001-02-03",
            "2001-02-04",
        ]


def test_a_rehearsal_writes_nothing_and_tells_as_much(at: Clients) -> None:
    at.plain({1: "short@x", 2: "much-too-long@x"})
    tally = Job(Backfill(MAIL, at.opened), at.engine).rehearse()
    assert (tally.rewritten, tally.failed) == (1, 1)
    assert at.stored()[1][1] is None


def test_a_job_has_the_name_of_its_field(at: Clients) -> None:
    assert Backfill(MAIL, at.opened).name == "backfill mail_sealed"
    assert Backfill(MAIL, at.opened).goal != Backfill(BORN, at.opened).goal


def test_a_page_is_renewed_by_the_phase_that_an_index_is_in_by_then(at: Clients) -> None:
    """A pass may last longer than the lease of what was read of the index when it began."""
    at.plain({1: "A1@x"})
    at.opened.keyring.lifecycle.rotate(Purpose.INDEX)
    work = Backfill(MAIL, at.opened)
    subject = Subject("client", MAIL.name, "bidx")
    set_phase(at.opened.key_store, at.opened.keyring, subject, Phase.DUAL_ASK_OLD)
    names = [*work.table.primary_key.columns, *(work.table.c[name] for name in work.reads)]
    with at.engine.connect() as connection:
        page = connection.execute(select(*names)).mappings().all()
    (change,), failed = work.renew(page)
    assert not failed
    new = dict(zip(work.sets, change.new, strict=True))
    terms = at.opened.field(definition_of(MAIL)).terms("A1@x")
    assert new["mail_sealed_bidx_a"] == terms["mail_sealed_bidx_a"]
    assert new["mail_sealed_bidx_b"] == terms["mail_sealed_bidx_b"] is not None
