"""Every way to write: right, or refused before anything is sent."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    func,
    insert,
    lambda_stmt,
    literal,
    null,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

from tests.vault.mapping.clinic import Account, Employee, Income, Person
from tests.vault.mapping.driver_spy import DriverSpy
from vault.errors import InvalidValueError, SealedColumnError
from vault.mapping import Sealed, definition_of
from vault.opened import OpenedVault
from vault.sealed.envelope import looks_sealed
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

P = Person.__table__
PLAIN = Table("noted", MetaData(), Column("id", Integer, primary_key=True))
Write = Callable[[Session], Any]

INSERTS: dict[str, Write] = {
    "orm flush": lambda s: (s.add(Person(id=1, ssn="plain§new")), s.flush()),
    "orm flush of many": lambda s: (
        s.add_all([Person(id=n, ssn="plain§new" if n == 1 else f"plain§{n}") for n in (1, 2, 3)]),
        s.flush(),
    ),
    "orm insert values": lambda s: s.execute(insert(Person).values(id=1, ssn="plain§new")),
    "orm insert by attribute": lambda s: s.execute(insert(Person).values({Person.id: 1, Person.ssn: "plain§new"})),
    "orm insert one dict": lambda s: s.execute(insert(Person), {"id": 1, "ssn": "plain§new"}),
    "orm insert list": lambda s: s.execute(insert(Person), [{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": None}]),
    "orm insert returning": lambda s: s.scalars(
        insert(Person).returning(Person), [{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": "plain§2"}]
    ).all(),
    "orm multi values": lambda s: s.execute(
        insert(Person).values([{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": "plain§2"}])
    ),
    "bulk_insert_mappings": lambda s: s.bulk_insert_mappings(
        Person, [{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": "plain§2"}]
    ),
    "bulk_save_objects": lambda s: s.bulk_save_objects([Person(id=1, ssn="plain§new"), Person(id=2)]),
    "core values": lambda s: s.connection().execute(P.insert().values(id=1, ssn="plain§new")),
    "core values by column": lambda s: s.connection().execute(P.insert().values({P.c.id: 1, P.c.ssn: "plain§new"})),
    "core one dict": lambda s: s.connection().execute(P.insert(), {"id": 1, "ssn": "plain§new"}),
    "core list": lambda s: s.connection().execute(
        P.insert(), [{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": "plain§2"}]
    ),
    "core values and dicts": lambda s: s.connection().execute(
        P.insert().values(name="n"), [{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": None}]
    ),
    "core sealed value and dicts": lambda s: s.connection().execute(P.insert().values(ssn="plain§new"), [{"id": 1}]),
    "core multi values": lambda s: s.connection().execute(
        P.insert().values([{"id": 1, "ssn": "plain§new"}, {"id": 2, "ssn": None}])
    ),
    "core multi values by column": lambda s: s.connection().execute(
        P.insert().values([{P.c.id: 1, P.c.ssn: "plain§new"}])
    ),
    "core multi tuples": lambda s: s.connection().execute(
        P.insert().values([(1, "n", "plain§new", None, None, None, None)])
    ),
    "core one tuple": lambda s: s.connection().execute(P.insert().values((1, "n", "plain§new"))),
    "core bindparam": lambda s: s.connection().execute(P.insert().values(id=1, ssn=bindparam("x")), {"x": "plain§new"}),
    "core bindparam list": lambda s: s.connection().execute(
        P.insert().values(id=bindparam("i"), ssn=bindparam("x")), [{"i": 1, "x": "plain§new"}, {"i": 2, "x": "plain§2"}]
    ),
    "core bindparam with a value": lambda s: s.connection().execute(
        P.insert().values(id=1, ssn=bindparam("x", "plain§new"))
    ),
    "core literal": lambda s: s.connection().execute(P.insert().values(id=1, ssn=literal("plain§new"))),
    "core returning": lambda s: (
        s.connection().execute(P.insert().values(id=1, ssn="plain§new").returning(P.c.ssn)).all()
    ),
}


@pytest.mark.parametrize("way", INSERTS)
def test_every_insert_seals_the_value_and_fills_its_term(session: Session, way: str) -> None:
    INSERTS[way](session)
    raw = session.execute(text("SELECT ssn, ssn_bidx_a, ssn_bidx_b FROM person WHERE id = 1")).one()
    assert looks_sealed(bytes(raw.ssn))
    assert raw.ssn_bidx_b is None
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§new")).all() == [1]
    assert session.execute(select(P.c.ssn).where(P.c.id == 1)).scalar_one() == "plain§new"


UPDATES: dict[str, Write] = {
    "attribute": lambda s: (setattr(s.get(Person, 1), "ssn", "plain§new"), s.flush()),
    "orm update": lambda s: s.execute(update(Person).where(Person.id == 1).values(ssn="plain§new")),
    "orm update by attribute": lambda s: s.execute(
        update(Person).where(Person.id == 1).values({Person.ssn: "plain§new"})
    ),
    "orm update fetch": lambda s: s.execute(
        update(Person).where(Person.ssn == "plain§old").values(ssn="plain§new"),
        execution_options={"synchronize_session": "fetch"},
    ),
    "orm update by sealed": lambda s: s.execute(
        update(Person).where(Person.ssn == "plain§old").values(ssn="plain§new")
    ),
    "orm update list": lambda s: s.execute(update(Person), [{"id": 1, "ssn": "plain§new"}]),
    "query update": lambda s: s.query(Person).filter(Person.ssn == "plain§old").update({"ssn": "plain§new"}),
    "bulk_update_mappings": lambda s: s.bulk_update_mappings(Person, [{"id": 1, "ssn": "plain§new"}]),
    "core update": lambda s: s.connection().execute(P.update().where(P.c.id == 1).values(ssn="plain§new")),
    "core update by dict": lambda s: s.connection().execute(P.update().where(P.c.id == 1), {"ssn": "plain§new"}),
    "core ordered values": lambda s: s.connection().execute(
        P.update().where(P.c.id == 1).ordered_values((P.c.name, "n"), (P.c.ssn, "plain§new"))
    ),
    "core update bindparams": lambda s: s.connection().execute(
        P.update().where(P.c.id == bindparam("i")).values(ssn=bindparam("x")),
        [{"i": 1, "x": "plain§new"}, {"i": 7, "x": "plain§7"}],
    ),
    "core update constant and list": lambda s: s.connection().execute(
        P.update().where(P.c.id == bindparam("i")).values(ssn="plain§new"), [{"i": 1}, {"i": 7}]
    ),
    "core update returning": lambda s: (
        s.connection()
        .execute(P.update().where(P.c.ssn == "plain§old").values(ssn="plain§new").returning(P.c.ssn))
        .all()
    ),
}


@pytest.mark.parametrize("way", UPDATES)
def test_k05_01_every_update_changes_value_and_term_together(session: Session, way: str) -> None:
    if way == "core update returning" and session.get_bind().dialect.name == "mariadb":
        pytest.skip("MariaDB's UPDATE has no RETURNING")
    session.add_all([Person(id=1, ssn="plain§old"), Person(id=2, ssn="plain§other")])
    session.commit()
    UPDATES[way](session)
    session.commit()
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§new")).all() == [1]
    assert session.scalars(select(Person.id).where(Person.ssn == "plain§old")).all() == []
    assert [person.ssn for person in session.scalars(select(Person).order_by(Person.id))] == [
        "plain§new",
        "plain§other",
    ]


CLEARS: dict[str, Write] = {
    "attribute": lambda s: (setattr(s.get(Person, 1), "ssn", None), s.flush()),
    "orm update": lambda s: s.execute(update(Person).where(Person.id == 1).values(ssn=None)),
    "orm update null()": lambda s: s.execute(update(Person).where(Person.id == 1).values(ssn=null())),
    "core update": lambda s: s.connection().execute(P.update().where(P.c.id == 1).values(ssn=None)),
    "core list": lambda s: s.connection().execute(
        P.update().where(P.c.id == bindparam("i")).values(ssn=bindparam("x")), [{"i": 1, "x": None}]
    ),
}


@pytest.mark.parametrize("way", CLEARS)
def test_k01_03_clearing_a_field_clears_its_terms(session: Session, way: str) -> None:
    session.add(Person(id=1, ssn="plain§old"))
    session.commit()
    CLEARS[way](session)
    session.commit()
    assert session.execute(text("SELECT ssn, ssn_bidx_a, ssn_bidx_b FROM person")).one() == (None, None, None)


def test_k01_03_some_fields_may_be_set_while_others_are_null(session: Session) -> None:
    person = Person(id=1, ssn="plain§text")
    session.add(person)
    session.commit()
    raw = session.execute(text("SELECT age, age_bidx_a, scan, scan_bidx_a, note FROM person")).one()
    assert raw == (None,) * 5
    person.age = 9173
    session.commit()
    person.ssn = None
    session.commit()
    assert session.execute(text("SELECT ssn, ssn_bidx_a FROM person")).one() == (None, None)
    assert session.scalars(select(Person.age).where(Person.age == 9173)).all() == [9173]


REFUSED: dict[str, Write] = {
    "sql function": lambda s: s.execute(insert(Person).values(id=1, ssn=func.lower("plain§x"))),
    "other column": lambda s: s.execute(update(Person).values(note=Person.ssn)),
    "plain column": lambda s: s.execute(update(Person).values(note=Person.name)),
    "expression on an attribute": lambda s: (s.add(Person(id=1, ssn=func.lower("plain§x"))), s.flush()),
    "subquery": lambda s: s.execute(update(Person).values(note=select(Person.name).limit(1).scalar_subquery())),
    "in multi values": lambda s: s.execute(insert(Person).values([{"id": 1, "ssn": func.lower("plain§x")}])),
    "from select": lambda s: s.execute(insert(Person).from_select(["id", "ssn"], select(Employee.id, Employee.ssn))),
    "terms from select": lambda s: s.execute(
        insert(Person).from_select(["id", "ssn_bidx_a"], select(Employee.id, literal(b"x" * 37)))
    ),
    "in a cte": lambda s: s.execute(select(insert(P).values(id=1, ssn="plain§x").returning(P.c.id).cte())),
    "cleared in a cte": lambda s: s.execute(select(update(P).values(ssn=None).returning(P.c.id).cte())),
    "alias": lambda s: s.connection().execute(update(P.alias()).values(ssn=None)),
    "typed text": lambda s: s.execute(
        text("INSERT INTO person (id, ssn) VALUES (1, :x)").bindparams(bindparam("x", "plain§x", type_=P.c.ssn.type))
    ),
    "term without value": lambda s: s.execute(insert(P).values(id=1, ssn_bidx_a="plain§x")),
    "term of another value": lambda s: s.execute(update(P), {"ssn": "plain§x", "ssn_bidx_a": b"t" * 37}),
    "terms in multi values": lambda s: s.execute(insert(P).values([{"id": 1, "ssn_bidx_a": b"t" * 37}])),
    "lambda": lambda s: s.execute(lambda_stmt(lambda: insert(P).values(id=1, ssn="plain§x"))),
    "lambda that clears": lambda s: s.execute(lambda_stmt(lambda: update(P).values(ssn=None))),
    "another table's column": lambda s: s.execute(update(P).values({Employee.__table__.c.scheme: None})),
    "through a table without sealed columns": lambda s: s.execute(update(PLAIN).values({P.c.ssn: None})),
    "a parameter named as a plain column": lambda s: s.connection().execute(
        insert(P).values(id=1, ssn=bindparam("name")), {"name": "plain§x"}
    ),
    "parameters named as a plain column": lambda s: s.connection().execute(
        update(P).where(P.c.id == bindparam("k")).values(ssn=bindparam("name")),
        [{"k": 1, "name": "plain§x"}, {"k": 2, "name": "plain§y"}],
    ),
    "a parameter named as another sealed column": lambda s: s.connection().execute(
        insert(P).values(id=1, ssn=bindparam("note")), {"note": "plain§x"}
    ),
    "a default beside a select": lambda s: s.execute(insert(ACCOUNT).from_select(["number"], select(P.c.id))),
    "into an alias": lambda s: s.execute(insert(P.alias()).values(ssn=None)),
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_cannot_be_sealed_is_refused_before_it_is_sent(session: Session, spy: DriverSpy, way: str) -> None:
    spy.sent.clear()
    with pytest.raises(SealedColumnError) as refusal:
        REFUSED[way](session)
    assert not [sql for sql, _ in spy.sent if "person" in sql.lower()]
    assert "§" not in str(refusal.value)


def test_a_parameter_may_have_the_sealed_columns_own_name(session: Session) -> None:
    connection = session.connection()
    connection.execute(insert(P).values(id=1, ssn=bindparam("ssn")), {"ssn": "plain§1"})
    connection.execute(
        insert(P).values(id=bindparam("id"), ssn=bindparam("ssn")),
        [{"id": 2, "ssn": "plain§2"}, {"id": 3, "ssn": "plain§3"}],
    )
    connection.execute(update(P).where(P.c.id == 2).values(ssn=bindparam("ssn")), {"ssn": "plain§4"})
    asked = select(P.c.id).where(P.c.ssn.in_(["plain§1", "plain§3", "plain§4"])).order_by(P.c.id)
    assert session.scalars(asked).all() == [1, 2, 3]


def test_a_row_among_several_keeps_the_value_that_it_has_beside_a_default(session: Session) -> None:
    for first, second in (({}, {"pin": "plain§mine"}), ({"pin": "plain§mine"}, {})):
        session.execute(insert(ACCOUNT).values([{"number": 1, **first}, {"number": 2, **second}]))
        pins = session.scalars(select(ACCOUNT.c.pin).order_by(ACCOUNT.c.number)).all()
        assert pins == [row.get("pin", "plain§0000") for row in (first, second)]
        session.rollback()


def test_a_flushed_instance_still_holds_the_plain_value(session: Session) -> None:
    person = Person(ssn="plain§a", age=9173)
    session.add(person)
    session.flush()
    assert (person.ssn, person.age) == ("plain§a", 9173)
    person.ssn = "plain§b"
    session.flush()
    assert person.ssn == "plain§b"
    assert person in session
    assert not session.dirty


def test_what_the_caller_hands_in_is_left_as_it_is(session: Session) -> None:
    rows = [{"id": 1, "ssn": "plain§a"}, {"id": 2, "ssn": "plain§b"}]
    statement = insert(P)
    session.connection().execute(statement, rows)
    assert rows == [{"id": 1, "ssn": "plain§a"}, {"id": 2, "ssn": "plain§b"}]
    assert statement._values is None


def test_k05_04_one_value_has_one_term_in_its_field_and_never_one_ciphertext(session: Session) -> None:
    session.add(Person(id=1, ssn="plain§same", note="plain§same"))
    session.flush()
    session.execute(insert(Person), [{"id": 2, "ssn": "plain§same"}, {"id": 3, "ssn": "plain§same"}])
    session.add(Employee(id=1, ssn="plain§same", plan="plain§same"))
    session.flush()
    rows = session.execute(text("SELECT ssn, ssn_bidx_a FROM person")).all()
    other = session.execute(text("SELECT ssn, ssn_bidx_a, scheme_bidx_a FROM employee")).one()
    assert len({bytes(row.ssn_bidx_a) for row in rows}) == 1
    assert len({bytes(rows[0].ssn_bidx_a), bytes(other.ssn_bidx_a), bytes(other.scheme_bidx_a)}) == 3
    assert len({bytes(row.ssn) for row in [*rows, other]}) == 4


def test_k08_07_the_same_value_is_sealed_anew_each_time(session: Session) -> None:
    session.add_all([Person(id=1, note="plain§x"), Person(id=2, note="plain§x")])
    session.commit()
    seen = {bytes(raw) for raw in session.scalars(text("SELECT note FROM person"))}
    for _ in range(2):
        session.execute(update(Person).where(Person.id == 1).values(note="plain§x"))
        seen.add(bytes(session.scalar(text("SELECT note FROM person WHERE id = 1"))))
    assert len(seen) == 4
    assert len({sealed[6:18] for sealed in seen}) == 4


def test_k08_03_a_value_that_looks_sealed_is_sealed_all_the_same(session: Session, opened: OpenedVault) -> None:
    lookalike = opened.field(definition_of(P.c.scan)).seal(b"x") or b""
    marker = b"\x01\x00abcd" + b"abc" * 20
    password = "plain§dGhpcyBpcyBub3QgYSBzZWFsZWQgdmFsdWUhIQ=="
    session.add_all([Person(id=1, scan=lookalike, ssn=password), Person(id=2, scan=marker)])
    session.execute(insert(P), {"id": 3, "scan": lookalike})
    session.commit()
    raw = {bytes(value) for value in session.scalars(text("SELECT scan FROM person"))}
    assert not raw & {lookalike, marker}
    assert len(raw) == 3
    people = {person.id: person for person in session.scalars(select(Person))}
    assert (people[1].scan, people[2].scan, people[3].scan) == (lookalike, marker, lookalike)
    assert people[1].ssn == password
    assert set(session.scalars(select(Person.id).where(Person.scan == lookalike))) == {1, 3}


def test_a_text_longer_than_its_string_type_is_refused_without_showing_it(session: Session) -> None:
    with pytest.raises(InvalidValueError, match=r"person\.email.*String\(60\)") as refusal:
        session.execute(insert(Person), [{"id": 1, "email": "plain§ok"}, {"id": 2, "email": "plain§" * 61}])
    assert refusal.value.row == 1
    assert "§" not in str(refusal.value)


def test_row_bound_fields_are_bound_by_every_insert(session: Session, opened: OpenedVault) -> None:
    first, second = uuid.uuid4(), uuid.uuid4()
    session.add(Income(id=first, person="p1", amount=73911.25, source="plain§s", ours=9173))
    session.flush()
    table = Income.__table__
    session.execute(
        insert(Income), [{"id": second, "person": "p2", "amount": 73911.25, "source": "plain§s", "ours": 9174}]
    )
    session.execute(insert(Income).values(person="p3", amount=73912.5, source="plain§s", ours=9174))
    session.execute(insert(Income).values([{"person": "p4", "amount": 73912.5, "source": "plain§s", "ours": 9174}]))
    session.connection().execute(insert(table), [{"person": "p5", "amount": 73912.5}, {"person": "p6", "amount": None}])
    session.commit()
    read = session.scalars(select(Income).order_by(Income.person)).all()
    assert [row.amount for row in read] == [73911.25, 73911.25, 73912.5, 73912.5, 73912.5, None]
    assert [row.source for row in read[:4]] == ["plain§s"] * 4
    assert [row.ours for row in read[:4]] == [
        9173,
        9174,
        9174,
        9174,
    ]


def test_a_default_is_sealed_and_bound_on_every_path(session: Session) -> None:
    account = Account(number=1)
    session.add(account)
    session.flush()
    assert account.pin == "plain§0000"
    assert account.tag == b"tag"
    session.execute(insert(Account), [{"number": 2}, {"number": 3}])
    session.execute(insert(Account).values(number=4, pin="plain§4"))
    session.connection().execute(insert(Account.__table__), {"number": 5, "tag": b"own"})
    session.connection().execute(insert(Account.__table__).values([{"number": 6}, {"number": 7}]))
    session.expire_all()
    pins = session.execute(select(Account.number, Account.tag, Account.pin).order_by(Account.number)).all()
    assert [(row.number, bytes(row.tag), row.pin) for row in pins] == [
        (1, b"tag", "plain§0000"),
        (2, b"tag", "plain§0000"),
        (3, b"tag", "plain§0000"),
        (4, b"tag", "plain§4"),
        (5, b"own", "plain§0000"),
        (6, b"tag", "plain§0000"),
        (7, b"tag", "plain§0000"),
    ]


INCOME = Income.__table__
ACCOUNT = Account.__table__
KEY = uuid.UUID(int=7)
BOUND_UPDATES: dict[str, Write] = {
    "attribute": lambda s: (setattr(s.get(Income, KEY), "amount", 73912.5), s.flush()),
    "attribute bound by both": lambda s: (
        setattr(s.get(Income, KEY), "ours", 9174),
        setattr(s.get(Income, KEY), "amount", 73912.5),
        s.flush(),
    ),
    "core pinned": lambda s: s.connection().execute(
        update(INCOME).where(INCOME.c.person == "p").values(amount=73912.5)
    ),
    "core pinned among others": lambda s: s.connection().execute(
        update(INCOME)
        .where(INCOME.c.id == KEY)
        .where((INCOME.c.person == "p") & (INCOME.c.source == "plain§s"))
        .values(amount=73912.5)
    ),
    "core pinned by parameters": lambda s: s.connection().execute(
        update(INCOME).where(INCOME.c.person == bindparam("who")).values(amount=bindparam("x")),
        [{"who": "p", "x": 73912.5}, {"who": "z", "x": 73911.25}],
    ),
    "orm pinned": lambda s: s.execute(update(Income).where(Income.person == "p").values(amount=73912.5)),
}


@pytest.mark.parametrize("way", BOUND_UPDATES)
def test_an_update_of_a_row_bound_field_is_bound_to_the_pinned_row(session: Session, way: str) -> None:
    session.add_all(
        [Income(id=KEY, person="p", amount=73911.25, source="plain§s", ours=9173), Income(person="q", amount=73911.25)]
    )
    session.commit()
    BOUND_UPDATES[way](session)
    session.commit()
    rows = session.execute(select(Income.person, Income.amount).order_by(Income.person)).all()
    assert [tuple(row) for row in rows] == [("p", 73912.5), ("q", 73911.25)]
    assert session.scalars(select(Income.ours).where(Income.id == KEY)).one() in (9173, 9174)


BOUND_REFUSED: dict[str, Write] = {
    "many rows": lambda s: s.execute(update(Income).values(amount=73912.5)),
    "by another column": lambda s: s.execute(update(Income).where(Income.id == KEY).values(amount=73912.5)),
    "by or": lambda s: s.execute(
        update(Income).where((Income.person == "p") | (Income.id == KEY)).values(amount=73912.5)
    ),
    "by in": lambda s: s.execute(update(Income).where(Income.person.in_(["p"])).values(amount=73912.5)),
    "half of the key": lambda s: s.execute(update(Income).where(Income.id == KEY).values(ours=9174)),
    "moving the row": lambda s: s.execute(update(Income).where(Income.id == KEY).values(person="q")),
    "moving by attribute": lambda s: (setattr(s.get(Income, KEY), "person", "q"), s.flush()),
    "moving and changing": lambda s: (
        setattr(s.get(Income, KEY), "person", "q"),
        setattr(s.get(Income, KEY), "amount", 73912.5),
        s.flush(),
    ),
    "moving in bulk": lambda s: s.execute(update(Income), [{"id": KEY, "person": "q"}]),
    "bulk by key of another": lambda s: s.execute(update(Income), [{"id": KEY, "amount": 73912.5}]),
    "insert without the key": lambda s: s.execute(insert(Income).values(amount=73912.5)),
    "insert with NULL": lambda s: s.execute(insert(Income), [{"person": None, "amount": 73912.5}]),
    "core insert without the key": lambda s: s.connection().execute(INCOME.insert(), [{"amount": 73912.5}]),
}


@pytest.mark.parametrize("way", BOUND_REFUSED)
def test_a_row_bound_field_is_not_written_without_its_row(session: Session, spy: DriverSpy, way: str) -> None:
    session.add(Income(id=KEY, person="p", amount=73911.25, ours=9173))
    session.commit()
    with pytest.raises(SealedColumnError) as refusal:
        BOUND_REFUSED[way](session)
    session.rollback()
    assert "73912" not in str(refusal.value)
    assert session.execute(select(Income.person, Income.amount, Income.ours)).one() == ("p", 73911.25, 9173)


def test_a_bulk_update_by_key_works_where_the_key_binds(session: Session) -> None:
    session.add(Income(id=KEY, person="p", source="plain§s"))
    session.commit()
    session.execute(update(Income), [{"id": KEY, "source": "plain§t"}])
    session.commit()
    assert session.scalars(select(Income.id).where(Income.source == "plain§t")).all() == [KEY]
    assert session.get_one(Income, KEY).source == "plain§t"


def test_clearing_a_row_bound_field_needs_no_row(session: Session) -> None:
    session.add(Income(id=KEY, person="p", amount=73911.25))
    session.commit()
    session.execute(update(Income).values(amount=None))
    session.commit()
    assert session.execute(text("SELECT amount, amount_bidx_a FROM income")).one() == (None, None)


def test_other_columns_change_without_sealing(quick: Engine) -> None:
    with Session(quick) as session:
        session.add(Person(id=1, name="n", ssn="plain§a"))
        session.commit()
        before = session.execute(text("SELECT ssn FROM person")).scalar_one()
        session.get_one(Person, 1).name = "m"
        session.execute(update(Person).values(name="o"))
        session.commit()
        assert session.execute(text("SELECT ssn FROM person")).scalar_one() == before


def test_a_column_key_that_is_not_its_name_is_followed(quick: Engine) -> None:
    table = Table(
        "keyed",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("k name", String(9), key="k"),
        Column("sealed name", Sealed(Text, index=BlindIndex(), bind="k"), key="s"),
    )
    table.metadata.create_all(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"k": "p", "s": "plain§a"}, {"k": "q", "s": "plain§b"}])
        connection.execute(insert(table).values(k="r", s="plain§c"))
        connection.execute(update(table).where(table.c.k == "q").values(s="plain§d"))
        assert connection.scalars(select(table.c.s).order_by(table.c.id)).all() == ["plain§a", "plain§d", "plain§c"]
        assert connection.scalars(select(table.c.k).where(table.c.s == "plain§d")).all() == ["q"]
