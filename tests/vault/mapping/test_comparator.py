"""Every way to ask: the right rows, or an error that names the remedy."""

# ruff: noqa: PLC3002  # a called lambda names a subquery within one expression of a table of statements

import pickle
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    exists,
    func,
    insert,
    lambda_stmt,
    literal,
    null,
    select,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    joinedload,
    mapped_column,
    selectinload,
    with_loader_criteria,
)

from kms import Keyring, KeyStore, KmsError, open_provider
from kms.providers.local import create_key_file
from tests.kms.manual_clock import ManualClock
from tests.vault.mapping.clinic import Base, Employee, Income, Person, Visit
from tests.vault.mapping.driver_spy import DriverSpy
from vault.attaching import attach
from vault.errors import InvalidValueError, SealedColumnError
from vault.mapping import Sealed, term_columns
from vault.mapping.asked import Asked
from vault.normalise import casefold
from vault.opened import OpenedVault
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

P = Person.__table__
Other = aliased(Person)


@pytest.fixture
def people(session: Session) -> Session:
    """1: a, 2: b, 3: c, 4: NULL; with a visit of 1 and of 2, and an e-mail address in capitals."""
    session.add_all(
        [
            Person(
                id=1, name="n1", ssn="plain§a", email="plain§ANN@x", age=9173, visits=[Visit(id=1, reason="plain§r")]
            ),
            Person(
                id=2, name="n2", ssn="plain§b", email="plain§bob@x", age=9174, visits=[Visit(id=2, reason="plain§s")]
            ),
            Person(id=3, name="n3", ssn="plain§c"),
            Person(id=4),
        ]
    )
    session.commit()
    return session


ASKED: dict[str, tuple[Callable[[], Any], set[int]]] = {
    "equal": (lambda: Person.ssn == "plain§a", {1}),
    "equal, value first": (lambda: "plain§a" == Person.ssn, {1}),  # noqa: SIM300
    "unequal": (lambda: Person.ssn != "plain§a", {2, 3}),
    "not equal": (lambda: ~(Person.ssn == "plain§a"), {2, 3}),
    "nothing equal": (lambda: Person.ssn == "plain§zz", set()),
    "in": (lambda: Person.ssn.in_(["plain§a", "plain§c", "plain§zz"]), {1, 3}),
    "in a set": (lambda: Person.ssn.in_({"plain§a", "plain§c"}), {1, 3}),
    "in nothing": (lambda: Person.ssn.in_([]), set()),
    "in with None": (lambda: Person.ssn.in_(["plain§a", None]), {1}),
    "in only None": (lambda: Person.ssn.in_([None]), set()),
    "not in": (lambda: Person.ssn.not_in(["plain§a"]), {2, 3}),
    "not in with None": (lambda: Person.ssn.not_in(["plain§a", None]), {2, 3}),
    "not in nothing": (lambda: Person.ssn.not_in([]), {1, 2, 3, 4}),
    "== None": (lambda: Person.ssn == None, {4}),  # noqa: E711
    "!= None": (lambda: Person.ssn != None, {1, 2, 3}),  # noqa: E711
    "== null()": (lambda: Person.ssn == null(), {4}),
    "is None": (lambda: Person.ssn.is_(None), {4}),
    "is not None": (lambda: Person.ssn.is_not(None), {1, 2, 3}),
    "no index, is None": (lambda: Person.note.is_(None), {1, 2, 3, 4}),
    "integer": (lambda: Person.age == 9174, {2}),
    "integer in": (lambda: Person.age.in_([9173, 9174]), {1, 2}),
    "folded case": (lambda: Person.email == "plain§ann@X", {1}),
    "and": (lambda: (Person.ssn == "plain§a") & (Person.name == "n1"), {1}),
    "or": (lambda: (Person.ssn == "plain§a") | (Person.ssn == "plain§b"), {1, 2}),
    "core column": (lambda: P.c.ssn == "plain§a", {1}),
    "literal": (lambda: Person.ssn == literal("plain§a"), {1}),
    "bindparam with a value": (lambda: Person.ssn == bindparam("x", "plain§a"), {1}),
    "bindparam list": (lambda: Person.ssn.in_(bindparam("x", ["plain§a", "plain§b"], expanding=True)), {1, 2}),
    "exists": (lambda: exists().where(Visit.person_id == Person.id, Visit.reason == "plain§r"), {1}),
    "any": (lambda: Person.visits.any(Visit.reason == "plain§s"), {2}),
    "in a subquery": (lambda: Person.id.in_(select(Visit.person_id).where(Visit.reason == "plain§r")), {1}),
    "filter_by": (lambda: Person.ssn.in_(("plain§c",)), {3}),
}


@pytest.mark.parametrize("way", ASKED)
def test_k04_01_a_question_finds_its_rows_cold_and_from_the_cache(people: Session, way: str) -> None:
    ask, expected = ASKED[way]
    for _ in range(2):
        assert set(people.scalars(select(Person.id).where(ask()))) == expected


STATEMENTS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "alias": (lambda: select(Other.id).where(Other.ssn == "plain§b"), [2]),
    "core alias": (lambda: (lambda a: select(a.c.id).where(a.c.ssn == "plain§b"))(P.alias()), [2]),
    "self-join": (lambda: select(Person.id, Other.id).join(Other, Person.ssn == Other.ssn).where(Person.id == 1), [1]),
    "join": (lambda: select(Visit.id).join(Visit.person).where(Person.ssn == "plain§b"), [2]),
    "joinedload": (
        lambda: select(Person).options(joinedload(Person.visits)).where(Person.ssn == "plain§a"),
        ["plain§a"],
    ),
    "joinedload and": (
        lambda: select(Person).options(joinedload(Person.visits.and_(Visit.reason == "plain§r"))).where(Person.id == 1),
        ["plain§a"],
    ),
    "selectinload": (
        lambda: select(Person).options(selectinload(Person.visits)).where(Person.ssn == "plain§a"),
        ["plain§a"],
    ),
    "joinedload limit": (
        lambda: select(Person).options(joinedload(Person.visits)).order_by(Person.id).limit(1),
        ["plain§a"],
    ),
    "criteria": (lambda: select(Person).options(with_loader_criteria(Person, Person.ssn == "plain§b")), ["plain§b"]),
    "criteria by lambda": (
        lambda: select(Person).options(with_loader_criteria(Person, lambda cls: cls.ssn == "plain§b")),
        ["plain§b"],
    ),
    "subquery": (
        lambda: (lambda q: select(q.c.ssn).where(q.c.id == 1))(select(P.c.id, P.c.ssn).subquery()),
        ["plain§a"],
    ),
    "subquery with terms": (
        lambda: (lambda q: select(q.c.id).where(q.c.ssn == "plain§a"))(
            select(P.c.id, P.c.ssn, *term_columns(P.c.ssn)).subquery()
        ),
        [1],
    ),
    "cte": (lambda: (lambda q: select(q.c.ssn))(select(Person.ssn).where(Person.ssn == "plain§c").cte()), ["plain§c"]),
    "entity of a subquery": (
        lambda: select(aliased(Person, select(Person).where(Person.ssn == "plain§c").subquery())),
        ["plain§c"],
    ),
    "union all": (
        lambda: select(Person.ssn).where(Person.id == 1).union_all(select(Person.ssn).where(Person.id == 2)),
        ["plain§a", "plain§b"],
    ),
    "scalar subquery": (lambda: select(select(Person.ssn).where(Person.id == 2).scalar_subquery()), ["plain§b"]),
    "count": (lambda: select(func.count(Person.ssn)), [3]),
    "count of rows": (lambda: select(func.count()).select_from(Person).where(Person.ssn != "plain§a"), [2]),
    "label": (lambda: select(Person.ssn.label("x")).where(Person.id == 1), ["plain§a"]),
    "group by term": (
        lambda: select(func.max(Person.id)).group_by(term_columns(P.c.ssn)[0]).where(Person.id < 4),
        [1, 2, 3],
    ),
    "distinct of a plain column": (lambda: select(Person.name).distinct().where(Person.ssn == "plain§a"), ["n1"]),
    "contains_eager": (lambda: select(Visit).join(Visit.person).where(Person.ssn.in_(["plain§a"])), [None]),
}


@pytest.mark.parametrize("way", STATEMENTS)
def test_a_statement_around_a_sealed_column_works_cold_and_from_the_cache(people: Session, way: str) -> None:
    make, expected = STATEMENTS[way]
    for _ in range(2):
        people.expunge_all()
        found = people.scalars(make()).unique().all()
        values = [getattr(one, "ssn", None) if isinstance(one, Person | Visit) else one for one in found]
        assert sorted(values, key=str) == expected


def test_parameters_given_at_execution_are_asked_by_term(people: Session) -> None:
    one = select(Person.id).where(Person.ssn == bindparam("x"))
    many = select(Person.id).where(Person.ssn.in_(bindparam("x", expanding=True)))
    assert [people.scalars(one, {"x": value}).all() for value in ("plain§a", "plain§b", "plain§zz")] == [[1], [2], []]
    assert set(people.scalars(many, {"x": ["plain§a", "plain§c", None]})) == {1, 3}
    with pytest.raises(SealedColumnError, match="is_"):
        people.scalars(one, {"x": None})


def test_k04_03_without_an_index_equality_is_refused_and_the_remedy_is_named(people: Session) -> None:
    assert people.scalars(select(Person.id).where(Person.ssn == "plain§a")).all() == [1]
    for ask in (
        lambda: Person.note == "plain§x",
        lambda: Person.note != "plain§x",
        lambda: Person.note.in_(["plain§x"]),
    ):
        with pytest.raises(
            SealedColumnError, match=r"person\.note has no index: declare Sealed\(..., index=BlindIndex"
        ):
            ask()


def test_k04_07_a_truncated_index_does_not_answer_equality() -> None:
    table = Table("t", MetaData(), Column("x", Sealed(Text, index=BlindIndex(bits=8))))
    with pytest.raises(SealedColumnError, match="truncated"):
        _ = table.c.x == "plain§a"


def test_the_first_full_length_index_answers(quick: Engine) -> None:
    narrow, wide = BlindIndex(bits=8, name="narrow"), BlindIndex(casefold, name="wide")
    table = Table(
        "t", MetaData(), Column("id", Integer, primary_key=True), Column("x", Sealed(Text, index=[narrow, wide]))
    )
    table.metadata.create_all(quick)
    with quick.begin() as connection:
        connection.execute(table.insert(), [{"x": "plain§A"}, {"x": "plain§b"}])
        assert connection.scalars(select(table.c.id).where(table.c.x == "plain§a")).all() == [1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c < "plain§m",
        lambda c: c <= "plain§m",
        lambda c: c > "plain§m",
        lambda c: c >= "plain§m",
        lambda c: c.between("plain§a", "plain§b"),
        lambda c: c.like("plain§%"),
        lambda c: c.ilike("plain§%"),
        lambda c: c.startswith("plain§"),
        lambda c: c.contains("plain§"),
        lambda c: c.regexp_match("plain§"),
        lambda c: c + "plain§",
        lambda c: "plain§" + c,
        lambda c: c.concat("plain§"),
        lambda c: c.collate("C"),
        lambda c: c.desc(),
        lambda c: c.asc(),
        lambda c: c.nulls_last(),
        lambda c: c.distinct(),
        lambda c: c.is_distinct_from("plain§a"),
        lambda c: c.is_("plain§a"),
        lambda c: c.op("~")("plain§a"),
        lambda c: c.in_(select(Employee.ssn)),
        lambda c: c.in_("plain§a"),
        lambda c: c.in_([func.lower("plain§a")]),
        lambda c: -c,
        lambda c: c["x"],
    ],
)
def test_k04_05_an_operator_that_cannot_work_is_refused_when_it_is_written(ask: Callable[[Any], Any]) -> None:
    for column in (Person.ssn, P.c.ssn, P.alias().c.ssn):
        with pytest.raises(
            SealedColumnError, match=r"person\.ssn.*(filter in Python|sort in Python|term|list)"
        ) as refusal:
            ask(column)
        assert "§" not in str(refusal.value)


def test_a_subquery_without_the_terms_says_to_select_them() -> None:
    subquery = select(Person.id, Person.ssn).subquery()
    with pytest.raises(SealedColumnError, match="select ssn_bidx_a too"):
        _ = subquery.c.ssn == "plain§a"


def test_comparing_columns_never_raises_where_it_is_written() -> None:
    assert not (Person.ssn == Person.note)  # noqa: SIM201
    assert bool(P.c.ssn == P.c.ssn)
    assert len({P.c.ssn: 1, P.c.note: 2, P.c.id: 3}) == 3


def test_k04_09_a_lambda_with_a_value_from_its_closure_finds_the_right_row(people: Session, spy: DriverSpy) -> None:
    def found(value: str) -> list[int]:
        statement = lambda_stmt(lambda: select(Person.id))
        statement += lambda s: s.where(Person.ssn == value)
        return list(people.scalars(statement))

    def found_in(values: list[str]) -> set[int]:
        return set(people.scalars(lambda_stmt(lambda: select(Person.id).where(Person.ssn.in_(values)))))

    assert [found(value) for value in ("plain§a", "plain§b", "plain§zz", "plain§a")] == [[1], [2], [], [1]]
    assert [found_in(values) for values in (["plain§a"], ["plain§b", "plain§c"], [])] == [{1}, {2, 3}, set()]
    assert not spy.saw_plaintext()


def test_k06_01_models_of_like_shape_keep_their_own_terms_in_one_cache(quick: Engine) -> None:
    with Session(quick) as session:
        session.add_all([Person(id=1, ssn="plain§a"), Employee(id=2, ssn=" plain§a ", plan="plain§p")])
        session.commit()
        before = len(quick._compiled_cache)  # type: ignore[arg-type]
        for _ in range(500):
            assert session.scalars(select(Person.id).where(Person.ssn == "plain§a")).all() == [1]
            assert session.scalars(select(Employee.id).where(Employee.ssn == "plain§a")).all() == [2]
        assert len(quick._compiled_cache) - before == 2  # type: ignore[arg-type]


def test_k06_04_no_value_and_no_key_is_in_a_statement(quick: Engine) -> None:
    statement = select(Person.id).where(Person.ssn == "plain§a", Person.age.in_([9173]))
    key = statement._generate_cache_key()
    assert key is not None
    for shown in (
        str(statement),
        repr(statement),
        repr(key),
        str(statement.compile(quick).params),
        repr(statement.whereclause),
    ):
        assert "§" not in shown
        assert not re.search(r"\b9173\b", shown), "alone: an object's address may hold these digits"
    written = statement.compile(quick, compile_kwargs={"literal_binds": True}).string
    assert "not written" in written
    assert "§" not in written
    with pytest.raises(TypeError):
        pickle.dumps(Asked("plain§a"))


def test_a_value_that_the_field_cannot_hold_is_named_by_kind_only(people: Session) -> None:
    with pytest.raises(InvalidValueError, match=r"person\.ssn: str/1 holds str, not int"):
        people.scalars(select(Person.id).where(Person.ssn == 9173))


def test_threads_ask_at_once(clinic: Engine) -> None:
    with Session(clinic) as session:
        session.add_all([Person(id=n, ssn=f"plain§{n}") for n in range(1, 9)])
        session.commit()
    wrong: list[Any] = []

    def ask(n: int) -> None:
        with Session(clinic) as session:
            for _ in range(20):
                found = session.scalars(select(Person.id).where(Person.ssn == f"plain§{n}")).all()
                wrong.extend([] if found == [n] else [found])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_row_bound_fields_are_asked_like_others(session: Session) -> None:
    session.add_all([Income(person="p", amount=73911.25, source="plain§s"), Income(person="q", amount=73912.5)])
    session.commit()
    assert session.scalars(select(Income.person).where(Income.amount == 73911.25)).all() == ["p"]
    assert session.scalars(select(Income).where(Income.source == "plain§s")).one().amount == 73911.25


def test_a_wide_integer_is_a_sealed_integer() -> None:
    assert Sealed(BigInteger).python_type is int


def test_a_key_that_cannot_be_had_while_asking_is_the_keyrings_own_error(tmp_path: Path) -> None:
    create_key_file(tmp_path / "kek")
    store, clock = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}"), ManualClock()
    store.create_schema()
    keyring = Keyring.create(store, open_provider(f"local:{tmp_path / 'kek'}"), "main", clock=clock, refresh=False)
    engine = create_engine(f"sqlite:///{tmp_path / 'clinic.db'}")
    attach(engine, OpenedVault(keyring, store))
    Base.metadata.create_all(engine)
    asked = select(Person.id).where(Person.ssn == "s3cr3t")
    with engine.connect() as connection:
        assert connection.execute(asked).all() == []
        store.close()
        for file in tmp_path.glob("keys.db*"):
            file.unlink()
        (tmp_path / "keys.db").mkdir()
        clock.advance(4000)
        with pytest.raises(KmsError) as failure:
            connection.execute(asked)
    assert "s3cr3t" not in str(failure.value)


def test_a_hybrid_property_that_works_on_objects_only_stops_no_bulk_insert(quick: Engine) -> None:
    class Own(DeclarativeBase):
        pass

    class Rider(Own):
        __tablename__ = "rider"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        name: Mapped[str] = mapped_column(Sealed(Text))

        @hybrid_property
        def greeting(self) -> str:
            return self.name + "!"

        @hybrid_property
        def is_ann(self) -> bool:
            return self.name == "plain§Ann"

    Own.metadata.create_all(quick)
    with Session(quick) as session:
        session.execute(insert(Rider), [{"id": n, "name": "plain§Ann"} for n in (1, 2)])
        assert [(one.greeting, one.is_ann) for one in session.scalars(select(Rider))] == [("plain§Ann!", True)] * 2
        with pytest.raises(SealedColumnError, match=r"rider\.name is sealed, \+ cannot work"):
            select(Rider.greeting)
        with pytest.raises(SealedColumnError, match=r"rider\.name has no index"):
            select(Rider).where(Rider.is_ann)
