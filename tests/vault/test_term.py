from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.derive import compound_index_key, index_key, shared_index_key
from kms.secret import SecretKey
from tests.vault.fixed_keyring import FixedKeyring
from tests.vault.vector_cases import cases, definition_of, error_of, value_of
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.errors import DefinitionError
from vault.field import Field
from vault.normalisers import normaliser_named
from vault.term import BlindIndex, compound_input, equality_encoding, leftmost, term


def index_of(test: dict[str, Any]) -> BlindIndex:
    index = test["index"]
    return BlindIndex(normaliser_named(index["normaliser"]), index["bits"], index["name"])


@pytest.mark.parametrize("test", cases("term", "valid", kind="index"))
def test_terms_are_made_as_published(test: dict[str, Any]) -> None:
    field, index = definition_of(test["field"]), index_of(test)
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    equality = equality_encoding(codec_named(unpadded_id(field.codec)), index.normaliser)(value_of(test["value"]))
    key = index_key(SecretKey(raw), keyring, field.table, field.column, index.name)
    made = term(key, field.generation, key_id, equality, index.bits)
    assert equality is not None
    assert equality.hex() == test["equality"]
    assert made.hex() == test["term"]
    assert len(made) == index.term_bytes


@pytest.mark.parametrize("test", cases("term", "invalid", error="InvalidValueError"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(error_of(test)):
        equality_encoding(codec_named(test["field"]["codec"]), index_of(test).normaliser)(value_of(test["value"]))


@pytest.mark.parametrize("test", cases("term", "valid", kind="shared"))
def test_terms_of_a_shared_index_are_made_as_published(test: dict[str, Any]) -> None:
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    key = shared_index_key(SecretKey(raw), keyring, test["scope"])
    assert term(key, 0, key_id, bytes.fromhex(test["equality"])).hex() == test["term"]


@pytest.mark.parametrize("test", cases("term", "valid", kind="compound"))
def test_terms_of_a_compound_index_are_made_as_published(test: dict[str, Any]) -> None:
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    key = compound_index_key(SecretKey(raw), keyring, test["table"], test["index"])
    mac_input = compound_input([None if part is None else bytes.fromhex(part) for part in test["parts"]])
    assert (None if mac_input is None else mac_input.hex()) == test["input"]
    if mac_input is not None:
        assert term(key, 0, key_id, mac_input).hex() == test["term"]


def term_of(test: dict[str, Any]) -> bytes:
    """The term that the vault makes of a test's value in the place that the test names."""
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    if test["kind"] == "shared":
        key = shared_index_key(SecretKey(raw), keyring, test["scope"])
        return term(key, 0, key_id, bytes.fromhex(test["equality"]))
    if test["kind"] == "compound":
        key = compound_index_key(SecretKey(raw), keyring, test["table"], test["index"])
        made = compound_input([bytes.fromhex(part) for part in test["parts"]])
        assert made is not None
        return term(key, 0, key_id, made)
    index = index_of(test)
    definition = definition_of(test["field"], index)
    fixed: Any = FixedKeyring({b"data": bytes(32)}, {key_id: raw}, keyring_id=keyring)
    made = Field(definition, fixed).terms(value_of(test["value"]))[f"{definition.column}_{index.name}_a"]
    assert made is not None
    return made


@pytest.mark.parametrize("test", cases("term", "valid", kind="index"))
def test_the_field_makes_the_published_terms(test: dict[str, Any]) -> None:
    assert term_of(test).hex() == test["term"]


@pytest.mark.parametrize("test", cases("term", "invalid", error="TermMismatch"))
def test_no_other_term_than_the_published_one_is_made(test: dict[str, Any]) -> None:
    assert term_of(test).hex() != test["term"]


@given(digest=st.binary(min_size=32, max_size=32), bits=st.integers(1, 256))
def test_the_leftmost_bits_are_kept_and_the_rest_is_zero(digest: bytes, bits: int) -> None:
    kept = leftmost(digest, bits)
    as_text = "".join(f"{byte:08b}" for byte in kept)
    assert as_text.rstrip("0") == "".join(f"{byte:08b}" for byte in digest)[:bits].rstrip("0")
    assert len(kept) == -(-bits // 8)


@given(st.lists(st.binary()), st.lists(st.binary()))
def test_no_two_lists_of_parts_have_one_compound_input(one: list[bytes], other: list[bytes]) -> None:
    assert (compound_input([*one]) == compound_input([*other])) == (one == other)


@pytest.mark.parametrize("bits", [0, 257, -1, 8.0, True, None])
def test_an_index_has_1_to_256_bits(bits: Any) -> None:
    with pytest.raises(DefinitionError, match="1 to 256 bits"):
        BlindIndex(bits=bits)


@pytest.mark.parametrize("name", ["", "a.b", None])
def test_an_index_needs_a_name_without_dots(name: Any) -> None:
    with pytest.raises(DefinitionError, match="name without dots"):
        BlindIndex(name=name)


def test_an_index_takes_a_normaliser_and_not_its_id() -> None:
    with pytest.raises(DefinitionError, match="exact, trimmed, digits or casefold"):
        BlindIndex("digits/1")  # type: ignore[arg-type]


def test_only_a_full_length_index_is_not_truncated() -> None:
    assert not BlindIndex().truncated
    assert BlindIndex(bits=255).truncated
