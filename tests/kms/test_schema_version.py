"""A database says which layout its tables have."""

import pytest
from sqlalchemy import text

from kms.errors import SchemaVersionError
from kms.key_database import open_key_database, reading, writing
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.schema_version import check_schema_version, record_schema_version
from tests.kms.scripted_provider import ScriptedProvider


def test_each_component_has_its_own_version(database_url: str) -> None:
    engine = open_key_database(database_url)
    with writing(engine) as connection:
        record_schema_version(connection, "one", 1)
        record_schema_version(connection, "one", 1)
        record_schema_version(connection, "two", 5)
        with pytest.raises(
            SchemaVersionError, match=r"two tables have version 5, .* knows version 4: install the newer"
        ):
            record_schema_version(connection, "two", 4)
    with reading(engine) as connection:
        check_schema_version(connection, "one", 1)
        with pytest.raises(SchemaVersionError, match=r"one tables have version 1, .* knows version 2: migrate"):
            check_schema_version(connection, "one", 2)
        with pytest.raises(SchemaVersionError, match="three tables are not in this database: create them"):
            check_schema_version(connection, "three", 1)
    engine.dispose()


def test_an_empty_database_is_told_as_such(database_url: str) -> None:
    store = KeyStore.from_url(database_url)
    with pytest.raises(SchemaVersionError, match="not in this database"):
        store.check_schema()
    store.close()


def test_a_keyring_is_not_opened_on_tables_of_another_version(store: KeyStore) -> None:
    with writing(store.engine) as connection:
        connection.execute(text("UPDATE noisevault_schema SET version = 2 WHERE component = 'kms'"))
    with pytest.raises(SchemaVersionError, match="version 2"):
        Keyring.open(store, ScriptedProvider(), "main")
    with pytest.raises(SchemaVersionError, match="version 2"):
        store.create_schema()


def test_a_version_that_is_no_number_is_told_as_such(store: KeyStore) -> None:
    with writing(store.engine) as connection:
        connection.execute(text("UPDATE noisevault_schema SET version = 'newest' WHERE component = 'kms'"))
    with pytest.raises(SchemaVersionError, match="no number"):
        store.check_schema()
