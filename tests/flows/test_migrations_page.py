"""What docs/migrations.md shows is run as it stands there, and what it tells to do today is done."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, create_engine, inspect, select
from sqlalchemy.orm import DeclarativeBase, Session

from tests.vault.mapping.conftest import new_vault
from tests.vault.migrations.alembic_project import AlembicProject
from tests.vault.migrations.test_blind_index_ops import operations
from vault import BlindIndex, Sealed, attach, casefold
from vault.errors import DefinitionChangedError

PAGE = (Path(__file__).parents[2] / "docs" / "migrations.md").read_text(encoding="utf-8")


def test_the_operations_of_the_page_run_on_each_database(tmp_path: Path, database_url: str) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    project = AlembicProject(tmp_path, database_url)
    project.create(models().metadata)
    with operations(database_url) as op:
        op.drop_sealed_column("patient", "mail")  # type: ignore[attr-defined]
        exec(program, {"op": op})
    assert project.differences(models(mail=BlindIndex()).metadata) == []


def models(**indexes: BlindIndex) -> Any:
    """A class Patient with the field mail, and with others that are indexed."""

    class Base(DeclarativeBase):
        metadata = MetaData()

    fields = {name: Column(name, Sealed(String(60), index=index)) for name, index in indexes.items()}
    plain = {} if "mail" in indexes else {"mail": Column("mail", Sealed(String(60)))}
    key = {"id": Column("id", Integer, primary_key=True)}
    return type("Patient", (Base,), {"__tablename__": "patient", **key, **plain, **fields})


def test_an_index_for_rows_that_are_there_is_had_by_a_new_column(tmp_path: Path, database_url: str) -> None:
    """By revisions alone are the tables made that the vault writes to and asks."""
    project = AlembicProject(tmp_path, database_url)
    opened = new_vault(tmp_path)
    engine = create_engine(database_url)
    attach(engine, opened)
    before, after = models(), models(address=BlindIndex(casefold))
    project.revision(before.metadata)
    project.upgrade()
    with Session(engine) as session:
        session.add_all([before(id=1, mail="Ann@example.org"), before(id=2, mail=None)])
        session.commit()
    project.revision(after.metadata)
    project.upgrade()
    with Session(engine) as session:
        for patient in session.scalars(select(after)):
            patient.address = patient.mail
        session.commit()
        assert session.scalars(select(after.id).where(after.address == "ann@EXAMPLE.org")).all() == [1]
    with pytest.raises(DefinitionChangedError, match="noisevault reindex"):
        attach(engine, opened, models(mail=BlindIndex()).metadata)
    assert {c["name"] for c in inspect(engine).get_columns("patient")} >= {"address_bidx_a", "address_bidx_b"}
    opened.close()
