from pathlib import Path

from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from vault.definition_store import register, register_compound
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_definition import CompoundDefinition, CompoundPart
from vault.definitions.recorded_definitions import field_slots, index_slots, recorded_fields, recorded_indexes
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(), BlindIndex(name="who", scope="person")))
WHOLE = CompoundDefinition("patients", "whole", (CompoundPart("name", "str/1"), CompoundPart("city", "str/1")))


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    store = KeyStore.from_url(f"sqlite:///{tmp_path / 'keys.db'}")
    store.create_schema()
    keyring = Keyring.create(store, ScriptedProvider(), "main", refresh=False)
    (registration,) = register(store.engine, [NAME], keyring)
    pins = register_compound(store.engine, WHOLE, keyring)
    with store.engine.connect() as connection:
        assert recorded_fields(connection, keyring.id, "patients", "name") == {0: NAME}
        assert recorded_fields(connection, keyring.id, "patients", "city") == {}
        assert recorded_indexes(connection, keyring.id, WHOLE.place) == {0: WHOLE}
        assert field_slots(connection, keyring.id, "patients", "name") == {"bidx": registration.slots["bidx"]}
        assert index_slots(connection, keyring.id, WHOLE.place) == pins
        assert index_slots(connection, keyring.id, ("", "person")) == registration.slots["who"]
        assert index_slots(connection, keyring.id, ("", "nobody")) is None
