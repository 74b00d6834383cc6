"""The ledger as its users see it."""

import os

import pytest
from sqlalchemy import create_engine

import dp.ledger
from dp.errors import AuditError, DpError, LedgerError
from dp.ledger import Claim, Ledger
from tests.dp.ledger.sealing import AesSealer, a_request, ledger_on

pytestmark = pytest.mark.databases_in_turn


@pytest.mark.every_database
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
    with pytest.raises(AuditError, match="has that row already"):
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


def test_what_the_package_offers_is_there() -> None:
    assert all(hasattr(dp.ledger, name) for name in dp.ledger.__all__)
    assert os.urandom is Ledger.__init__.__kwdefaults__["draw"]
