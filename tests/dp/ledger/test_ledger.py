"""The ledger as its users see it."""

import os
from pathlib import Path

import pytest
from sqlalchemy import create_engine

import dp.ledger
from dp.errors import DpError, LedgerError
from dp.ledger import Claim, Ledger
from tests.dp.ledger.sealing import AesSealer, a_request, fresh_ledger, ledger_on
from tests.open_files import open_files


def test_k24_07_who_comes_later_goes_on_where_the_last_one_stopped(ledger: Ledger, database_url: str) -> None:
    ledger.charge(a_request(400_000_000))
    engine = create_engine(database_url)
    assert ledger_on(engine).status("people").remaining == 600_000_000
    engine.dispose()


def test_charge_ids_come_from_the_source_of_randomness_that_was_handed_in(ledger: Ledger) -> None:
    ledger._draw = lambda size: b"\xab" * size
    claim = ledger.charge(a_request())
    assert isinstance(claim, Claim)
    assert claim.charge_id == "ab" * 16


def test_a_charge_id_that_comes_twice_is_no_free_charge(ledger: Ledger) -> None:
    ledger._draw = lambda size: b"\xab" * size
    ledger.charge(a_request())
    with pytest.raises(Exception, match=r"(?i)unique|duplicate entry"):
        ledger.charge(a_request(question_text="another"))
    assert ledger.status("people").spent == 100_000_000


def test_when_sealing_fails_nothing_is_charged(ledger: Ledger) -> None:
    class Broken(AesSealer):
        def seal(self, plaintext: bytes, aad: bytes) -> bytes:
            raise LedgerError("no key")

    ledger._sealer = Broken()
    with pytest.raises(DpError, match="no key"):
        ledger.charge(a_request())
    assert ledger.status("people").spent == 0


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


def test_what_the_package_offers_is_there() -> None:
    assert all(hasattr(dp.ledger, name) for name in dp.ledger.__all__)
    assert os.urandom is Ledger.__init__.__kwdefaults__["draw"]
