"""The one wiring call."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, insert, select, text

from kms import Keyring, KeyStore, MisconfiguredError
from kms.key_database import SQLITE_BUSY_SECONDS
from tests.kms.scripted_provider import ScriptedProvider
from tests.vault.mapping.conftest import new_vault
from vault import BlindIndex, DefinitionChangedError, OpenedVault, Sealed, SealedColumnError, attach, casefold


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[OpenedVault]:
    vault = new_vault(tmp_path)
    yield vault
    vault.close()


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


def test_keys_and_data_in_one_sqlite_file_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting seals would wait for the application's own write transaction."""
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'one.db'}")
    store.create_schema()
    opened = OpenedVault(Keyring.create(store, ScriptedProvider(), "main"), store)
    (tmp_path / "link.db").symlink_to("one.db")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "one.db", tmp_path / "link.db", "one.db"):
        with pytest.raises(MisconfiguredError, match="a file of their own"):
            attach(create_engine(f"sqlite:///{path}"), opened)
    attach(create_engine(f"sqlite:///{tmp_path / 'two.db'}"), opened)


def test_seals_are_counted_while_the_application_holds_the_write_lock_of_its_own_file(tmp_path: Path) -> None:
    """More of them than one block covers, so that the key store is written in the middle of the transaction."""
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    keyring = Keyring.create(store, ScriptedProvider(), "main")
    engine, metadata = create_engine(f"sqlite:///{tmp_path / 'data.db'}"), MetaData()
    note = Table("note", metadata, Column("id", Integer, primary_key=True), Column("body", Sealed(Text)))
    attach(engine, OpenedVault(keyring, store), metadata)
    metadata.create_all(engine)
    begun = time.monotonic()
    with engine.begin() as connection:
        connection.execute(insert(note), [{"id": 0, "body": "a"}])
        connection.execute(insert(note), [{"id": n, "body": "a"} for n in range(1, 3000)])
        connection.rollback()
    assert time.monotonic() - begun < SQLITE_BUSY_SECONDS
    assert sum(keyring.seal_counts().values()) >= 3000, "what is rolled back stays counted"
