"""Lock and read: the head is locked, and what is read was committed before that."""

import threading

import pytest
from sqlalchemy import Engine, delete, event, update

from dp.errors import AuditError
from dp.ledger.ledger import Ledger
from dp.ledger.limits.against import find_rows
from dp.ledger.limits.lock_and_read import lock_and_read
from dp.ledger.log.audit import AuditLog
from dp.ledger.place import Place
from dp.ledger.store.schema import audit_head, budget
from dp.ledger.store.transaction import Transactions
from tests.dp.ledger.sealing import AuditKeys, a_request

LOG = AuditLog(AuditKeys(), lambda: 0)
PLACE = Place("shared", "people", 1, "ab" * 32)


def test_it_gives_the_head_and_what_is_read_by_itself(ledger: Ledger, engine: Engine) -> None:
    ledger.charge(a_request())
    with engine.connect() as connection:
        head, rows = lock_and_read(connection, LOG, PLACE, "ann")
        assert head == LOG.lock(connection)
        if rows is not None:
            assert sorted(map(tuple, rows)) == sorted(map(tuple, find_rows(connection, PLACE, "ann")))


def test_who_waited_for_the_lock_reads_what_its_holder_wrote(ledger: Ledger, engine: Engine) -> None:
    locked, sent, found = threading.Event(), threading.Event(), list[object]()

    def wait() -> None:
        locked.wait(30)
        with Transactions(engine).snapshot():
            pass  # the connection is there

        def work(connection, unsure):  # type: ignore[no-untyped-def]
            event.listen(connection, "before_cursor_execute", lambda *_: sent.set())
            head, rows = lock_and_read(connection, LOG, PLACE, "ann")
            rows = find_rows(connection, PLACE, "ann") if rows is None else rows
            found.append((head.sequence, next(row[8] for row in rows if row[0] == "budget")))

        Transactions(engine).run(work)

    waiting = threading.Thread(target=wait)
    waiting.start()
    if engine.dialect.name == "sqlite":
        sent.set()  # it waits at BEGIN IMMEDIATE already

    def hold(connection, unsure):  # type: ignore[no-untyped-def]
        LOG.lock(connection)
        locked.set()
        sent.wait(30)
        waiting.join(0.2)
        connection.execute(update(audit_head).values(sequence=77))
        connection.execute(update(budget).values(spent_nano_epsilon=7))

    Transactions(engine).run(hold)
    waiting.join(30)
    assert found == [(77, 7)]


@pytest.mark.parametrize("statement", [delete(audit_head), update(audit_head).values(sequence=2**63 - 1)])
def test_a_head_that_is_gone_or_none_of_ours_is_an_error(ledger: Ledger, engine: Engine, statement: object) -> None:
    with engine.connect() as connection:
        connection.execute(statement)  # type: ignore[call-overload]
        with pytest.raises(AuditError, match="noisevault_audit_head was changed"):
            lock_and_read(connection, LOG, PLACE, "ann")
        connection.rollback()
