"""find() and find_all(), behind each database: rows by terms that unequal values share, opened and compared."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    Column,
    Engine,
    ForeignKey,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    bindparam,
    case,
    delete,
    event,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from tests.sizes import sized
from tests.vault.mapping.ward import Base, Doctor, Patient
from vault import BlindIndex, Sealed, find, find_all, term_columns, via
from vault.errors import DefinitionError, InvalidValueError, SealedColumnError
from vault.rows.raw_table import raw_table

pytestmark = pytest.mark.databases_in_turn

T = Patient.__table__
Again = aliased(Patient)
VALUES = [f"plain§{n:03}" for n in range(300)]


@pytest.fixture
def engine(clinic: Engine) -> Iterator[Engine]:
    Base.metadata.create_all(clinic)
    yield clinic
    Base.metadata.drop_all(clinic)


@pytest.fixture
def ward(engine: Engine) -> Iterator[Session]:
    with Session(engine) as session:
        yield session


def fill(session: Session) -> None:
    """300 values under 256 possible terms, so that some are shared for certain; two rows have NULL."""
    session.execute(insert(Patient), [{"id": n, "code": value, "ward": n % 3} for n, value in enumerate(VALUES)])
    session.execute(insert(Patient), [{"id": 1000}, {"id": 1001}])


def ids(found: Any) -> list[int]:
    return [patient.id for patient in found]


def test_k04_07_a_truncated_index_finds_exactly_the_rows_that_have_the_value(ward: Session) -> None:
    fill(ward)
    shared = ward.execute(
        select(T.c.code_bidx_a, func.count()).group_by(T.c.code_bidx_a).having(func.count() > 1)
    ).all()
    assert shared, "no two of 300 values share one of 256 terms"
    for n, value in enumerate(VALUES):
        assert ids(find_all(ward, Patient, by={Patient.code: value}, rows_a_page=2)) == [n]
    assert find(ward, Patient, by={Patient.code: "plain§nobody"}) is None


REFUSED = {
    "!=": lambda: select(Patient.id).where(Patient.code != "plain§"),
    "==": lambda: select(Patient.id).where(Patient.code == "plain§"),
    "in": lambda: select(Patient.id).where(Patient.code.in_(["plain§"])),
    "update": lambda: update(Patient).where(Patient.code == "plain§").values(ward=9),
    "delete": lambda: delete(Patient).where(Patient.code == bindparam("x")),
    "partial": lambda: select(Patient.id).where(Patient.card == "plain§"),
    "join of terms": lambda: select(Patient.id).join(
        other := aliased(Patient), term_columns(Patient.code)[0] == other.__table__.c.code_bidx_a
    ),
    "self-join": lambda: select(Patient.id).join(Again, Patient.code == Again.code),
    "tuples of terms": lambda: select(T.c.id).where(
        tuple_(T.c.code_bidx_a, T.c.ward) == tuple_((other := T.alias()).c.code_bidx_a, other.c.ward)
    ),
    "tuples in a subquery": lambda: select(T.c.id).where(
        tuple_(T.c.code_bidx_a, T.c.ward).in_(select((other := T.alias()).c.code_bidx_a, other.c.ward))
    ),
    "terms in CASE": lambda: select(
        case({(other := T.alias()).c.code_bidx_a: 1}, value=T.c.code_bidx_a, else_=0)
    ).join_from(T, other, T.c.id == other.c.id),
    "terms of two indexes": lambda: select(T.c.id).where(T.c.name_bidx_a == T.c.email_bidx_a),
}


@pytest.mark.parametrize("way", REFUSED)
def test_k04_07_whatever_else_asks_a_truncated_or_partial_index_is_refused(engine: Engine, way: str) -> None:
    with Session(engine) as session:
        with pytest.raises(SealedColumnError, match=r"find_all\(\)|scope") as refusal:
            session.execute(REFUSED[way](), {"x": "plain§"} if way == "delete" else {})
        assert "§" not in str(refusal.value)


def test_count_limit_and_offset_are_of_the_rows_that_have_the_value(ward: Session) -> None:
    for n in range(30):
        ward.add(Patient(id=n, code=VALUES[n % 2], ward=n % 3))
    ward.flush()
    wanted = list(range(0, 30, 2))
    found = find_all(ward, Patient, by={Patient.code: VALUES[0]}, rows_a_page=3)
    assert (found.count(), ids(found), ids(found)) == (15, wanted, wanted)
    for limit, offset in ((4, 0), (4, 4), (4, 13), (0, 0), (100, 0), (1, 100)):
        page = find_all(ward, Patient, by={Patient.code: VALUES[0]}, limit=limit, offset=offset, rows_a_page=3)
        assert ids(page) == wanted[offset : offset + limit]
        assert page.count() == 15
    third = find_all(ward, Patient, Patient.ward == 0, by={Patient.code: VALUES[0]})
    assert ids(third) == [n for n in wanted if n % 3 == 0]


def test_memory_holds_one_page_and_no_page_is_read_in_vain(ward: Session, engine: Engine) -> None:
    ward.execute(insert(Patient), [{"id": n, "code": VALUES[0]} for n in range(100)])
    sent: list[str] = []
    rows: list[int] = []

    def count(_connection: Any, _cursor: Any, sql: str, _parameters: Any, _context: Any, _many: bool) -> None:
        sent.append(sql)

    event.listen(engine, "before_cursor_execute", count)
    looked = engine.dialect.name == "postgresql"  # first whether they are few
    try:
        for patient in find_all(ward, Patient, by={Patient.code: VALUES[0]}, rows_a_page=10):
            rows.append(patient.id)
            assert len(sent) == looked + (len(rows) - 1) // 10 + 1
        sent.clear()
        assert find(ward, Patient, by={Patient.code: VALUES[0]}) is not None
        assert len(sent) == looked + 1
    finally:
        event.remove(engine, "before_cursor_execute", count)
    assert rows == list(range(100))


def test_through_an_exact_index_no_more_rows_are_read_than_are_wanted(
    ward: Session, engine: Engine, request: pytest.FixtureRequest
) -> None:
    ward.execute(insert(Patient), [{"id": n, "name": VALUES[0]} for n in range(99, -1, -1)])
    loaded: list[object] = []

    def note(patient: object, _context: Any) -> None:
        loaded.append(patient)

    event.listen(Patient, "load", note)
    request.addfinalizer(lambda: event.remove(Patient, "load", note))
    looked = 9 if engine.dialect.name == "postgresql" else 0  # for whether they are few
    found = find(ward, Patient, by={Patient.name: VALUES[0]})
    assert found is not None
    assert (found.id, len(loaded)) == (0, looked + 1)
    loaded.clear()
    ward.expunge_all()
    assert ids(find_all(ward, Patient, by={Patient.name: VALUES[0]}, limit=20, offset=1)) == list(range(1, 21))
    assert len(loaded) <= (22 + 21 if looked else 21)
    third = find_all(ward, Patient, by={Patient.name: VALUES[0]}, offset=3)
    first, none = third.first(), find_all(ward, Patient, by={Patient.name: VALUES[0]}, limit=0).first()
    assert first is not None
    assert (first.id, none) == (3, None)


def test_a_value_under_anothers_term_is_passed_over_by_an_exact_index_too(ward: Session) -> None:
    """Terms can be moved in the database; what is opened counts."""
    ward.execute(insert(Patient), [{"id": 1, "name": VALUES[1]}, {"id": 2, "name": VALUES[0]}])
    stored = ward.scalar(select(T.c.name_bidx_a).where(T.c.id == 2))
    table = raw_table(T)
    ward.execute(table.update().where(table.c.id == 1).values(name_bidx_a=stored))
    found = find(ward, Patient, by={Patient.name: VALUES[0]})
    assert found is not None
    assert found.id == 2


def test_a_row_that_comes_or_goes_between_pages_neither_shifts_nor_repeats_another(ward: Session) -> None:
    ward.execute(insert(Patient), [{"id": n, "code": VALUES[0]} for n in range(10, 20)])
    seen = []
    for patient in find_all(ward, Patient, by={Patient.code: VALUES[0]}, rows_a_page=3):
        seen.append(patient.id)
        if patient.id == 12:
            ward.execute(delete(Patient).where(Patient.id == 10))
            ward.execute(insert(Patient).values(id=5, code=VALUES[0]))
    assert seen == list(range(10, 20))


def test_partial_indexes_find_by_a_part(ward: Session) -> None:
    ward.add_all(
        [
            Patient(id=1, card="4929 1111 2222 3333", email="Ann@Clinic.Example", born=date(1980, 5, 17)),
            Patient(id=2, card="5555-0000-1111-3333", email="bob@clinic.example.", born=date(1980, 6, 1)),
            Patient(id=3, card="123", email="no address", born=date(1981, 5, 17)),
        ]
    )
    ward.flush()

    def by(column: Any, index: str, part: Any) -> list[int]:
        return ids(find_all(ward, Patient, by={column: via(index, part)}))

    assert by(Patient.card, "last4", "3333") == [1, 2]
    assert by(Patient.email, "at", "CLINIC.example") == by(Patient.email, "at", "x@clinic.example") == [1, 2]
    assert (
        by(Patient.born, "y", 1980)
        == by(Patient.born, "y", "1980")
        == by(Patient.born, "y", date(1980, 1, 1))
        == [1, 2]
    )
    assert by(Patient.born, "m", "1980-05") == by(Patient.born, "m", date(1980, 5, 2)) == [1]
    assert by(Patient.email, "bidx", " ANN@clinic.example") == [1]
    assert by(Patient.email, "spelled", "ann@clinic.example") == []
    terms = ward.execute(select(T.c.card_last4_a, T.c.email_at_a).where(T.c.id == 3)).one()
    assert tuple(terms) == (None, None), "a value without the part has no term"
    for column, index, part in (
        (Patient.card, "last4", "33"),
        (Patient.born, "y", "80"),
        (Patient.born, "m", "1980-13"),
    ):
        with pytest.raises(InvalidValueError) as refusal:
            by(column, index, part)
        assert part not in str(refusal.value)


def test_the_first_full_length_index_answers_equality_however_many_there_are(ward: Session) -> None:
    ward.add(Patient(id=1, email="Ann@clinic.example"))
    ward.flush()
    assert ward.scalars(select(Patient.id).where(Patient.email == "ann@CLINIC.example")).all() == [1]
    assert ids(find_all(ward, Patient, by={Patient.email: "ann@CLINIC.example"})) == [1]


def test_several_conditions_all_hold_and_a_table_gives_dictionaries(ward: Session, engine: Engine) -> None:
    ward.add_all([Patient(id=n, code=VALUES[n % 2], card=f"{n % 3:04}") for n in range(12)])
    ward.commit()
    by = {"code": VALUES[0], "card": via("last4", "0001")}
    assert ids(find_all(ward, Patient, by=by)) == [4, 10]
    with engine.connect() as connection:
        rows = list(find_all(connection, T, by=by))
    assert [row["id"] for row in rows] == [4, 10]
    assert rows[0] == {
        "id": 4, "ward": None, "code": VALUES[0], "card": "0001", "email": None, "name": None, "born": None,
    }  # fmt: skip


def test_a_row_bound_field_is_found_by_a_truncated_index(ward: Session) -> None:
    ward.add_all([Doctor(id=n, number=n, pair=VALUES[n]) for n in range(40)])
    ward.flush()
    assert [doctor.id for doctor in find_all(ward, Doctor, by={Doctor.pair: VALUES[7]}, rows_a_page=2)] == [7]


def test_a_key_that_does_not_come_back_as_stored_ends_the_walk_with_an_error(quick: Engine) -> None:
    table = Table(
        "measured",
        MetaData(),
        Column("at", Numeric(9, 3), primary_key=True),
        Column("x", Sealed(Text, index=BlindIndex(bits=4))),
    )
    table.metadata.create_all(quick)
    with quick.begin() as connection:
        connection.execute(insert(table), [{"at": Decimal(n) + Decimal("0.0004"), "x": "plain§"} for n in range(5)])
        assert len(list(find_all(connection, table, by={"x": "plain§"}))) == 5
        with pytest.raises(SealedColumnError, match="does not come back as it is stored"):
            find_all(connection, table, by={"x": "plain§"}, rows_a_page=2).count()


class Family(DeclarativeBase):
    pass


class Vehicle(Family):
    __tablename__ = "vehicle"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(10))
    plate: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(bits=4)))
    __mapper_args__: ClassVar[dict[str, Any]] = {"polymorphic_on": kind, "polymorphic_identity": "vehicle"}


class Bicycle(Vehicle):
    __mapper_args__: ClassVar[dict[str, Any]] = {"polymorphic_identity": "bicycle"}


class Car(Vehicle):
    __tablename__ = "car"
    id: Mapped[int] = mapped_column(ForeignKey("vehicle.id"), primary_key=True)
    engine: Mapped[str | None] = mapped_column(Sealed(Text, index=BlindIndex(), bind="id"))
    __mapper_args__: ClassVar[dict[str, Any]] = {"polymorphic_identity": "car"}


@pytest.mark.parametrize("rows_a_page", [2, 500])
def test_a_subclass_is_counted_as_it_is_found_without_its_siblings_rows(quick: Engine, rows_a_page: int) -> None:
    Family.metadata.create_all(quick)
    with Session(quick) as session:
        session.add_all([Vehicle(id=n, plate="plain§") for n in range(3)])
        session.add_all([Bicycle(id=n, plate="plain§") for n in range(3, 7)])
        session.add_all([Car(id=n, plate="plain§", engine="plain§e") for n in range(7, 12)])
        session.flush()
        asked: list[tuple[type[Vehicle], Any, range]] = [
            (Vehicle, {Vehicle.plate: "plain§"}, range(12)),
            (Bicycle, {Bicycle.plate: "plain§"}, range(3, 7)),
            (Car, {Car.plate: "plain§"}, range(7, 12)),
            (Car, {Car.engine: "plain§e"}, range(7, 12)),
            (Car, {Car.plate: "plain§", Car.engine: "plain§e"}, range(7, 12)),
        ]
        for model, by, wanted in asked:
            found = find_all(session, model, by=by, rows_a_page=rows_a_page)
            assert (ids(found), found.count()) == (list(wanted), len(wanted)), (model, by)


def test_what_cannot_be_found_says_what_to_do(ward: Session) -> None:
    wrong: list[tuple[dict[Any, Any], str]] = [
        ({}, "need by="),
        ({Patient.ward: 1}, "names 'ward', which is no sealed column"),
        ({Doctor.who: "plain§"}, "names 'who'"),
        ({Patient.card: "plain§"}, "only partial indexes: name one by via"),
        ({Patient.code: None}, r"is_\(None\)"),
        ({Patient.code: via("bidx", None)}, r"is_\(None\)"),
        ({Patient.code: Patient.card}, "plain value"),
        ({"whole": {"name": "plain§"}}, "each of its columns, name, born"),
    ]
    for by, said in wrong:
        with pytest.raises(SealedColumnError, match=said) as refusal:
            find_all(ward, Patient, by=by)
        assert "§" not in str(refusal.value)
    with pytest.raises(DefinitionError, match="no index 'rough'; there are: bidx"):
        find_all(ward, Patient, by={Patient.code: via("rough", "plain§")})
    with pytest.raises(SealedColumnError, match="a session and a mapped class"):
        find_all(ward.connection(), Patient, by={Patient.code: "plain§"})
    assert "§" not in repr(via("bidx", "plain§"))


def test_a_term_that_was_exchanged_by_hand_finds_nothing_wrong(ward: Session) -> None:
    ward.add_all([Patient(id=1, code=VALUES[1], name="plain§one"), Patient(id=2, code=VALUES[2], name="plain§two")])
    ward.commit()
    terms = {row.id: row.name_bidx_a for row in ward.execute(select(T.c.id, T.c.name_bidx_a))}
    connection = ward.connection()
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    connection.exec_driver_sql(f"UPDATE ward_patient SET name_bidx_a = {mark} WHERE id = 1", (terms[2],))
    assert ids(find_all(ward, Patient, by={Patient.name: "plain§two"})) == [2]
    assert ward.get_one(Patient, 1).name == "plain§one"


def test_rows_are_unique_by_several_columns_together(ward: Session) -> None:
    ward.add_all([Patient(id=1, name="plain§Ann", born=date(1980, 1, 1)), Patient(id=2, name="plain§Ann")])
    ward.add(Patient(id=3, name="plain§Ann"))
    ward.commit()
    ward.add(Patient(id=4, name="plain§ANN", born=date(1980, 1, 1)))
    with pytest.raises(IntegrityError):
        ward.flush()


@settings(max_examples=sized(6, 15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 7), st.integers(0, 12))
def test_any_page_size_finds_the_same_rows(quick: Engine, values: list[int], rows_a_page: int, asked: int) -> None:
    Base.metadata.drop_all(quick)
    Base.metadata.create_all(quick)
    with Session(quick) as session:
        session.add_all([Patient(id=n, code=f"plain§{value}") for n, value in enumerate(values)])
        session.flush()
        found = find_all(session, Patient, by={Patient.code: f"plain§{asked}"}, rows_a_page=rows_a_page)
        assert ids(found) == [n for n, value in enumerate(values) if value == asked]
