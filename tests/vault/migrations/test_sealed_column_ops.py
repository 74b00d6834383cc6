"""Sealed column operations as one writes them by hand."""

import pytest
from sqlalchemy import text

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import mail, patients
from tests.vault.migrations.test_blind_index_ops import operations
from vault.migrations.sealed_column_ops import AddSealedColumnOp


@pytest.mark.parametrize("rows", [0, 1])
def test_a_column_is_null_in_the_rows_that_are_there_and_goes_again(project: AlembicProject, rows: int) -> None:
    project.create(patients())
    with operations(project.url) as op:
        for row in range(rows):
            op.execute(text(f"INSERT INTO patient (id) VALUES ({row + 1})"))
        op.add_sealed_column("patient", "mail")  # type: ignore[attr-defined]
        assert op.get_bind().scalar(text("SELECT count(*) FROM patient WHERE mail IS NULL")) == rows
    assert project.differences(patients(mail())) == []
    with operations(project.url) as op:
        op.drop_sealed_column("patient", "mail")  # type: ignore[attr-defined]
    assert project.differences(patients()) == []


def test_a_reversed_column_is_the_same_column() -> None:
    made = AddSealedColumnOp("patient", "mail", longest_bytes=98, schema="ward")
    assert vars(made.reverse().reverse()) == vars(made)
    assert made.to_diff_tuple() == ("add_sealed_column", "ward", "patient", "mail")
    assert made.reverse().to_diff_tuple() == ("drop_sealed_column", "ward", "patient", "mail")
