"""What a flush knows of the row that it updates."""

import uuid
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Account, Income
from vault.errors import SealedColumnError
from vault.mapping import flush_rows
from vault.mapping.flush_rows import known_row

KEY = uuid.UUID(int=9)
T = Income.__table__


@pytest.fixture
def income(quick: Engine) -> Any:
    with Session(quick) as session:
        session.add(Income(id=KEY, person="p", amount=73911.25))
        session.commit()
        yield session.get_one(Income, KEY), session


def test_a_flush_binds_by_columns_that_are_no_primary_key(income: Any) -> None:
    row, session = income
    row.amount = 73912.5
    session.commit()
    assert session.scalar(select(Income.amount)) == 73912.5


def test_a_bound_column_that_was_not_loaded_is_loaded(income: Any) -> None:
    row, session = income
    session.expire(row)
    row.amount = 73912.5
    session.commit()
    assert session.scalar(select(Income.amount)) == 73912.5


def test_the_notes_of_a_flush_end_with_it(income: Any) -> None:
    row, session = income
    row.amount = 73912.5
    session.flush()
    connection: Connection = session.connection()
    assert not flush_rows._notes.get(connection)
    with pytest.raises(SealedColumnError, match="person given by =="):
        connection.execute(update(T).where(T.c.id == KEY).values(amount=73911.25))


def test_a_note_that_a_failed_flush_left_is_not_used(income: Any) -> None:
    row, session = income
    row.amount = "not a number"
    connection = session.connection()
    with pytest.raises(Exception, match="float64"):
        session.flush()
    assert known_row(connection, T, (KEY,)) == {}


def test_a_new_object_has_its_defaults_after_the_flush(quick: Engine) -> None:
    with Session(quick) as session:
        account = Account(number=1)
        session.add(account)
        session.flush()
        assert (account.pin, account.tag) == ("plain§0000", b"tag")


def test_a_changed_bound_column_is_refused_in_words(income: Any) -> None:
    row, session = income
    row.person, row.amount = "q", 73912.5
    with pytest.raises(SealedColumnError, match=r"income\.person changed.*insert a new row"):
        session.flush()
