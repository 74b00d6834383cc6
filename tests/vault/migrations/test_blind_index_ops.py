"""Blind index operations as one writes them by hand, and what they say of rows that are there already."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, inspect, text

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import FULL, HALF, mail, patients, ssn
from vault.migrations.blind_index_ops import CreateBlindIndexOp

OLD_ROWS = "has values already, and no terms for them are in index"


@contextmanager
def operations(url: str) -> Iterator[Operations]:
    engine = create_engine(url)
    with engine.begin() as connection, Operations.context(MigrationContext.configure(connection)) as op:
        yield op
    engine.dispose()


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "alembic.noisevault")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "alembic.noisevault"]


def test_an_index_is_made_and_dropped_again(project: AlembicProject, warned: Callable[[], list[str]]) -> None:
    project.create(patients(mail()))
    with operations(project.url) as op:
        op.create_blind_index("patient", "mail", unique=True)  # type: ignore[attr-defined]
        op.create_blind_index("patient", "mail", "half", bits=64)  # type: ignore[attr-defined]
    engine = create_engine(project.url)
    assert project.differences(patients(mail(FULL, HALF)))  # by the one that is unique
    unique = {one["column_names"][0]: bool(one["unique"]) for one in inspect(engine).get_indexes("patient")}
    assert unique == {"mail_bidx_a": True, "mail_half_a": False}
    engine.dispose()
    with operations(project.url) as op:
        op.drop_blind_index("patient", "mail", "half")  # type: ignore[attr-defined]
        op.drop_blind_index("patient", "mail")  # type: ignore[attr-defined]
    assert project.differences(patients(mail())) == []
    assert warned() == []


def test_rows_whose_terms_are_missing_are_told_of(project: AlembicProject, warned: Callable[[], list[str]]) -> None:
    project.create(patients(mail(), ssn()))
    with operations(project.url) as op:
        op.execute(text("INSERT INTO patient (id) VALUES (1)"))
        op.create_blind_index("patient", "mail")  # type: ignore[attr-defined]
        assert warned() == []  # NULL has no term
        op.get_bind().execute(text("UPDATE patient SET mail = :sealed"), {"sealed": b"\x01" * 40})
        op.create_blind_index("patient", "mail", "half", bits=64)  # type: ignore[attr-defined]
    (told,) = warned()
    assert told.startswith(f"patient.mail {OLD_ROWS} half yet")


def test_a_batch_on_sqlite_makes_and_drops_indexes(quick: AlembicProject, warned: Callable[[], list[str]]) -> None:
    quick.create(patients())
    with operations(quick.url) as op:
        op.execute(text("INSERT INTO patient (id) VALUES (1)"))
        with op.batch_alter_table("patient", recreate="always") as batch:
            batch.add_sealed_column("ssn", longest_bytes=98)  # type: ignore[attr-defined]
            batch.create_blind_index("ssn", unique=True)  # type: ignore[attr-defined]
    assert quick.differences(patients(ssn(unique=True))) == []
    with operations(quick.url) as op, op.batch_alter_table("patient", recreate="always") as batch:
        batch.drop_blind_index("ssn")  # type: ignore[attr-defined]
        batch.drop_sealed_column("ssn")  # type: ignore[attr-defined]
    assert quick.differences(patients()) == []
    with operations(quick.url) as op:
        assert op.get_bind().scalar(text("SELECT count(*) FROM patient")) == 1
    assert warned() == []


def test_sql_is_written_for_each_dialect_without_asking_a_database() -> None:
    said = {}
    for dialect in ("sqlite", "postgresql", "mariadb"):
        written = StringIO()
        context = MigrationContext.configure(dialect_name=dialect, opts={"as_sql": True, "output_buffer": written})
        with Operations.context(context) as op:
            op.create_blind_index("patient", "mail", bits=64)  # type: ignore[attr-defined]
        said[dialect] = written.getvalue()
    assert "ADD COLUMN mail_bidx_a BLOB" in said["sqlite"]
    assert "ADD COLUMN mail_bidx_b BYTEA" in said["postgresql"]
    assert "ADD COLUMN mail_bidx_a BINARY(13)" in said["mariadb"]
    assert all("CREATE INDEX ix_patient_mail_bidx_a ON patient (mail_bidx_a)" in sql for sql in said.values())


def test_a_reversed_index_is_the_same_index() -> None:
    made = CreateBlindIndexOp("patient", "mail", "half", bits=64, unique=True, index_name="i", schema="ward")
    again = made.reverse().reverse()
    assert vars(again) == vars(made)
    assert made.to_diff_tuple() == ("create_blind_index", "ward", "patient", "mail", "half")
    assert made.reverse().to_diff_tuple() == ("drop_blind_index", "ward", "patient", "mail", "half")
