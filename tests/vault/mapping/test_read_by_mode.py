"""Reading by mode: the column that SQL names, and the type that its values are read by. See test_ask_by_mode.py too."""

import pytest
from sqlalchemy import Column, CursorResult, MetaData, String, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session, aliased
from sqlalchemy.schema import CreateTable

from tests.vault.mapping.clinic import Person
from tests.vault.mapping.migrating import Migration, Patient, Stay
from vault.errors import DefinitionError, NotSealedError, SealedColumnError
from vault.mapping import Sealed
from vault.mapping.term_column import as_stored, as_target
from vault.modes.mode import Mode

pytestmark = pytest.mark.databases_in_turn

modes = pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)


@modes
def test_a_sealed_column_is_rendered_as_the_column_that_is_read(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    column, other = ("ssn_sealed", "ssn") if mode.reads_sealed else ("ssn", "ssn_sealed")
    one = aliased(Patient, name="one")
    for statement, table in ((select(Patient.ssn), "patient"), (select(one.id).where(one.ssn.is_(None)), "one")):
        sql = str(statement.compile(migration.engine))
        assert f"{table}.{column}" in sql
        assert f"{table}.{other}" not in sql.replace(f"{table}.ssn_sealed", "", column == "ssn_sealed")


@modes
def test_what_is_read_is_opened_in_the_sealed_modes_and_in_no_other(migration: Migration, mode: Mode) -> None:
    """Whatever the bytes look like."""
    migration.modes.set(Mode.DUAL_READ_SEALED)
    with Session(migration.engine) as session:
        session.add(Patient(id=1, ssn="plain§ann"))
        session.commit()
        session.connection().exec_driver_sql("UPDATE patient SET ssn = '0100', ssn_sealed = 'plain'".replace(
            "'plain'", "'\\x706c61696e'" if migration.engine.dialect.name == "postgresql" else "x'706c61696e'"
        ))  # fmt: skip
        session.commit()
        migration.modes.set(mode)
        if mode.reads_sealed:
            with pytest.raises(NotSealedError):
                session.scalar(select(Patient.ssn))
        else:
            assert session.scalar(select(Patient.ssn)) == "0100"


@modes
def test_an_upsert_names_both_columns_as_they_are(migration: Migration, mode: Mode) -> None:
    migration.modes.set(mode)
    table = Patient.__table__.alias("excluded")
    for name in ("ssn_sealed", "ssn_sealed_bidx_a"):
        assert str(as_stored(table.c[name]).compile(migration.engine)) == f"excluded.{name}"


@modes
def test_a_term_column_that_a_conflict_is_on_is_named_in_every_mode(migration: Migration, mode: Mode) -> None:
    """A mode may change between the sealing of an upsert and its compiling: both unique indexes are there then."""
    migration.modes.set(mode)
    term = Patient.__table__.c.ssn_sealed_bidx_a
    assert str(as_target(term).compile(migration.engine)) == "patient.ssn_sealed_bidx_a"
    if not mode.reads_sealed:
        with pytest.raises(SealedColumnError, match="until its mode is dual-read-sealed"):
            str(term.compile(migration.engine))


def test_ddl_names_every_column_as_it_is(migration: Migration) -> None:
    sql = str(CreateTable(Stay.__table__).compile(migration.engine))
    assert {"reason_sealed", "reason"} <= {word for word in sql.replace("`", " ").split() if "reason" in word}


def test_a_column_of_a_field_that_is_not_migrating_is_rendered_as_ever(migration: Migration) -> None:
    for mode in Mode:
        migration.modes.set(mode)
        assert str(select(Person.ssn).compile(dialect=postgresql.dialect())) == "SELECT person.ssn \nFROM person"
        copied = Person.__table__.to_metadata(MetaData())
        assert "person.ssn" in str(select(copied.c.ssn).compile(migration.engine))


def test_several_rows_come_through_one_cursor_in_one_mode(migration: Migration) -> None:
    migration.modes.set(Mode.DUAL_READ_PLAINTEXT)
    with Session(migration.engine) as session:
        session.add_all([Patient(id=n, ssn=f"plain§{n}") for n in range(1, 6)])
        session.commit()
        found = session.execute(select(Patient.ssn).order_by(Patient.id))
        assert isinstance(found, CursorResult) or found is not None
        first = found.scalars()
        assert first.fetchmany(2) == ["plain§1", "plain§2"]
        migration.modes.set(Mode.DUAL_READ_SEALED)
        assert first.all() == ["plain§3", "plain§4", "plain§5"]


def test_an_application_that_renders_columns_itself_is_refused(migration: Migration) -> None:
    dispatcher = Column.__dict__["_compiler_dispatcher"]
    dispatcher.specs["sqlite"] = lambda column, compiler, **kw: "another"
    try:
        for statement in (select(Patient.ssn), select(Patient.id).where(Patient.ssn == "plain§")):
            with pytest.raises(DefinitionError, match="subclass of Column"):
                statement.compile(dialect=postgresql.dialect())
        with pytest.raises(DefinitionError):
            Sealed(String, migrating="s")
    finally:
        del dispatcher.specs["sqlite"]
