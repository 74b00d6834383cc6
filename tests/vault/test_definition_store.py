import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, update

from kms.errors import SchemaVersionError
from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.schema_version import check_schema_version, schema_table
from tests.kms.scripted_provider import ScriptedProvider
from vault.changeover.tables import metadata as changeovers
from vault.definition_store import create_schema, register
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import field_table
from vault.definitions.definition_tables import metadata as definitions
from vault.definitions.row_context import BoundColumn
from vault.errors import DefinitionChangedError, UnknownGenerationError
from vault.normalise import digits
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
AGE = FieldDefinition("patients", "age", "int64/1")
BOUND_AGE = replace(AGE, bound=(BoundColumn("id", "int64/1"),), generation=1)


@pytest.fixture
def store(database_url: str) -> Iterator[KeyStore]:
    store = KeyStore.from_url(database_url)
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def keyring(store: KeyStore) -> Keyring:
    return Keyring.create(store, ScriptedProvider(), "main")


def test_the_first_registration_records_and_the_next_finds_it(store: KeyStore, keyring: Keyring) -> None:
    first = register(store.engine, [NAME, AGE], keyring)
    assert register(store.engine, [NAME, AGE], keyring) == first
    assert [registration.definition for registration in first] == [NAME, AGE]
    with store.engine.connect() as connection:
        check_schema_version(connection, "vault", 1)


def test_a_slot_keeps_its_index_key_when_the_keyrings_index_key_rotates(store: KeyStore, keyring: Keyring) -> None:
    before = register(store.engine, [NAME], keyring)[0].field(keyring).terms("Ann")
    keyring.lifecycle.rotate(Purpose.INDEX)
    again = register(store.engine, [NAME, replace(NAME, column="alias")], keyring)
    assert again[0].field(keyring).terms("Ann") == before
    new = again[1].field(keyring).terms("Ann")["alias_bidx_a"]
    assert new is not None
    assert new[1:5] == keyring.sealing(Purpose.INDEX).key.key_id, "a new field begins with the active key"


@pytest.mark.parametrize(
    "changed",
    [replace(NAME, indexes=(BlindIndex(digits),)), replace(NAME, codec="bytes/1"), replace(NAME, indexes=())],
)
def test_a_field_that_is_declared_otherwise_is_refused(
    store: KeyStore, keyring: Keyring, changed: FieldDefinition
) -> None:
    register(store.engine, [NAME], keyring)
    with pytest.raises(DefinitionChangedError, match=r"^patients\.name .*declare it as recorded, or"):
        register(store.engine, [changed], keyring)
    register(store.engine, [NAME], keyring)


def test_an_older_generation_is_still_opened(store: KeyStore, keyring: Keyring) -> None:
    old = register(store.engine, [AGE], keyring)[0].field(keyring)
    sealed = old.seal(42)
    new = register(store.engine, [BOUND_AGE], keyring)[0].field(keyring)
    row = {"id": 1}
    assert new.open(sealed, row) == 42
    assert new.open(new.seal(43, row), row) == 43
    assert old.open(new.seal(43, row), row) == 43, "older code learns what is recorded since"
    forged = (new.seal(43, row) or b"")[:1] + b"\x09" + (new.seal(43, row) or b"")[2:]
    with pytest.raises(UnknownGenerationError, match="not recorded in the key store"):
        old.open(forged, row)


def test_a_field_that_gets_padding_opens_and_finds_what_was_written_before(store: KeyStore, keyring: Keyring) -> None:
    before = register(store.engine, [NAME], keyring)[0].field(keyring)
    sealed, terms = before.seal("Ann"), before.terms("Ann")
    padded = replace(NAME, codec="str/1+pad64", generation=1)
    after = register(store.engine, [padded], keyring)[0].field(keyring)
    assert after.open(sealed) == "Ann"
    assert after.terms("Ann") == terms
    assert len(after.seal("Ann") or b"") == 34 + 64
    assert after.open_many([sealed, after.seal("Bob")]) == ["Ann", "Bob"]


def test_a_generation_that_would_leave_terms_behind_is_refused(store: KeyStore, keyring: Keyring) -> None:
    register(store.engine, [NAME], keyring)
    with pytest.raises(DefinitionChangedError, match=r"run this first, .*: noisevault reindex patients\.name"):
        register(store.engine, [replace(NAME, indexes=(), generation=1)], keyring)


def test_each_keyring_has_its_own_definitions_and_pins(store: KeyStore, keyring: Keyring) -> None:
    other = Keyring.create(store, ScriptedProvider(), "other")
    mine = register(store.engine, [NAME], keyring)[0]
    theirs = register(store.engine, [replace(NAME, indexes=(BlindIndex(digits),))], other)[0]
    assert mine.slots != theirs.slots


def test_a_recorded_definition_that_was_changed_by_hand_is_refused(store: KeyStore, keyring: Keyring) -> None:
    register(store.engine, [AGE], keyring)
    with store.engine.begin() as connection:
        connection.execute(update(field_table).values(definition=replace(AGE, codec="str/1").canonical_json()))
    with pytest.raises(DefinitionChangedError, match="not what its fingerprint says"):
        register(store.engine, [AGE], keyring)


def test_tables_of_another_version_are_refused(store: KeyStore, keyring: Keyring) -> None:
    create_schema(store.engine)
    create_schema(store.engine)
    with store.engine.begin() as connection:
        connection.execute(update(schema_table).where(schema_table.c.component == "vault").values(version=2))
    with pytest.raises(SchemaVersionError, match="vault tables have version 2"):
        register(store.engine, [AGE], keyring)


def test_processes_that_start_together_record_one_definition_and_one_pin(store: KeyStore, keyring: Keyring) -> None:
    found: list[Any] = []
    go = threading.Barrier(4)

    def start() -> None:
        go.wait()
        found.append(register(store.engine, [NAME, AGE], keyring))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(registrations == found[0] for registrations in found)


def test_processes_that_start_together_on_a_new_database_all_start(store: KeyStore) -> None:
    """MariaDB commits at each CREATE, so that a process may lose one race after another."""
    for _ in range(15):
        for tables in (definitions, changeovers):
            tables.drop_all(store.engine)
        with store.engine.begin() as connection:
            connection.execute(delete(schema_table).where(schema_table.c.component != "kms"))
        go = threading.Barrier(8)

        def start(go: threading.Barrier = go) -> None:
            go.wait()
            create_schema(store.engine)

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(start) for _ in range(8)]:
                done.result()


def test_of_two_processes_that_declare_a_field_differently_one_is_refused(store: KeyStore, keyring: Keyring) -> None:
    create_schema(store.engine)
    outcomes: list[object] = []
    go = threading.Barrier(2)

    def start(definition: FieldDefinition) -> None:
        go.wait()
        try:
            outcomes.append(register(store.engine, [definition], keyring)[0].definition)
        except DefinitionChangedError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=start, args=(replace(AGE, codec=codec),)) for codec in ("int64/1", "float64/1")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(DefinitionChangedError) == 1
