"""Asking by mode: one question has one answer in every mode, and what the sealed column refuses is refused in each."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import and_, bindparam, exists, func, lambda_stmt, literal, not_, or_, select, text
from sqlalchemy.orm import Session, aliased, joinedload, selectinload, subqueryload

from tests.vault.mapping.migrating import Kinds, Migration, Patient, Stay
from vault.errors import SealedColumnError
from vault.mapping import find, find_all, term_columns, via
from vault.mapping.ask_by_mode import AskedPlaintext
from vault.modes.mode import Mode

pytestmark = pytest.mark.databases_in_turn

ANN, BEN, CLEO = "plain§ann", "plain§ben", "plain§cleo"
other = aliased(Patient)
inner = select(Patient.id, Patient.ssn, term_columns(Patient.ssn)[0]).subquery()
modes = pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)

# Of rows 1 (ANN), 2 (BEN), 3 (NULL).
QUESTIONS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "==": (lambda: select(Patient.id).where(Patient.ssn == ANN), [1]),
    "!=": (lambda: select(Patient.id).where(Patient.ssn != ANN), [2]),
    "not ==": (lambda: select(Patient.id).where(not_(Patient.ssn == ANN)), [2]),
    "not !=": (lambda: select(Patient.id).where(~(Patient.ssn != ANN)), [1]),
    "== None": (lambda: select(Patient.id).where(Patient.ssn == None), [3]),  # noqa: E711
    "is not": (lambda: select(Patient.id).where(Patient.ssn.is_not(None)), [1, 2]),
    "in": (lambda: select(Patient.id).where(Patient.ssn.in_([ANN, BEN, CLEO])), [1, 2]),
    "in nothing": (lambda: select(Patient.id).where(Patient.ssn.in_([])), []),
    "in with None": (lambda: select(Patient.id).where(Patient.ssn.in_([ANN, None])), [1]),
    "not in": (lambda: select(Patient.id).where(Patient.ssn.not_in([ANN, None])), [2]),
    "and, or": (
        lambda: select(Patient.id).where(or_(Patient.ssn == BEN, and_(Patient.ssn == ANN, Patient.id == 1))),
        [1, 2],
    ),
    "named parameter": (lambda: select(Patient.id).where(Patient.ssn == bindparam("s", ANN)), [1]),
    "expanding": (
        lambda: select(Patient.id).where(Patient.ssn.in_(bindparam("s", [ANN, BEN], expanding=True))), [1, 2]),
    "lambda": (lambda: lambda_stmt(lambda: select(Patient.id).where(Patient.ssn == ANN)), [1]),
    "value": (lambda: select(Patient.ssn).order_by(Patient.id), [ANN, BEN, None]),
    "label": (lambda: select(Patient.ssn.label("x")).where(Patient.id == 1), [ANN]),
    "count": (lambda: select(func.count(Patient.ssn)), [2]),
    "alias": (lambda: select(other.ssn).where(other.ssn == ANN), [ANN]),
    "self-join": (lambda: select(other.ssn).join(Patient, Patient.ssn == other.ssn).order_by(other.id), [ANN, BEN]),
    "subquery": (lambda: select(inner.c.ssn).where(inner.c.ssn == ANN), [ANN]),
    "cte": (lambda: select(select(Patient.id, Patient.ssn).cte().c.ssn), [ANN, BEN, None]),
    "scalar subquery": (lambda: select(select(Patient.ssn).where(Patient.id == 1).scalar_subquery()), [ANN]),
    "exists": (
        lambda: select(Stay.patient_id).where(exists().where(Stay.patient_id == Patient.id, Patient.ssn == ANN)), [1]),
    "any": (lambda: select(Patient.id).where(Patient.stays.any()), [1]),
    "has": (lambda: select(Stay.patient_id).where(Stay.patient.has(Patient.ssn == ANN)), [1]),
    "union all": (
        lambda: select(Patient.ssn).where(Patient.id == 1).union_all(select(Patient.ssn).where(Patient.id == 2)),
        [ANN, BEN],
    ),
    "row-bound": (lambda: select(Stay.reason), ["plain§reason"]),
    "row-bound in a subquery": (lambda: select(select(Stay.id, Stay.reason).subquery().c.reason), ["plain§reason"]),
    "joined": (lambda: select(Stay).options(joinedload(Stay.patient)), ["plain§reason", ANN]),
    "joined, with a condition": (
        lambda: select(Stay).options(joinedload(Stay.patient.and_(Patient.ssn == ANN))),
        ["plain§reason", ANN],
    ),
    "joined, limited": (
        lambda: select(Patient).options(joinedload(Patient.stays)).order_by(Patient.id).limit(1),
        [ANN, "plain§reason"],
    ),
    "select in": (lambda: select(Stay).options(selectinload(Stay.patient)), ["plain§reason", ANN]),
    "subquery load": (lambda: select(Patient).options(subqueryload(Patient.stays)).where(Patient.ssn == ANN),
                      [ANN, "plain§reason"]),
    "lazy": (lambda: select(Stay), ["plain§reason", ANN]),
    "from statement": (
        lambda: select(Patient).from_statement(select(Patient).where(Patient.ssn == BEN)), [BEN]),
}  # fmt: skip


@pytest.fixture
def patients(migration: Migration) -> Migration:
    """Whose rows have both values, as after a backfill."""
    migration.modes.set(Mode.DUAL_READ_SEALED)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=1, ssn=ANN), Patient(id=2, ssn=BEN), Patient(id=3)])
        session.flush()
        session.add(Stay(patient_id=1, reason="plain§reason"))
        session.commit()
    return migration


def paste(migration: Migration) -> None:
    """Other plaintexts than were written, past the mapping."""
    with migration.engine.begin() as connection:
        for key in (1, 2, 3):
            connection.execute(text("UPDATE patient SET ssn = :v WHERE id = :k"), {"v": f"plain§pasted{key}", "k": key})
        connection.execute(text("UPDATE stay SET reason = 'pasted'"))


def told(found: Any) -> Any:
    """What one result says: of an object its values, with those of what is loaded with it."""
    if isinstance(found, Stay):
        return [found.reason, *([found.patient.ssn] if found.patient else [])]
    if isinstance(found, Patient):
        return [found.ssn, *(stay.reason for stay in found.stays)]
    return [found]


@modes
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_one_answer_in_every_mode(patients: Migration, mode: Mode, question: str) -> None:
    """Built anew, and again from the cache. In the sealed modes a DBA has pasted plaintexts, which are no values."""
    patients.modes.set(mode)
    if mode.reads_sealed:
        paste(patients)
    build, answer = QUESTIONS[question]
    patients.spy.sent.clear()
    for _ in range(2):
        with Session(patients.engine) as session:
            rows = session.scalars(build()).unique().all()
            assert sorted(map(str, (part for row in rows for part in told(row)))) == sorted(map(str, answer))
    assert not (mode.reads_sealed and patients.spy.saw_plaintext())


@modes
@pytest.mark.parametrize(
    "condition",
    [
        lambda: select(Patient.id).where(Patient.ssn.like("plain%")),
        lambda: select(Patient.id).where(Patient.ssn.startswith("plain")),
        lambda: select(Patient.id).where(Patient.ssn > ANN),
        lambda: select(Patient.id).where(Patient.ssn.between(ANN, BEN)),
        lambda: select(Patient.id).order_by(Patient.ssn),
        lambda: select(Patient.ssn).distinct(),
        lambda: select(func.lower(Patient.ssn)),
        lambda: select(func.max(Patient.ssn)),
        lambda: select(Patient.id).where(literal(ANN) == Patient.ssn),
        lambda: select(Patient.id).where(Patient.ssn == Patient.name),
        lambda: select(Patient.id).where(Patient.ssn.in_(select(Patient.name))),
        lambda: select(Stay.id).where(Stay.reason == ANN),
        lambda: select(Patient.id).where(Patient.ssn == bindparam("s", None)),
        lambda: select(Patient.id).where(or_(Patient.ssn == bindparam("s", ANN), Patient.name == bindparam("s", ANN))),
    ],
)
def test_what_the_sealed_column_refuses_is_refused_in_every_mode(
    patients: Migration, mode: Mode, condition: Callable[[], Any]
) -> None:
    patients.modes.set(mode)
    patients.spy.sent.clear()
    with Session(patients.engine) as session, pytest.raises(SealedColumnError):
        session.execute(condition())
    assert not patients.spy.saw_plaintext()


@modes
@pytest.mark.parametrize(
    "named",
    [
        lambda: select(Patient.__table__.c.ssn),
        lambda: select(Patient.id).where(Patient.__table__.c.ssn == ANN),
        lambda: select(Patient.id).order_by(Patient.__table__.c.ssn),
        lambda: select(func.lower(Patient.__table__.alias().c.ssn)),
        lambda: select(select(Patient.__table__.c.ssn).subquery()),
    ],
)
def test_no_statement_names_the_plaintext_column(patients: Migration, mode: Mode, named: Callable[[], Any]) -> None:
    patients.modes.set(mode)
    with Session(patients.engine) as session, pytest.raises(SealedColumnError, match="name the sealed column"):
        session.execute(named())


def test_terms_are_named_from_the_mode_on_that_reads_sealed_values(patients: Migration) -> None:
    term = term_columns(Patient.ssn)[0]
    groups = select(func.count()).select_from(Patient).where(term.is_not(None)).group_by(term)
    for mode in Mode:
        patients.modes.set(mode)
        with Session(patients.engine) as session:
            if mode.reads_sealed:
                assert session.scalars(groups).all() == [1, 1]
            else:
                with pytest.raises(SealedColumnError, match="dual-read-sealed"):
                    session.scalars(groups)


@modes
def test_find_gives_the_rows_of_a_value(patients: Migration, mode: Mode) -> None:
    patients.modes.set(Mode.DUAL_READ_SEALED)
    with Session(patients.engine) as session:
        session.get_one(Patient, 1).phone = "plain§840 11 6789"
        session.commit()
        patients.modes.set(mode)
        found = find(session, Patient, by={Patient.ssn: ANN, Patient.phone: "plain§840 11 6789"})
        assert found is not None
        assert found.id == 1
        assert find_all(session, Patient, by={Patient.ssn: CLEO}).count() == 0
        part = find_all(session, Patient, by={Patient.phone: via("last4", "6789")})
        if mode.reads_sealed:
            assert [patient.id for patient in part] == [1]
        else:
            with pytest.raises(SealedColumnError, match="a part"):
                part.first()


def test_the_plaintext_is_compared_as_it_always_was_and_the_sealed_value_by_its_index(patients: Migration) -> None:
    """K03: the normaliser decides from dual-read-sealed on."""
    with Session(patients.engine) as session:
        session.get_one(Patient, 1).phone = "020-7946"
        session.commit()
        for mode in Mode:
            patients.modes.set(mode)
            asked = select(Patient.id).where(Patient.phone == "020 7946")
            assert session.scalars(asked).all() == ([1] if mode.reads_sealed else [])


@modes
def test_a_value_is_in_no_text_that_is_made_of_a_statement(patients: Migration, mode: Mode) -> None:
    """K14-01"""
    patients.modes.set(mode)
    asked = select(Patient.id).where(Patient.ssn == ANN)
    for options in ({}, {"literal_binds": True}):
        compiled = asked.compile(patients.engine, compile_kwargs=options)
        assert ANN not in str(compiled) + repr(compiled.params) + repr(asked)
    assert (
        repr(AskedPlaintext(Patient.__table__.c.ssn_sealed.type.owner, False)) == "AskedPlaintext(patient.ssn_sealed)"
    )


@modes
def test_another_value_compiles_nothing_anew(patients: Migration, mode: Mode) -> None:
    """K06-01"""
    patients.modes.set(mode)
    kept: dict[Any, Any] = {}
    with patients.engine.connect().execution_options(compiled_cache=kept) as connection:
        for value, found in ((ANN, [1]), (BEN, [2]), (CLEO, [])):
            asked = select(Patient.id).where(Patient.ssn == value)
            assert connection.scalars(asked).all() == found
            assert connection.scalars(select(Patient.id).where(Patient.ssn.in_([value]))).all() == found
    assert len(kept) == 2


def test_what_is_asked_of_other_kinds_is_bound_as_their_own_types(migration: Migration) -> None:
    with Session(migration.engine) as session:
        session.add(Kinds(id=1, count=9173))
        session.commit()
        assert session.scalars(select(Kinds.id).where(Kinds.count.in_([9173, 9174]))).all() == [1]
