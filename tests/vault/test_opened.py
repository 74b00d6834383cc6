"""A keyring with the fields that it serves."""

import asyncio
import pickle
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from kms import CannotUnwrapError, Keyring, KeyringError, KeyStore, Purpose, open_provider
from kms.providers.local import create_key_file
from tests.open_files import open_files
from vault.definitions.definition import FieldDefinition
from vault.errors import DefinitionChangedError
from vault.opened import OpenedVault, open_vault
from vault.terms.term import BlindIndex

DEFINITION = FieldDefinition("person", "ssn", "str/1", indexes=(BlindIndex(),))


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    """The key store's URL and the KEK's, with a keyring called main."""
    create_key_file(tmp_path / "kek")
    url, kek = f"sqlite:///{tmp_path / 'keys.db'}", f"local:{tmp_path / 'kek'}"
    store = KeyStore.from_url(url)
    store.create_schema()
    Keyring.create(store, open_provider(kek), "main")
    store.close()
    return url, kek


def _close(vault: OpenedVault) -> None:
    vault.close()


def test_a_field_is_registered_once_and_one_object(places: tuple[str, str]) -> None:
    vault = open_vault(*places)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(vault.field(DEFINITION))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(field) for field in found}) == 1
    assert len(found) == 8
    with vault.key_store.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM noisevault_field")) == 1
    _close(vault)


def test_two_processes_seal_and_find_alike(places: tuple[str, str]) -> None:
    one, other = open_vault(*places), open_vault(*places)
    assert other.field(DEFINITION).open(one.field(DEFINITION).seal("x")) == "x"
    assert other.field(DEFINITION).terms("x") == one.field(DEFINITION).terms("x")
    _close(one)
    _close(other)


def test_a_field_defined_otherwise_than_its_data_stops(places: tuple[str, str]) -> None:
    vault = open_vault(*places)
    vault.field(DEFINITION)
    with pytest.raises(DefinitionChangedError, match=r"person\.ssn"):
        vault.field(FieldDefinition("person", "ssn", "bytes/1", indexes=(BlindIndex(),)))
    assert vault.field(DEFINITION) is vault.field(DEFINITION)
    _close(vault)


def test_an_unknown_keyring_is_named(places: tuple[str, str]) -> None:
    with pytest.raises(KeyringError, match="other"):
        open_vault(*places, keyring="other")


def test_what_cannot_be_opened_leaves_no_file_open(places: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(KeyringError) as refused:
        open_vault(*places, "other")
    assert open_files(tmp_path) == set(), refused
    vault = open_vault(*places)
    assert open_files(tmp_path) >= {"keys.db"}
    vault.close()
    assert open_files(tmp_path) == set()


def test_a_vault_is_neither_pickled_nor_shown(places: tuple[str, str]) -> None:
    vault = open_vault(*places)
    assert repr(vault) == "<vault of keyring 'main'>"
    with pytest.raises(TypeError, match="opens its own"):
        pickle.dumps(vault)
    _close(vault)


def test_a_vault_goes_on_while_its_keys_are_moved(places: tuple[str, str], tmp_path: Path) -> None:
    url, old = places
    create_key_file(tmp_path / "new")
    new = f"local:{tmp_path / 'new'}"
    told = open_vault(url, old, former_keks=[new])
    sealed = told.field(DEFINITION).seal("x")
    told.keyring.lifecycle.move(open_provider(new))
    told.keyring.forget_after_fork()  # nothing is held
    assert told.field(DEFINITION).open(sealed) == "x"
    untold = open_vault(url, old)
    with pytest.raises(CannotUnwrapError, match=r"wrapped by local:.*kek_former"):
        untold.field(DEFINITION).open(sealed)
    (tmp_path / "kek").unlink()
    after = open_vault(url, new)
    assert after.field(DEFINITION).open(sealed) == "x"
    for vault in (told, untold, after):
        _close(vault)


@pytest.mark.parametrize("way", ["warm", "warm_async"])
def test_warming_opens_the_keys_and_counts_ahead_for_the_fields_given_so_far(places: tuple[str, str], way: str) -> None:
    vault = open_vault(*places)
    vault.field(DEFINITION)
    opened = vault.warm() if way == "warm" else asyncio.run(vault.warm_async())
    assert len(opened) == 3
    key_id = vault.keyring.sealing(Purpose.DATA).key.key_id
    assert vault.keyring.seal_counts() == {(key_id, "person.ssn"): 4096}
    vault.close()


def test_a_closed_vault_seals_and_opens_nothing(places: tuple[str, str]) -> None:
    vault = open_vault(*places)
    field = vault.field(DEFINITION)
    sealed = field.seal("x")
    vault.close()
    for use in (lambda: field.seal("x"), lambda: field.open(sealed), lambda: field.terms("x"), vault.warm):
        with pytest.raises(KeyringError, match="closed"):
            use()
