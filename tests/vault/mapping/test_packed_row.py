"""Reading row-bound fields: from wherever the key is in reach, and from nowhere else."""

# ruff: noqa: PLC3002  # a called lambda names a subquery within one expression of a table of statements

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    create_engine,
    insert,
    literal,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects import oracle
from sqlalchemy.orm import Session, aliased, defer, load_only

from tests.vault.mapping.clinic import Account, Income, Letter, Person
from vault import attach
from vault.errors import CannotOpenError, RowBindingError, SealedColumnError
from vault.mapping import Sealed
from vault.opened import OpenedVault

pytestmark = pytest.mark.databases_in_turn

T = Income.__table__
Other = aliased(Income)
ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture
def incomes(session: Session) -> Session:
    session.add_all(
        [
            Income(id=ONE, person="p", amount=73911.25, source="plain§1", ours=9173),
            Income(id=TWO, person="q ", amount=73912.5),
        ]
    )
    session.commit()
    return session


READS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "column": (lambda: select(Income.amount), [73911.25, 73912.5]),
    "entity": (lambda: select(Income), [73911.25, 73912.5]),
    "alias": (lambda: select(Other), [73911.25, 73912.5]),
    "core table": (lambda: select(T.c.amount), [73911.25, 73912.5]),
    "core alias": (lambda: select(T.alias().c.amount), [73911.25, 73912.5]),
    "label": (lambda: select(Income.amount.label("x")), [73911.25, 73912.5]),
    "subquery": (lambda: (lambda q: select(q.c.amount))(select(Income).subquery()), [73911.25, 73912.5]),
    "renamed": (
        lambda: (lambda q: select(q.c.a))(select(T.c.amount.label("a"), T.c.person.label("b")).subquery()),
        [73911.25, 73912.5],
    ),
    "cte": (lambda: (lambda q: select(q.c.amount))(select(T).cte()), [73911.25, 73912.5]),
    "union all": (
        lambda: union_all(select(T.c.amount).where(T.c.id == ONE), select(T.c.amount).where(T.c.id == TWO)),
        [73911.25, 73912.5],
    ),
    "self-join": (lambda: select(Other.amount).join(Income, Income.id != Other.id), [73911.25, 73912.5]),
    "entity of a subquery": (lambda: select(aliased(Income, select(Income).subquery())), [73911.25, 73912.5]),
    "by uuid": (lambda: select(Income.source).where(Income.id == ONE), ["plain§1"]),
    "by both": (lambda: select(Income.ours).where(Income.id == ONE), [9173]),
    "load_only": (lambda: select(Income).options(load_only(Income.amount)), [73911.25, 73912.5]),
    "deferred": (lambda: select(Income).options(defer(Income.amount)), [73911.25, 73912.5]),
    "limit": (lambda: select(Income).order_by(Income.id).limit(1), [73911.25]),
}


@pytest.mark.parametrize("way", READS)
def test_a_row_bound_field_reads_where_its_key_is_in_reach(incomes: Session, way: str) -> None:
    make, expected = READS[way]
    for _ in range(2):
        incomes.expunge_all()
        found = [one.amount if isinstance(one, Income) else one for one in incomes.scalars(make())]
        assert sorted(found) == expected


REFUSED: dict[str, Callable[[], Any]] = {
    "subquery": lambda: (lambda q: select(q.c.amount))(select(T.c.amount).subquery()),
    "other occurrence": lambda: (lambda a, q: select(q(a).c.amount))(
        T.alias(), lambda a: select(a.c.person, T.c.amount).subquery()
    ),
    "scalar subquery": lambda: select(select(T.c.amount).limit(1).scalar_subquery()),
    "union": lambda: (lambda q: select(q.c.amount))(
        union_all(select(T.c.amount, T.c.person), select(T.c.amount, literal("p"))).subquery()
    ),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_key_out_of_reach_is_asked_for(incomes: Session, way: str) -> None:
    with pytest.raises(SealedColumnError, match=r"income\.amount is bound to its row: select person beside it"):
        incomes.execute(REFUSED[way]())


def test_what_is_returned_by_a_write_is_opened(incomes: Session) -> None:
    three = uuid.UUID(int=3)
    written = incomes.execute(
        insert(T).values(id=three, person="r", amount=73911.25, ours=9174).returning(T.c.amount, T.c.ours)
    ).one()
    assert tuple(written) == (73911.25, 9174)
    rows = [{"id": uuid.UUID(int=n), "person": "s", "amount": 73911.25} for n in (4, 5)]
    assert [one.amount for one in incomes.scalars(insert(Income).returning(Income), rows)] == [73911.25] * 2


def test_k08_01_a_sealed_value_moved_to_another_row_does_not_open(incomes: Session) -> None:
    incomes.execute(
        text("UPDATE income SET amount = (SELECT amount FROM income WHERE person = 'p') WHERE person = 'q '")
    )
    with pytest.raises(CannotOpenError, match=r"income\.amount"):
        incomes.execute(select(Income.amount)).all()
    assert incomes.scalars(select(Income.amount).where(Income.person == "p")).all() == [73911.25]
    assert incomes.scalars(select(Income.source).where(Income.id == ONE)).all() == ["plain§1"]


def test_a_key_that_became_null_is_named(incomes: Session) -> None:
    incomes.execute(text("UPDATE income SET person = NULL"))
    with pytest.raises((RowBindingError, CannotOpenError), match=r"income\.amount"):
        incomes.execute(select(Income.amount)).all()


def test_every_kind_of_bound_column_comes_back_as_it_was(database_url: str, opened: OpenedVault) -> None:
    table = Table(
        "kinds",
        MetaData(),
        Column("n", Integer, primary_key=True, autoincrement=False),
        Column("t", String(30), nullable=False),
        Column("u", Uuid, nullable=False),
        Column("w", Uuid(native_uuid=False), nullable=False),
        Column("b", LargeBinary, nullable=False),
        Column("x", Sealed(Text, bind=("n", "t", "u", "w", "b"))),
    )
    engine = create_engine(database_url)
    attach(engine, opened)
    table.metadata.create_all(engine)
    rows = [
        {"n": n, "t": t, "u": uuid.UUID(int=2**127 + abs(n)), "w": uuid.UUID(int=abs(n)), "b": b, "x": "plain§"}
        for n, t, b in (
            (0, "", b"\0"),
            (-5, "é∆ 😀.", b""),
            (2**31 - 1, "a.b  ", bytes(range(256))),
            (-(2**31), "\n'", b"."),
        )
    ]
    with engine.begin() as connection:
        connection.execute(insert(table), rows)
        assert connection.scalars(select(table.c.x)).all() == ["plain§"] * 4
    engine.dispose()


FORGED = {
    "number": ("'1_000'", "'abc'", "x'31303030'", "1000.5", "NULL"),
    "name": ("x'416e6e'", "NULL", "x'ff'"),
    "empty": ("x''", "NULL"),
    "tag": ("'t'", "NULL"),
    "hollow": ("''", "NULL"),
    "uuid": ("'{00000000}'", "x'00000000000000000000000000000001'", "1", "NULL"),
}


@pytest.mark.parametrize("column", FORGED)
def test_k08_01_what_sqlite_keeps_as_another_type_is_another_row(quick: Engine, column: str) -> None:
    table = Table(
        f"typed_by_{column}",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("number", Integer),
        Column("name", String(9)),
        Column("empty", String(9)),
        Column("tag", LargeBinary),
        Column("hollow", LargeBinary),
        Column("uuid", Uuid),
        Column("x", Sealed(Text, bind=column)),
    )
    table.metadata.create_all(quick)
    row = {"number": 1000, "name": "Ann", "empty": "", "tag": b"t", "hollow": b"", "uuid": ONE, "x": "plain§"}
    with quick.begin() as connection:
        connection.execute(insert(table), row)
        assert connection.scalars(select(table.c.x)).all() == ["plain§"]
        for forged in FORGED[column]:
            connection.execute(text(f"UPDATE {table.name} SET {column} = {forged}"))
            with pytest.raises(
                RowBindingError, match=rf"{table.name}\.x: is bound to its row by {column}, and {column} is"
            ):
                connection.scalars(select(table.c.x)).all()


def test_bytes_that_bind_are_bytes_in_every_driver(session: Session) -> None:
    session.add(Account(number=5, tag=b"\x00\xff", pin="plain§"))
    session.commit()
    assert session.scalars(select(Account.pin)).all() == ["plain§"]


def test_textual_sql_that_reads_a_row_bound_value_alone_is_told_what_to_write(incomes: Session) -> None:
    with pytest.raises(SealedColumnError, match=r"income\.amount is bound to its row.*use select\(\)"):
        incomes.scalars(select(Income).from_statement(text("SELECT * FROM income"))).all()


def test_another_database_is_refused_in_words() -> None:
    with pytest.raises(SealedColumnError, match="PostgreSQL, MariaDB and SQLite"):
        select(T.c.amount).compile(dialect=oracle.dialect())


def test_an_engine_reads_what_another_connection_wrote(quick: Engine) -> None:
    with Session(quick) as session:
        session.add(Income(id=ONE, person="p", amount=73911.25))
        session.commit()
    with quick.connect() as connection:
        assert connection.execute(select(T.c.person, T.c.amount)).one() == ("p", 73911.25)


def test_an_outer_join_without_a_row_reads_null(session: Session) -> None:
    """Each kind of bound column: int, UUID with text, and int with bytes."""
    session.add(Person(id=1, name="lonely"))
    session.flush()
    for other, condition in (
        (Letter.body, Letter.person_id == Person.id),
        (Income.source, Income.person == Person.name),
        (Account.pin, Account.number == Person.id),
    ):
        assert session.execute(select(Person.id, other).outerjoin(other.class_, condition)).all() == [(1, None)]


@pytest.mark.mariadb
def test_a_value_that_mariadb_cannot_give_with_its_row_is_not_taken_for_null(
    mariadb_url: str, opened: OpenedVault
) -> None:
    """What is longer than max_allowed_packet becomes NULL there, with a warning that nobody reads."""
    table = Table(
        "large",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("x", Sealed(Text, bind="id")),
    )
    engine = create_engine(mariadb_url)
    attach(engine, opened)
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        largest = connection.scalar(text("SELECT @@max_allowed_packet")) or 0
        connection.execute(insert(table), {"id": 1, "x": "plain§"})
        fill = text("UPDATE large SET x = CONCAT(x, REPEAT('x', :most - LENGTH(x)))")
        connection.execute(fill, {"most": largest - 12})  # 8 digits, a dot, a digit, a colon, the key
        with pytest.raises(CannotOpenError):
            connection.execute(select(table.c.x)).all()
        connection.execute(fill, {"most": largest - 11})
        with pytest.raises(SealedColumnError, match="longer than MariaDB's max_allowed_packet"):
            connection.execute(select(table.c.x)).all()
    engine.dispose()
