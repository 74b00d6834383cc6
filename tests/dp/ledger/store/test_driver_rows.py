from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, bindparam, create_engine, insert, literal_column, select
from sqlalchemy.exc import OperationalError

from dp.ledger.store import driver_rows as module
from dp.ledger.store.driver_rows import driver_rows
from dp.ledger.store.schema import event

EVENTS = select(event.c.audit_sequence, event.c.event_id).where(event.c.audit_sequence <= bindparam("last"))


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as opened:
        event.create(opened)
        opened.execute(insert(event), [{"audit_sequence": n, "event_id": f"event {n}"} for n in range(1, 8)])
        yield opened
    engine.dispose()


@pytest.mark.parametrize("at_a_time", [1, 2, 3, 7, 250])
@pytest.mark.parametrize("last", [0, 1, 6, 7])
def test_every_row_comes_once_and_in_order(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, at_a_time: int, last: int
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_A_TIME", at_a_time)
    rows = list(driver_rows(connection, EVENTS.order_by(event.c.audit_sequence), last=last))
    assert rows == [(n, f"event {n}") for n in range(1, last + 1)]
    assert all(type(row) is tuple for row in rows)


def test_an_error_of_the_driver_is_one_of_sqlalchemy(connection: Connection) -> None:
    unreadable = select(literal_column("CAST(x'ff' AS TEXT)"))
    with pytest.raises(OperationalError):
        list(driver_rows(connection, unreadable))
