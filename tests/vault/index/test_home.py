"""An index that lives in another keyring than its field's."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kms import KeyringError, Purpose
from kms.key_store import KeyStore
from kms.keyring import Keyring
from tests.kms.scripted_provider import ScriptedProvider
from vault import (
    Argon2id,
    BlindIndex,
    BoundColumn,
    DefinitionChangedError,
    DefinitionError,
    FieldDefinition,
    casefold,
    digits,
    last_four,
)
from vault.definition_store import register
from vault.field import Field
from vault.index.home import IndexHomes, at_home, no_home

OWN, ALL = BlindIndex(), BlindIndex(casefold, name="all", keyring="lookup")
NAME = FieldDefinition("patients", "name", "str/1", indexes=(OWN, ALL))


class Keyrings:
    """Two tenants' and the home, in one store."""

    def __init__(self, directory: Path) -> None:
        self.store = KeyStore.from_url(f"sqlite:///{directory / 'keys.db'}")
        self.store.create_schema()
        self.one, self.two, self.lookup = (
            Keyring.create(self.store, ScriptedProvider(), name, refresh=False) for name in ("one", "two", "lookup")
        )

    def home(self, name: str) -> Keyring:
        assert name == "lookup"
        return self.lookup

    def field(self, keyring: Keyring, definition: FieldDefinition = NAME) -> Field:
        (registration,) = register(self.store.engine, [definition], keyring, self.home)
        return registration.field(keyring)


@pytest.fixture
def keyrings(tmp_path: Path) -> Iterator[Keyrings]:
    made = Keyrings(tmp_path)
    yield made
    made.store.close()


def test_terms_of_the_home_are_alike_and_the_others_are_not(keyrings: Keyrings) -> None:
    one, two = (keyrings.field(keyring).terms("Ann") for keyring in (keyrings.one, keyrings.two))
    assert one["name_all_a"] == two["name_all_a"] == keyrings.field(keyrings.one).terms("ANN")["name_all_a"]
    assert one["name_bidx_a"] != two["name_bidx_a"]
    term = one["name_all_a"] or b""
    assert term[1:5] == keyrings.lookup.sealing(Purpose.INDEX).key.key_id
    assert one["name_all_b"] is None


def test_the_home_alone_makes_the_same_terms(keyrings: Keyrings) -> None:
    term = keyrings.field(keyrings.one).terms("Ann")["name_all_a"]
    assert at_home(NAME, "lookup").indexes == (ALL,)
    assert keyrings.field(keyrings.lookup, at_home(NAME, "lookup")).terms("Ann") == {
        "name_all_a": term,
        "name_all_b": None,
    }


def test_a_tenant_that_comes_after_a_rotation_uses_the_pinned_key(keyrings: Keyrings) -> None:
    before = keyrings.field(keyrings.one).terms("Ann")["name_all_a"]
    keyrings.lookup.lifecycle.rotate(Purpose.INDEX)
    keyrings.lookup.records()
    assert keyrings.field(keyrings.two).terms("Ann")["name_all_a"] == before


def test_a_tenant_that_begins_with_a_later_generation_finds_the_older_ones_terms(keyrings: Keyrings) -> None:
    before = keyrings.field(keyrings.one).terms("Ann")["name_all_a"]
    later = replace(NAME, generation=1, bound=(BoundColumn("id", "int64/1"),))
    assert keyrings.field(keyrings.two, later).terms("Ann")["name_all_a"] == before


def test_another_declaration_of_the_index_is_refused_for_every_tenant(keyrings: Keyrings) -> None:
    keyrings.field(keyrings.one)
    changed = replace(NAME, indexes=(OWN, replace(ALL, normaliser=digits)))
    with pytest.raises(DefinitionChangedError, match=r"all \(casefold/1, 256 bits, in keyring lookup\)"):
        keyrings.field(keyrings.two, changed)
    moved = replace(NAME, indexes=(OWN, replace(ALL, keyring=None)))
    with pytest.raises(DefinitionChangedError, match="indexes recorded"):
        keyrings.field(keyrings.one, moved)


def test_the_definition_names_the_keyring_only_where_there_is_one() -> None:
    assert FieldDefinition.from_json(NAME.canonical_json()) == NAME
    assert NAME.canonical_json().count('"keyring"') == 1
    assert "keyring" not in replace(NAME, indexes=(OWN,)).canonical_json()


@pytest.mark.parametrize("name", ["", 3, b"x"])
def test_a_keyring_is_named_by_a_text(name: object) -> None:
    with pytest.raises(DefinitionError, match="named by a text"):
        BlindIndex(keyring=name)  # type: ignore[arg-type]


def test_an_index_is_shared_or_lives_in_another_keyring_and_not_both() -> None:
    with pytest.raises(DefinitionError, match="not both: declare an index for each"):
        BlindIndex(keyring="lookup", scope="who")
    both = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(name="who", scope="who"), ALL))
    assert FieldDefinition.from_json(both.canonical_json()) == both
    assert at_home(both, "lookup").indexes == (ALL,)


def test_beside_a_shared_one_each_has_its_key(keyrings: Keyrings) -> None:
    shared = BlindIndex(casefold, name="who", scope="who")
    both = FieldDefinition("patients", "name", "str/1", indexes=(shared, ALL))
    joined = FieldDefinition("doctors", "called", "str/1", indexes=(shared,))
    one, two = (keyrings.field(keyring, both).terms("Ann") for keyring in (keyrings.one, keyrings.two))
    assert one["name_who_a"] == keyrings.field(keyrings.one, joined).terms("ANN")["called_who_a"]
    assert one["name_who_a"] != two["name_who_a"]
    assert one["name_all_a"] == two["name_all_a"]


@pytest.mark.parametrize(
    "index",
    [
        BlindIndex(last_four, name="all", keyring="lookup"),
        BlindIndex(bits=20, name="all", keyring="lookup"),
        BlindIndex(name="all", keyring="lookup", slow=Argon2id(7168, 1, 1)),
    ],
)
def test_it_may_be_partial_truncated_or_slow(keyrings: Keyrings, index: BlindIndex) -> None:
    definition = FieldDefinition("patients", "name", "str/1", indexes=(index,))
    one, two = (keyrings.field(keyring, definition) for keyring in (keyrings.one, keyrings.two))
    term = one.terms("1-23456")["name_all_a"]
    assert term == two.asked_term("all", "1-23456")
    assert len(term or b"") == index.term_bytes
    assert two.matcher("all", "1-23456")("1-23456")
    assert FieldDefinition.from_json(definition.canonical_json()) == definition


def test_without_homes_such_an_index_is_refused(keyrings: Keyrings) -> None:
    with pytest.raises(DefinitionError, match="lives in keyring 'lookup'"):
        register(keyrings.store.engine, [NAME], keyrings.one)
    with pytest.raises(DefinitionError, match="open_tenants"):
        no_home("lookup")
    with pytest.raises(DefinitionError, match="'all' is pinned"):
        Field(NAME, keyrings.one)


def test_a_home_is_opened_once_and_closed(keyrings: Keyrings) -> None:
    asked: list[str] = []

    def opened(name: str) -> Keyring:
        asked.append(name)
        return keyrings.home(name)

    homes = IndexHomes(opened)
    assert homes.opened() == []
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(homes, ["lookup"] * 16)) == {keyrings.lookup}
    assert asked == ["lookup"]
    homes.close()
    with pytest.raises(KeyringError, match="closed"):
        keyrings.lookup.sealing(Purpose.INDEX)
