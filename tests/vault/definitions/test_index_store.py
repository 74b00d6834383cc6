import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from kms.key_record import Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from vault.definition_store import register, register_compound
from vault.definitions.definition import FieldDefinition
from vault.definitions.definition_tables import index_table
from vault.definitions.index_definition import CompoundDefinition, CompoundPart
from vault.errors import IndexChangedError
from vault.normalise import casefold
from vault.rows.key_uses import pinned_slots
from vault.terms.term import BlindIndex

pytestmark = pytest.mark.databases_in_turn

WHOLE = CompoundDefinition("patients", "whole", (CompoundPart("name", "str/1"), CompoundPart("born", "date/1")))
SHARED = (BlindIndex(scope="who"),)
NAME, ALIAS = (FieldDefinition("patients", column, "str/1", indexes=SHARED) for column in ("name", "alias"))


@pytest.fixture
def store(database_url: str) -> Iterator[KeyStore]:
    store = KeyStore.from_url(database_url)
    store.create_schema()
    yield store
    store.close()


@pytest.fixture
def keyring(store: KeyStore) -> Keyring:
    return Keyring.create(store, ScriptedProvider(), "main")


def test_a_compound_index_keeps_its_pin_when_the_index_key_rotates(store: KeyStore, keyring: Keyring) -> None:
    slots = register_compound(store.engine, WHOLE, keyring)
    keyring.lifecycle.rotate(Purpose.INDEX)
    assert register_compound(store.engine, WHOLE, keyring) == slots
    assert slots.a is not None
    uses = pinned_slots(store.engine, keyring.id, slots.a.key_id)
    assert list(map(str, uses)) == ["1 slot (whole, a) of patients"]


def test_columns_of_a_scope_have_one_pin_whenever_they_are_registered(store: KeyStore, keyring: Keyring) -> None:
    first = register(store.engine, [NAME], keyring)[0].field(keyring)
    keyring.lifecycle.rotate(Purpose.INDEX)
    second = register(store.engine, [replace(ALIAS, generation=3)], keyring)[0].field(keyring)
    assert first.terms("Ann")["name_bidx_a"] == second.terms("Ann")["alias_bidx_a"]


@pytest.mark.parametrize(
    "changed",
    [
        replace(WHOLE, bits=8),
        replace(WHOLE, argon2id=True),
        replace(WHOLE, parts=WHOLE.parts[::-1]),
        replace(WHOLE, parts=(CompoundPart("name", "str/1", casefold), WHOLE.parts[1])),
        replace(WHOLE, generation=1),
    ],
)
def test_an_index_that_is_declared_otherwise_is_refused(
    store: KeyStore, keyring: Keyring, changed: CompoundDefinition
) -> None:
    register_compound(store.engine, WHOLE, keyring)
    with pytest.raises(IndexChangedError, match=r"compound index patients\.whole .*declare it as recorded, or"):
        register_compound(store.engine, changed, keyring)
    register_compound(store.engine, WHOLE, keyring)


def test_a_column_that_would_make_other_terms_under_a_scope_is_refused(store: KeyStore, keyring: Keyring) -> None:
    register(store.engine, [NAME], keyring)
    for changed in (
        replace(ALIAS, codec="bytes/1"),
        replace(ALIAS, indexes=(BlindIndex(casefold, scope="who"),)),
        replace(ALIAS, indexes=(BlindIndex(bits=20, scope="who"),)),
    ):
        with pytest.raises(IndexChangedError, match="shared index who is not defined"):
            register(store.engine, [changed], keyring)
    register(store.engine, [replace(ALIAS, column="padded", codec="str/1+pad64")], keyring)


def test_a_recorded_definition_that_was_changed_by_hand_is_refused(store: KeyStore, keyring: Keyring) -> None:
    register_compound(store.engine, WHOLE, keyring)
    with store.engine.begin() as connection:
        connection.execute(update(index_table).values(definition=replace(WHOLE, bits=8).canonical_json()))
    with pytest.raises(IndexChangedError, match="not what its fingerprint says"):
        register_compound(store.engine, WHOLE, keyring)


def test_processes_that_start_together_record_one_pin(store: KeyStore, keyring: Keyring) -> None:
    found: list[Any] = []
    go = threading.Barrier(4)

    def start() -> None:
        go.wait()
        found.append(register_compound(store.engine, WHOLE, keyring))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
