from pathlib import Path

import pytest
from sqlalchemy import create_engine

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
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
