"""A log of 100,000 entries: whole, and then touched at one place. Fewer unless NOISEVAULT_SOAK=1."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text

from dp.errors import AuditError
from dp.ledger import answers
from dp.ledger.charge import Bid, charge_or_serve
from dp.ledger.ledger import Ledger
from dp.ledger.log.audit import AuditHead
from dp.ledger.place import Place
from tests.dp.ledger.sealing import a_request, ledger_on
from tests.sizes import sized

ENTRIES = sized(401, 100_001)  # one declares the budget


def fill(ledger: Ledger, first: int, last: int) -> None:
    """Charges and their answers, in one transaction: what a crash would leave of it does not matter here."""

    def work(connection: Connection, _unsure: bool) -> None:
        for number in range(first, last):
            request = a_request(1000, f"question {number}")
            place = Place.of(request, ledger._question)
            bid = Bid(os.urandom(16).hex(), place, request.principal, request.price, os.urandom(60))
            claim = charge_or_serve(connection, ledger._log, bid, unsure=False)
            assert isinstance(claim, answers.Claim)
            answers.store_first(connection, ledger._log, claim, os.urandom(200))

    ledger._transactions.run(work)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    engine = create_engine(f"sqlite:///{folder / 'ledger.db'}")
    ledger = ledger_on(engine)
    ledger.create_schema()
    ledger.declare("people", 10**14, reason="a test", accept=True)
    half = (ENTRIES - 1) // 4
    fill(ledger, 0, half)
    engine.dispose()
    shutil.copy(folder / "ledger.db", folder / "yesterday.db")
    fill(ledger, half, 2 * half)
    engine.dispose()
    return folder


@pytest.fixture
def ledger(filled: Path, tmp_path: Path) -> Iterator[Ledger]:
    shutil.copy(filled / "ledger.db", tmp_path / "ledger.db")
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield ledger_on(engine)
    engine.dispose()


def changed(ledger: Ledger, *statements: str) -> None:
    with ledger._engine.begin() as connection:
        for statement in statements:
            assert connection.execute(text(statement)).rowcount > 0


def test_a_long_log_is_verified(ledger: Ledger) -> None:
    begun = time.monotonic()
    report = ledger.verify_audit()
    assert (report.head.sequence, report.charges) == (ENTRIES, (ENTRIES - 1) // 2)
    assert time.monotonic() - begun < 60


MIDDLE = ENTRIES // 2 + 1
TOUCHED: list[tuple[str, list[str], int]] = [
    ("edited", [f"UPDATE noisevault_audit SET entry = replace(entry, 'ann', 'bob') WHERE sequence = {MIDDLE}"], MIDDLE),
    ("removed", [f"DELETE FROM noisevault_audit WHERE sequence = {MIDDLE}"], MIDDLE),
    (
        "swapped",
        [
            f"UPDATE noisevault_audit SET sequence = -1 WHERE sequence = {MIDDLE}",
            f"UPDATE noisevault_audit SET sequence = {MIDDLE} WHERE sequence = {MIDDLE + 2}",
            f"UPDATE noisevault_audit SET sequence = {MIDDLE + 2} WHERE sequence = -1",
        ],
        MIDDLE,
    ),
    ("cut", [f"DELETE FROM noisevault_audit WHERE sequence > {MIDDLE}"], MIDDLE + 1),
]


@pytest.mark.parametrize(("what", "statements", "named"), TOUCHED, ids=[what for what, _, _ in TOUCHED])
def test_one_entry_of_many_that_was_touched_is_named(
    ledger: Ledger, what: str, statements: list[str], named: int
) -> None:
    changed(ledger, *statements)
    with pytest.raises(AuditError, match=f"^audit entry {named} "):
        ledger.verify_audit()


def test_a_ledger_restored_from_yesterdays_copy_is_seen_by_the_checkpoint(
    ledger: Ledger, filled: Path, tmp_path: Path
) -> None:
    kept = ledger.verify_audit().head
    assert ledger.head(kept) == kept
    ledger.close()
    shutil.copy(filled / "yesterday.db", tmp_path / "ledger.db")
    old = ledger.verify_audit().head
    assert old.sequence < kept.sequence
    found: list[Callable[[AuditHead], object]] = [ledger.verify_audit, ledger.head]
    for look in found:
        with pytest.raises(AuditError, match=f"entry {old.sequence + 1} is missing|put back to an earlier state"):
            look(kept)
    fill(ledger, 10**6, 10**6 + (ENTRIES - 1) // 2)
    for look in found:
        with pytest.raises(AuditError, match=f"entry {kept.sequence} is not the one of the checkpoint"):
            look(kept)
