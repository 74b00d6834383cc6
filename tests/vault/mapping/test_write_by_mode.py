"""Writing by mode: every way of writing fills the columns of the mode in force, and no other."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import bindparam, create_engine, insert, null, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tests.vault.mapping.migrating import Kinds, Migration, Patient, SetModes, Stay, expected
from vault.attaching import attach
from vault.errors import InvalidValueError, SealedColumnError
from vault.modes.mode import Mode
from vault.opened import OpenedVault

pytestmark = pytest.mark.databases_in_turn

P = Patient.__table__
OLD, NEW, OTHER = "plain§old", "plain§new", "plain§other"
Write = Callable[[Session], Any]


def _upsert(session: Session, *, plain: bool, target: Any = "id") -> None:
    kind = session.get_bind().dialect.name
    if kind in {"mysql", "mariadb"}:
        into: Any = mysql.insert(P).values(id=1, ssn_sealed=NEW)
        session.connection().execute(
            into.on_duplicate_key_update(ssn_sealed=NEW if plain else into.inserted.ssn_sealed)
        )
        return
    into = (sqlite if kind == "sqlite" else postgresql).insert(P).values(id=1, ssn_sealed=NEW)
    session.connection().execute(
        into.on_conflict_do_update(
            index_elements=[target], set_={"ssn_sealed": NEW if plain else into.excluded.ssn_sealed}
        )
    )


def _changed(session: Session) -> None:
    session.get_one(Patient, 1).ssn = NEW
    session.flush()


INSERTS: dict[str, Write] = {
    "flush": lambda s: (s.add_all([Patient(id=1, ssn=NEW), Patient(id=2, ssn=OTHER)]), s.flush()),
    "orm list": lambda s: s.execute(insert(Patient), [{"id": 1, "ssn": NEW}, {"id": 2, "ssn": OTHER}]),
    "orm one dictionary": lambda s: (
        s.execute(insert(Patient), {"id": 1, "ssn": NEW}),
        s.execute(insert(Patient), {"id": 2, "ssn": OTHER}),
    ),
    "orm several values": lambda s: s.execute(insert(Patient).values([{"id": 1, "ssn": NEW}, {"id": 2, "ssn": OTHER}])),
    "orm returning": lambda s: [
        [(p.id, p.ssn) for p in s.scalars(insert(Patient).returning(Patient), [{"id": n, "ssn": v}])] == [(n, v)]
        or 1 / 0
        for n, v in ((1, NEW), (2, OTHER))
    ],
    "bulk mappings": lambda s: s.bulk_insert_mappings(Patient, [{"id": 1, "ssn": NEW}, {"id": 2, "ssn": OTHER}]),
    "bulk objects": lambda s: s.bulk_save_objects([Patient(id=1, ssn=NEW), Patient(id=2, ssn=OTHER)]),
    "core values": lambda s: [
        s.connection().execute(P.insert().values(id=n, ssn_sealed=v)) for n, v in ((1, NEW), (2, OTHER))
    ],
    "core list": lambda s: s.connection().execute(
        P.insert(), [{"id": 1, "ssn_sealed": NEW}, {"id": 2, "ssn_sealed": OTHER}]
    ),
    "core several values": lambda s: s.connection().execute(
        P.insert().values([{"id": 1, "ssn_sealed": NEW}, {"id": 2, "ssn_sealed": OTHER}])
    ),
    "core tuples": lambda s: s.connection().execute(P.insert().values([(1, "n", NEW), (2, "n", OTHER)])),
    "core bindparam": lambda s: s.connection().execute(
        P.insert().values(id=bindparam("n"), ssn_sealed=bindparam("v")), [{"n": 1, "v": NEW}, {"n": 2, "v": OTHER}]
    ),
}
UPDATES: dict[str, Write] = {
    "flush": _changed,
    "orm update": lambda s: s.execute(update(Patient).where(Patient.id == 1).values(ssn=NEW)),
    "orm update asking": lambda s: s.execute(update(Patient).where(Patient.ssn == OLD).values(ssn=NEW)),
    "orm list by key": lambda s: s.execute(update(Patient), [{"id": 1, "ssn": NEW}]),
    "query update": lambda s: s.query(Patient).filter_by(ssn=OLD).update({"ssn": NEW}),
    "bulk mappings": lambda s: s.bulk_update_mappings(Patient, [{"id": 1, "ssn": NEW}]),
    "core update": lambda s: s.connection().execute(P.update().where(P.c.id == 1).values(ssn_sealed=NEW)),
    "core dictionary": lambda s: s.connection().execute(P.update().where(P.c.id == 1), {"ssn_sealed": NEW}),
    "core list": lambda s: s.connection().execute(
        P.update().where(P.c.id == bindparam("n")).values(ssn_sealed=bindparam("v")), [{"n": 1, "v": NEW}]
    ),
    "upsert of the new row": lambda s: _upsert(s, plain=False),
    "upsert of a plain value": lambda s: _upsert(s, plain=True),
    "merge": lambda s: (s.merge(Patient(id=1, ssn=NEW)), s.flush()),
}
modes = pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)


@modes
@pytest.mark.parametrize("way", INSERTS)
def test_an_insert_fills_the_columns_of_its_mode(migration: Migration, mode: Mode, way: str) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        INSERTS[way](session)
        session.commit()
    assert migration.stored_patients() == [expected(mode, 1, NEW), expected(mode, 2, OTHER)]
    assert bool(migration.spy.saw_plaintext()) is mode.writes_plaintext


@modes
@pytest.mark.parametrize("way", UPDATES)
def test_an_update_fills_the_columns_of_its_mode_and_empties_the_other(
    migration: Migration, mode: Mode, way: str
) -> None:
    """K05-01: of the old value no term is left, of the new one there is one where terms are written."""
    migration.modes.set(Mode.DUAL_READ_SEALED)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=1, ssn=OLD), Patient(id=2, ssn=OTHER)])
        session.commit()
        migration.modes.set(mode)
        migration.spy.sent.clear()
        UPDATES[way](session)
        session.commit()
        assert session.scalars(select(Patient.id).where(Patient.ssn == NEW)).all() == [1]
        assert session.scalars(select(Patient.id).where(Patient.ssn == OLD)).all() == []
    changed, other = migration.stored_patients()
    assert changed == expected(mode, 1, NEW)
    assert other == (2, OTHER, OTHER)  # which nobody wrote
    assert bool(migration.spy.saw_plaintext()) is mode.writes_plaintext


@modes
@pytest.mark.parametrize("nothing", [None, null()], ids=["None", "null"])
def test_null_is_null_in_both(migration: Migration, mode: Mode, nothing: Any) -> None:
    migration.modes.set(Mode.DUAL_READ_SEALED)
    with Session(migration.engine) as session:
        session.add(Patient(id=1, ssn=OLD))
        session.commit()
        migration.modes.set(mode)
        session.execute(update(Patient).where(Patient.id == 1).values(ssn=nothing))
        session.commit()
        assert session.scalars(select(Patient.id).where(Patient.ssn.is_(None))).all() == [1]
    assert migration.stored_patients() == [(1, None, None)]


@modes
def test_an_upsert_meets_its_row_by_the_column_that_is_read(migration: Migration, mode: Mode) -> None:
    if migration.engine.dialect.name == "mysql":
        pytest.skip("ON DUPLICATE KEY names no column")
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        session.add(Patient(id=7, ssn=NEW, name="before"))
        session.commit()
        module = sqlite if migration.engine.dialect.name == "sqlite" else postgresql
        into = module.insert(P).values(id=8, ssn_sealed=NEW, name="after")
        session.connection().execute(into.on_conflict_do_update(index_elements=["ssn_sealed"], set_={"name": "after"}))
        session.commit()
        assert session.execute(select(Patient.id, Patient.name)).all() == [(7, "after")]


@modes
def test_the_database_refuses_the_second_of_two_equal_values(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        session.add(Patient(id=1, ssn=NEW))
        session.commit()
        session.add(Patient(id=2, ssn=NEW))
        with pytest.raises(IntegrityError):
            session.flush()


@modes
def test_a_field_that_forbids_null_does_so_in_every_mode(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session, pytest.raises(InvalidValueError, match=r"stay.reason_sealed.*NULL"):
        session.execute(insert(Stay), [{"reason": None}])
    with Session(migration.engine) as session, pytest.raises(InvalidValueError, match="NULL"):
        session.connection().execute(Stay.__table__.insert().values({}))
    with Session(migration.engine) as session:
        session.add(Stay())
        with pytest.raises(InvalidValueError, match="NULL"):
            session.flush()
    assert migration.stored(Stay, "reason") == []


@modes
def test_a_row_bound_field_is_written_by_mode(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        stay = Stay(reason=OLD)
        session.add(stay)
        session.commit()
        stay.reason = NEW
        session.commit()
        assert session.scalars(select(Stay.reason)).all() == [NEW]
        with pytest.raises(SealedColumnError, match="one row at a time"):  # also where it is not sealed yet
            session.connection().execute(update(Stay.__table__).values(reason_sealed=NEW))
    ((plain, sealed),) = migration.stored(Stay, "reason", "reason_sealed")
    assert (plain == NEW, sealed is not None) == (mode.writes_plaintext, mode.writes_sealed)


@modes
@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.connection().execute(P.insert().values(id=1, ssn=NEW)),
        lambda s: s.connection().execute(P.insert(), [{"id": 1, "ssn": NEW}]),
        lambda s: s.connection().execute(P.insert().values([{"id": 1, "ssn": NEW}])),
        lambda s: s.connection().execute(P.update().values({P.c.ssn: NEW})),
        lambda s: s.connection().execute(P.insert().from_select(["id", "ssn"], select(P.c.id, P.c.name))),
    ],
)
def test_a_statement_does_not_name_the_plaintext_column(migration: Migration, mode: Mode, write: Write) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session, pytest.raises(SealedColumnError, match=r"patient\.ssn"):
        write(session)
    assert migration.stored_patients() == []


@modes
def test_rows_of_one_call_may_leave_the_field_out(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=1, ssn=NEW), Patient(id=2, name="n"), Patient(id=3, ssn=None)])
        session.commit()
        session.connection().execute(P.insert().values(id=4, name="n"))
        session.commit()
    assert migration.stored_patients() == [expected(mode, 1, NEW), (2, None, None), (3, None, None), (4, None, None)]


@modes
def test_two_fields_of_a_table_may_be_in_two_modes(migration: Migration, mode: Mode) -> None:
    """Each field is asked for its own mode; here the second is always read plain."""

    class Apart:
        changes = 1000 + migration.modes.changes

        def mode(self, definition: Any) -> Mode:
            return mode if definition.column == "ssn_sealed" else Mode.DUAL_READ_PLAINTEXT

        def may_run(self, definition: Any, compiled: Mode) -> bool:
            return compiled is self.mode(definition)

    migration.vault.modes = Apart()
    try:
        with Session(migration.engine) as session:
            session.add(Patient(id=1, ssn=NEW, phone="plain§840"))
            session.commit()
            found = session.execute(
                select(Patient.ssn, Patient.phone).where(Patient.phone == "plain§840", Patient.ssn == NEW)
            )
            assert found.all() == [(NEW, "plain§840")]
    finally:
        migration.vault.modes = migration.modes
        migration.modes.changes = Apart.changes + 1
    assert migration.stored_patients() == [expected(mode, 1, NEW)]
    assert migration.stored(Patient, "phone") == [("plain§840",)]


@modes
def test_every_kind_of_value_comes_back(migration: Migration, mode: Mode) -> None:
    from datetime import datetime
    from decimal import Decimal

    from tests.vault.mapping.migrating import Ward

    migration.modes.set(mode)
    at = datetime(2031, 3, 30, 2, 30)  # noqa: DTZ001  # as the column is
    whole = {"count": 9173, "price": Decimal("73911.25"), "at": at, "ward": Ward.WEST, "chart": {"a": [1, None]}}
    with Session(migration.engine) as session:
        session.add(Kinds(id=1, **whole))
        session.add(Kinds(id=2))
        session.commit()
        kinds, none = session.scalars(select(Kinds).order_by(Kinds.id)).all()
        assert {name: getattr(kinds, name) for name in whole} == whole
        assert {getattr(none, name) for name in whole} == {None}
        for name in whole.keys() - {"chart"}:
            assert session.scalars(select(Kinds.id).where(getattr(Kinds, name) == whole[name])).all() == [1], name
            assert session.scalars(select(Kinds.id).where(getattr(Kinds, name).in_([whole[name]]))).all() == [1], name
        with pytest.raises(TypeError):
            kinds.chart["a"].append(2)  # frozen in every mode
    plain = migration.stored(Kinds, "count", "price", "at", "ward", "chart")
    assert (plain[0] == tuple(whole.values())) is mode.writes_plaintext
    assert plain[1] == (None,) * 5


@pytest.mark.parametrize(
    ("writer", "reader"),
    [pair for one, two in itertools.pairwise(Mode) for pair in ((one, two), (two, one))],
    ids=lambda mode: mode.value,
)
def test_of_two_processes_one_mode_apart_each_reads_what_the_other_writes(
    migration: Migration, writer: Mode, reader: Mode
) -> None:
    """And of two equal values the database refuses the second, whoever writes it."""
    vault = OpenedVault(migration.vault.keyring, migration.vault.key_store)
    vault.modes = SetModes(reader)
    other = create_engine(migration.engine.url)
    attach(other, vault)
    migration.modes.set(Mode.DUAL_READ_SEALED)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=n, ssn=f"plain§{n}") for n in (1, 2, 3)])
        session.commit()
        migration.modes.set(writer)
        session.get_one(Patient, 1).ssn = NEW
        session.execute(update(Patient).where(Patient.id == 2).values(ssn=None))
        session.add(Patient(id=4, ssn=OTHER))
        session.commit()
    with Session(other) as session:
        assert session.scalars(select(Patient.ssn).order_by(Patient.id)).all() == [NEW, None, "plain§3", OTHER]
        for value, found in ((NEW, [1]), ("plain§1", []), ("plain§2", []), ("plain§3", [3]), (OTHER, [4])):
            assert session.scalars(select(Patient.id).where(Patient.ssn == value)).all() == found
        session.add(Patient(id=9, ssn=NEW))
        with pytest.raises(IntegrityError):
            session.flush()
        session.rollback()
        session.get_one(Patient, 1).ssn = OLD
        session.commit()
    with Session(migration.engine) as session:
        assert session.get_one(Patient, 1).ssn == OLD
        assert session.scalars(select(Patient.id).where(Patient.ssn == NEW)).all() == []
