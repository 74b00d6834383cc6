from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text, update

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from dp.ledger.store.schema import audit_head
from tests.dp.ledger.sealing import AuditKeys, a_request, fresh_ledger, ledger_on
from tests.open_files import open_files


def test_the_database_of_a_ledger_is_safe_to_open_twice(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    one, other = fresh_ledger(url), fresh_ledger(url)
    one.declare("people", 10**9)
    other.charge(a_request())
    assert one.status("people").spent == 100_000_000


def test_a_closed_ledger_has_no_file_open_until_it_is_used_again(tmp_path: Path) -> None:
    ledger = ledger_on(create_engine(f"sqlite:///{tmp_path / 'ledger.db'}"))
    ledger.create_schema()
    assert open_files(tmp_path) >= {"ledger.db"}
    ledger.close()
    assert open_files(tmp_path) == set()
    ledger.declare("people", 1)


def test_a_log_that_others_sign_is_not_written_to(ledger: Ledger, database_url: str) -> None:
    engine = create_engine(database_url)
    others = AuditKeys(newest=2)
    others.lost.add(1)
    with pytest.raises(AuditError, match="last signed with key"):
        ledger_on(engine, audit=others).charge(a_request())
    engine.dispose()
    assert ledger.verify_audit().charges == 0


@pytest.mark.parametrize("head", [0, 1, 2**63 - 1])
def test_a_head_that_was_moved_is_told_and_nothing_is_written(ledger: Ledger, engine: Engine, head: int) -> None:
    ledger.charge(a_request())
    with engine.begin() as connection:
        connection.execute(update(audit_head).values(sequence=head))
    with pytest.raises(AuditError, match="verify the audit, restore the ledger"):
        ledger.charge(a_request(question_text="another"))
    assert ledger.status("people").spent == 100_000_000


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_bytes_in_place_of_text_are_no_outage(ledger: Ledger, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE noisevault_audit_head SET mac = CAST(x'ff' AS TEXT)"))
    for call in (lambda: ledger.charge(a_request()), ledger.head):
        with pytest.raises(AuditError, match="column 'mac' of a table of the ledger"):
            call()
