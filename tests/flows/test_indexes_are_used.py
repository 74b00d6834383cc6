"""What each database says of its plan: questions of sealed columns go through the index of the term, with or without
statistics, and those of find() do not walk the table for a rare value."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest
from sqlalchemy import BigInteger, Connection, Engine, Index, Text, create_engine, event, insert, select, text
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.servers import mariadb, postgres
from tests.servers.databases import DATABASES, need_database
from vault import CompoundIndex, equal_together, find, find_all, term_columns
from vault.attaching import attach
from vault.mapping import Sealed
from vault.opened import OpenedVault
from vault.rows.raw_table import raw_table
from vault.terms.term import BlindIndex

ROWS = 12_000
PAGE = 20
Sent = tuple[str, Any]


class Base(DeclarativeBase):
    pass


UNKNOWN = {"postgresql_with": {"autovacuum_enabled": "false"}}
"""No statistics are made behind the test's back."""


class Member(Base):
    __tablename__ = "plan_member"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(scope="plan")))
    number: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(), unique=True))
    town: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(bits=20)))
    __table_args__ = (CompoundIndex("both", "name", "town"), UNKNOWN)


class Visit(Base):
    __tablename__ = "plan_visit"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    who: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(scope="plan")))
    mail: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(bits=20)))
    __table_args__ = (UNKNOWN,)


ORDERED = "plan_visit_mail_in_key_order"
Index(ORDERED, term_columns(Visit.mail)[0], Visit.id)


def town(n: int) -> str:
    """A third of all rows is of one town, 40 rows of another, the others each of their own."""
    return "plain§common" if n % 3 == 0 else "plain§some" if n % 200 == 7 else f"plain§{n}"


class Laden:
    """A database with the tables full; sent: the statements that reached it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sent: list[Sent] = []
        event.listen(engine, "before_cursor_execute", self._note)

    def _note(self, _connection: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, _many: bool) -> None:
        self.sent.append((sql, parameters))

    def plans(self, ask: Callable[[Session], object]) -> list[str]:
        """What the database says of each statement that is sent meanwhile, as text."""
        self.sent.clear()
        with Session(self.engine) as session:
            ask(session)
        sent = [*self.sent]
        with self.engine.connect() as connection:
            return [plan(connection, *one) for one in sent]


def plan(connection: Connection, sql: str, parameters: Any) -> str:
    how = {"postgresql": "EXPLAIN (FORMAT JSON)", "sqlite": "EXPLAIN QUERY PLAN"}.get(
        connection.dialect.name, "EXPLAIN"
    )
    rows = connection.exec_driver_sql(f"{how} {sql}", parameters).all()
    if connection.dialect.name == "postgresql":
        return json.dumps(rows[0][0])
    return "\n".join(str(tuple(row)) for row in rows)


@contextmanager
def full(url: str, opened: OpenedVault, like: Laden | None = None) -> Iterator[Laden]:
    """like: a database whose rows, as they are stored, are put into this one: to seal them takes longer."""
    engine = create_engine(url)
    attach(engine, opened)
    Base.metadata.create_all(engine)
    if like is not None:
        for table in map(raw_table, Base.metadata.sorted_tables):
            with like.engine.connect() as source, engine.begin() as connection:
                stored = [dict(row) for row in source.execute(select(table)).mappings()]
                assert len(stored) == ROWS
                connection.execute(insert(table), stored)
        yield Laden(engine)
        engine.dispose()
        return
    rows = [{"id": n, "name": f"plain§{n}", "number": f"plain§{n}", "town": town(n)} for n in range(ROWS)]
    visits = [{"id": n, "who": f"plain§{n // 2}", "mail": town(n)} for n in range(ROWS)]
    with engine.begin() as connection:
        connection.execute(insert(Member), rows)
        connection.execute(insert(Visit), visits)
    yield Laden(engine)
    engine.dispose()


@pytest.fixture(scope="module")
def full_sqlite(opened: OpenedVault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laden]:
    with full(f"sqlite:///{tmp_path_factory.mktemp('plans') / 'plans.db'}", opened) as laden:
        yield laden


@pytest.fixture(scope="module")
def full_postgres(opened: OpenedVault, full_sqlite: Laden, postgres_server_url: str) -> Iterator[Laden]:
    with postgres.fresh_database(postgres_server_url) as url, full(url, opened, full_sqlite) as laden:
        yield laden


@pytest.fixture(scope="module")
def full_mariadb(opened: OpenedVault, full_sqlite: Laden, mariadb_server_url: str) -> Iterator[Laden]:
    with mariadb.fresh_database(mariadb_server_url) as url, full(url, opened, full_sqlite) as laden:
        yield laden


@pytest.fixture(params=DATABASES)
def laden(request: pytest.FixtureRequest) -> Laden:
    """Without statistics until a test makes them, which come last."""
    need_database(request.node, request.param)
    laden: Laden = request.getfixturevalue(f"full_{request.param}")
    return laden


def asked(condition: Any) -> Callable[[Session], object]:
    return lambda session: session.scalars(select(Member.id).where(condition())).all()


def found(by: Callable[[], dict[Any, Any]]) -> Callable[[Session], object]:
    return lambda session: list(find_all(session, Member, by=by(), rows_a_page=PAGE))


QUESTIONS: dict[str, tuple[str, Callable[[Session], object]]] = {
    "==": ("plan_member_name_bidx_a", asked(lambda: Member.name == "plain§77")),
    "in": ("plan_member_name_bidx_a", asked(lambda: Member.name.in_(["plain§77", "plain§78", "plain§79"]))),
    "unique ==": ("plan_member_number_bidx_a", asked(lambda: Member.number == "plain§77")),
    "together": ("plan_member_both_a", asked(lambda: equal_together(Member, "both", {"name": "plain§8", "town": "x"}))),
    "join": (
        "plan_visit_who_bidx_a",
        lambda session: session.execute(
            select(Member.id, Visit.id).join(Visit, Member.name == Visit.who).where(Member.id == 77)
        ).all(),
    ),
    "find": ("plan_member_name_bidx_a", lambda session: find(session, Member, by={Member.name: "plain§77"})),
    "find truncated": ("plan_member_town_bidx_a", lambda session: find(session, Member, by={Member.town: "plain§77"})),
    "find nobody": ("plan_member_town_bidx_a", lambda session: find(session, Member, by={Member.town: "plain§no"})),
    "find together": (
        "plan_member_both_a",
        lambda session: find(session, Member, by={"both": {"name": "plain§77", "town": "plain§77"}}),
    ),
    "find_all": ("plan_member_name_bidx_a", found(lambda: {Member.name: "plain§77"})),
    "find_all truncated": ("plan_member_town_bidx_a", found(lambda: {Member.town: "plain§77"})),
    "every page, in order": (
        ORDERED,
        lambda session: list(find_all(session, Visit, by={Visit.mail: "plain§some"}, rows_a_page=PAGE)),
    ),
}


def check(laden: Laden, question: str) -> list[str]:
    index, ask = QUESTIONS[question]
    plans = laden.plans(ask)
    wanted = (index, "plan_visit_mail_bidx_a") if index == ORDERED else (index,)
    for one in plans:
        assert any(name in one for name in wanted), one
        assert "Seq Scan" not in one, one
        assert "SCAN" not in one, one
        assert "'ALL'" not in one, one
    assert plans
    return plans


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_goes_through_its_index_without_statistics(laden: Laden, question: str) -> None:
    check(laden, question)


@pytest.fixture
def known(laden: Laden) -> Laden:
    """With statistics."""
    with laden.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in Base.metadata.sorted_tables:
            word = "ANALYZE TABLE" if connection.dialect.name == "mysql" else "ANALYZE"
            connection.execute(text(f"{word} {table.name}"))
    return laden


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_goes_through_its_index_with_statistics(known: Laden, question: str) -> None:
    check(known, question)


def test_pages_of_what_several_rows_have_go_through_the_index_of_the_term(known: Laden) -> None:
    plans = known.plans(found(lambda: {Member.town: "plain§some"}))
    assert len(plans) == 3 + (known.engine.dialect.name == "postgresql")
    assert all("plan_member_town_bidx_a" in one for one in plans), plans


def test_the_next_page_of_a_term_that_many_rows_have_is_read_in_key_order(known: Laden) -> None:
    """By an index that has the key too: no page sorts, and none reads rows of another term."""

    def three_pages(session: Session) -> object:
        everyone = find_all(session, Visit, by={Visit.mail: "plain§common"}, rows_a_page=PAGE)
        return list(islice(everyone, 3 * PAGE))

    ordered = known.plans(three_pages)[-3:]
    for one in ordered:
        assert not any(word in one for word in ("Sort", "TEMP B-TREE", "filesort", "'ALL'")), one
    if known.engine.dialect.name == "postgresql":
        assert all(ORDERED in one or "plan_visit_pkey" in one for one in ordered), ordered


@pytest.mark.postgres
def test_an_upsert_on_a_unique_term_is_judged_by_its_index(full_postgres: Laden) -> None:
    """Only PostgreSQL tells."""
    statement = postgres_insert(Member).values(id=1, name="plain§", number="plain§77", town="plain§")
    target = term_columns(Member.number)[:1]
    [upsert] = full_postgres.plans(
        lambda session: session.execute(statement.on_conflict_do_nothing(index_elements=target))
    )
    assert '"Conflict Arbiter Indexes": ["ix_plan_member_number_bidx_a"]' in upsert
