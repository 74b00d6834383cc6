"""Columns whose writes a trigger judges: no difference to a model, and dropped by the operations with all they have."""

import pytest
from sqlalchemy import create_engine, text

from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.hospital import mail, patients
from tests.vault.migrations.test_blind_index_ops import operations
from vault.migrations.sealed_column_ops import DropSealedColumnOp
from vault.retirement.refused_keys import refuse_keys, refused_keys

OLD = bytes.fromhex("9692ad97")


def test_a_model_has_no_difference_to_a_table_with_triggers(project: AlembicProject) -> None:
    metadata = patients(mail())
    project.create(metadata)
    engine = create_engine(project.url)
    refuse_keys(engine, metadata.tables["patient"], [OLD])
    assert project.differences(metadata) == []
    assert refused_keys(engine, metadata.tables["patient"]) == {OLD}
    engine.dispose()


@pytest.mark.parametrize("batch", [False, True])
def test_a_column_with_triggers_is_dropped_and_rows_are_written_after_it(project: AlembicProject, batch: bool) -> None:
    assert DropSealedColumnOp.batch_drop_sealed_column is not None  # op has it once its module is imported
    metadata = patients(mail())
    project.create(metadata)
    engine = create_engine(project.url)
    refuse_keys(engine, metadata.tables["patient"], [OLD])
    engine.dispose()
    with operations(project.url) as op:
        if batch:
            with op.batch_alter_table("patient") as in_batch:
                in_batch.drop_sealed_column("mail")
        else:
            op.drop_sealed_column("patient", "mail")  # type: ignore[attr-defined]
    with operations(project.url) as op:
        op.execute(text("INSERT INTO patient (id) VALUES (1)"))
        assert op.get_bind().scalar(text("SELECT count(*) FROM patient")) == 1
    assert project.differences(patients()) == []
