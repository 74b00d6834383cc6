"""Operations of an index over several columns as one writes them by hand."""

from collections.abc import Callable
from io import StringIO

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import mail, patients, ssn
from tests.vault.migrations.test_blind_index_ops import operations, warned
from vault.mapping import CompoundIndex
from vault.migrations.compound_index_ops import CreateCompoundIndexOp

__all__ = ["warned"]
WHOLE = CompoundIndex("whole", "ssn", "mail")


def test_an_index_is_made_and_dropped_again(project: AlembicProject, warned: Callable[[], list[str]]) -> None:
    before, after = patients(ssn(), mail()), patients(ssn(), mail(), WHOLE)
    project.create(before)
    with operations(project.url) as op:
        op.create_compound_index("patient", "whole", ["ssn", "mail"])  # type: ignore[attr-defined]
    assert project.differences(after) == []
    with operations(project.url) as op:
        op.drop_compound_index("patient", "whole")  # type: ignore[attr-defined]
    assert project.differences(before) == []
    assert warned() == []


def test_rows_whose_terms_are_missing_are_told_of(project: AlembicProject, warned: Callable[[], list[str]]) -> None:
    project.create(patients(mail(), ssn()))
    sealed = {"sealed": b"\x01" * 40}
    with operations(project.url) as op:
        op.execute(text("INSERT INTO patient (id) VALUES (1)"))
        op.get_bind().execute(text("UPDATE patient SET mail = :sealed"), sealed)
        op.create_compound_index("patient", "one", ["ssn", "mail"])  # type: ignore[attr-defined]
        op.create_compound_index("patient", "two")  # type: ignore[attr-defined]
        op.create_compound_index("patient", "three", ["ssn", "not_there_yet"])  # type: ignore[attr-defined]
        assert warned() == []  # a row with a NULL among its parts has no term; unnamed columns are not looked at
        op.get_bind().execute(text("UPDATE patient SET ssn = :sealed"), sealed)
        op.create_compound_index("patient", "whole", ["ssn", "mail"], bits=64)  # type: ignore[attr-defined]
    (told,) = warned()
    assert told.startswith("patient has rows with values in all of ssn, mail, and no terms for them are in index whole")


def test_a_batch_on_sqlite_makes_and_drops_indexes(quick: AlembicProject) -> None:
    quick.create(patients(ssn()))
    with operations(quick.url) as op:
        op.execute(text("INSERT INTO patient (id) VALUES (1)"))
        with op.batch_alter_table("patient", recreate="always") as batch:
            batch.add_sealed_column("mail")  # type: ignore[attr-defined]
            batch.create_compound_index("whole", ["ssn", "mail"])  # type: ignore[attr-defined]
    assert quick.differences(patients(ssn(), mail(), WHOLE)) == []
    with operations(quick.url) as op, op.batch_alter_table("patient", recreate="always") as batch:
        batch.drop_compound_index("whole")  # type: ignore[attr-defined]
        batch.drop_sealed_column("mail")  # type: ignore[attr-defined]
    assert quick.differences(patients(ssn())) == []
    with operations(quick.url) as op:
        assert op.get_bind().scalar(text("SELECT count(*) FROM patient")) == 1


@pytest.mark.parametrize(
    ("dialect", "stored"), [("sqlite", "BLOB"), ("postgresql", "BYTEA"), ("mariadb", "BINARY(13)")]
)
def test_sql_is_written_without_asking_a_database(dialect: str, stored: str) -> None:
    written = StringIO()
    context = MigrationContext.configure(dialect_name=dialect, opts={"as_sql": True, "output_buffer": written})
    with Operations.context(context) as op:
        op.create_compound_index("patient", "whole", ["ssn", "mail"], bits=64, unique=True)  # type: ignore[attr-defined]
    assert f"ADD COLUMN whole_a {stored}" in written.getvalue()
    assert "CREATE UNIQUE INDEX ix_patient_whole_a ON patient (whole_a)" in written.getvalue()


def test_a_reversed_index_is_the_same_index() -> None:
    made = CreateCompoundIndexOp("patient", "whole", ["a", "b"], bits=64, unique=True, index_name="i", schema="ward")
    assert vars(made.reverse().reverse()) == vars(made)
    assert made.to_diff_tuple() == ("create_compound_index", "ward", "patient", "whole")
    assert made.reverse().to_diff_tuple() == ("drop_compound_index", "ward", "patient", "whole")
