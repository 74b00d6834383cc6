"""Alembic leaves the database indexes of slots alone, wherever reindex has moved an index to."""

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine

from tests.vault.migrations.alembic_project import AlembicProject
from vault.mapping import CompoundIndex, Sealed
from vault.slot_storage import drop_slot_index, index_slot_column
from vault.term import BlindIndex


def models(*indexes: BlindIndex) -> MetaData:
    metadata = MetaData()
    Table(
        "patient",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("ssn", Sealed(String(40), index=list(indexes or [BlindIndex()]), unique=True)),
        Column("name", Sealed(String(40))),
        CompoundIndex("both", "ssn", "name"),
    )
    return metadata


@pytest.mark.parametrize("rests", [False, True], ids=["both slots", "slot b"])
def test_the_index_of_the_other_slot_is_neither_dropped_nor_made_again(project: AlembicProject, rests: bool) -> None:
    project.create(models())
    engine = create_engine(project.url)
    for slot, other, unique in (("ssn_bidx_b", "ssn_bidx_a", True), ("both_b", "both_a", False)):
        index_slot_column(engine, None, "patient", slot, unique=unique, length=37)
        if rests:
            drop_slot_index(engine, None, "patient", other)
    engine.dispose()
    assert project.differences(models()) == []
    (added,) = project.differences(models(BlindIndex(), BlindIndex(bits=16, name="rough")))
    assert "create_blind_index" in str(added)
