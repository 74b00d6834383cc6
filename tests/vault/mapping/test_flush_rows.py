"""What a flush knows of the row that it updates."""

import uuid
from typing import Any, ClassVar

import pytest
from sqlalchemy import Connection, Engine, String, Text, insert, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.vault.mapping.clinic import Account, Income, Letter, Person, Staff
from vault.errors import SealedColumnError
from vault.mapping import Sealed, flush_rows
from vault.mapping.flush_rows import known_row

pytestmark = pytest.mark.databases_in_turn

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


def test_a_key_of_a_related_object_made_in_the_same_flush_binds(session: Session) -> None:
    session.add_all([Letter(body="plain§1", person=Person(name="n")), Letter(body="plain§2", person=Person(name="m"))])
    session.commit()
    letters = session.scalars(select(Letter).order_by(Letter.id)).all()
    assert [letter.body for letter in letters] == ["plain§1", "plain§2"]
    letters[0].body = "plain§3"
    session.commit()
    assert session.scalars(select(Letter.body).where(Letter.id == letters[0].id)).one() == "plain§3"
    letters[0].person = letters[1].person
    with pytest.raises(SealedColumnError, match=r"letter\.person_id cannot change"):
        session.commit()


def test_a_joined_subclass_is_sealed_in_both_its_tables(session: Session) -> None:
    session.add_all([Staff(ssn="plain§a", plan="plain§p", badge="plain§b"), Staff(plan="plain§q", badge="plain§c")])
    session.commit()
    one = session.scalars(select(Staff).where(Staff.badge == "plain§b", Staff.ssn == "plain§a")).one()
    assert (one.plan, one.badge) == ("plain§p", "plain§b")
    one.badge, one.plan = "plain§d", "plain§e"
    session.commit()
    session.expire_all()
    assert (one.plan, one.badge) == ("plain§e", "plain§d")
    assert session.scalars(select(Staff.plan).where(Staff.badge == "plain§d")).all() == ["plain§e"]


def test_merging_an_object_seals_it(session: Session) -> None:
    session.merge(Person(id=1, ssn="plain§a"))
    session.commit()
    session.merge(Person(id=1, ssn="plain§b"))
    session.commit()
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§b")).all() == [1]


def test_a_joined_subclass_is_sealed_in_bulk(session: Session) -> None:
    rows = [{"id": n, "ssn": f"plain§{n}", "plan": "plain§p", "badge": f"plain§b{n}"} for n in (1, 2)]
    session.execute(insert(Staff), rows)
    session.execute(update(Staff), [{"id": 1, "ssn": "plain§x", "badge": "plain§y"}])
    session.commit()
    found = session.scalars(select(Staff).where(Staff.ssn == "plain§x", Staff.badge == "plain§y")).one()
    assert (found.id, found.plan) == (1, "plain§p")
    assert session.scalars(select(Staff.badge).where(Staff.ssn == "plain§2")).all() == ["plain§b2"]


def test_classes_in_one_table_leave_each_others_columns_alone(quick: Engine) -> None:
    class Own(DeclarativeBase):
        pass

    class Paper(Own):
        __tablename__ = "paper"
        id: Mapped[int] = mapped_column(primary_key=True)
        kind: Mapped[str] = mapped_column(String(9))
        owner: Mapped[str] = mapped_column(String(9))
        text: Mapped[str | None] = mapped_column(Sealed(Text, bind="owner"))
        __mapper_args__: ClassVar = {"polymorphic_on": "kind", "polymorphic_identity": "paper"}

    class Bill(Paper):
        sum: Mapped[str | None] = mapped_column(Sealed(Text, bind="owner"), default="plain§sum")
        __mapper_args__: ClassVar = {"polymorphic_identity": "bill"}

    class Form(Paper):
        field: Mapped[str | None] = mapped_column(Sealed(Text, bind="owner"), default="plain§field")
        __mapper_args__: ClassVar = {"polymorphic_identity": "form"}

    Own.metadata.create_all(quick)
    with Session(quick) as session:
        bill, form = Bill(owner="o", text="plain§1"), Form(owner="o")
        session.add_all([Paper(owner="o", text="plain§0"), bill, form])
        session.commit()
        bill.text, form.field = "plain§2", "plain§3"
        session.commit()
        assert (bill.text, bill.sum, form.field) == ("plain§2", "plain§sum", "plain§3")
        assert len(session.scalars(select(Paper)).all()) == 3
