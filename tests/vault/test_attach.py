"""The one wiring call."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, insert, select, text

from tests.vault.mapping.conftest import new_vault
from vault import BlindIndex, DefinitionChangedError, OpenedVault, Sealed, SealedColumnError, attach, casefold


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[OpenedVault]:
    vault = new_vault(tmp_path)
    yield vault
    vault.key_store.engine.dispose()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'application.db'}")
    yield engine
    engine.dispose()


def _person(index: BlindIndex) -> Table:
    return Table(
        "person", MetaData(), Column("id", Integer, primary_key=True), Column("ssn", Sealed(Text, index=index))
    )


def test_one_call_makes_an_engine_seal_and_open(engine: Engine, vault: OpenedVault) -> None:
    table = _person(BlindIndex())
    attach(engine, vault)
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table).values(id=1, ssn="x"))
        assert connection.scalars(select(table.c.ssn).where(table.c.ssn == "x")).all() == ["x"]
        assert connection.scalar(text("SELECT ssn FROM person")) != b"x"


def test_with_metadata_a_changed_definition_stops_the_start(engine: Engine, vault: OpenedVault) -> None:
    attach(engine, vault, _person(BlindIndex()).metadata)
    with vault.key_store.engine.connect() as connection:
        assert connection.scalars(text("SELECT column_name FROM noisevault_field")).all() == ["ssn"]
    other = create_engine("sqlite://")
    with pytest.raises(DefinitionChangedError, match=r"person\.ssn"):
        attach(other, vault, _person(BlindIndex(casefold)).metadata)
    with pytest.raises(SealedColumnError, match="no vault"), other.connect() as connection:
        connection.execute(insert(_person(BlindIndex())).values(ssn="x"))
    other.dispose()


def test_an_asynchronous_engine_is_attached_through_its_own(engine: Engine, vault: OpenedVault) -> None:
    class Asynchronous:
        sync_engine = engine

    attach(Asynchronous(), vault)
    attach(engine, vault)
