from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from hypothesis import given
from hypothesis import strategies as st

from kms.derive import compound_index_key, index_key, shared_index_key
from kms.secret import SecretKey
from tests.vault.fixed_keyring import FixedKeyring
from tests.vault.vector_cases import cases, definition_of, error_of, value_of
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.definitions.definition import slow_from_json
from vault.errors import DefinitionError
from vault.field import Field
from vault.normalisers import normaliser_named
from vault.terms.term import BlindIndex, compound_input, equality_encoding, leftmost, term


def index_of(test: dict[str, Any]) -> BlindIndex:
    index = test["index"]
    return BlindIndex(normaliser_named(index["normaliser"]), index["bits"], index["name"], slow=slow_from_json(index))


@pytest.mark.parametrize("test", cases("term", "valid", kind="index"))
def test_terms_are_made_as_published(test: dict[str, Any]) -> None:
    field, index = definition_of(test["field"]), index_of(test)
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    equality = equality_encoding(codec_named(unpadded_id(field.codec)), index.normaliser)(value_of(test["value"]))
    assert (None if equality is None else equality.hex()) == test["equality"]
    if equality is None:
        assert test["term"] is None
        return
    made = made_by(
        index_key(SecretKey(raw), keyring, field.table, field.column, index.name),
        key_id,
        equality,
        index,
        field.generation,
    )
    assert made.hex() == test["term"]
    assert len(made) == index.term_bytes


def made_by(key: SecretKey, key_id: bytes, encoding: bytes, index: BlindIndex, generation: int = 0) -> bytes:
    """The term of an encoding, stretched where the index is slow."""
    if index.argon2id is not None:
        encoding = index.argon2id.stretch(HMAC(key.raw, SHA256()), encoding)
    return term(key, generation, key_id, encoding, index.bits)


def width_of(test: dict[str, Any]) -> BlindIndex:
    return BlindIndex(bits=test["bits"], slow=slow_from_json(test))


@pytest.mark.parametrize("test", cases("term", "invalid", error="InvalidValueError"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(error_of(test)):
        equality_encoding(codec_named(test["field"]["codec"]), index_of(test).normaliser)(value_of(test["value"]))


@pytest.mark.parametrize("test", cases("term", "valid", kind="shared"))
def test_terms_of_a_shared_index_are_made_as_published(test: dict[str, Any]) -> None:
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    key = shared_index_key(SecretKey(raw), keyring, test["scope"])
    assert made_by(key, key_id, bytes.fromhex(test["equality"]), width_of(test)).hex() == test["term"]


@pytest.mark.parametrize("test", cases("term", "valid", kind="compound"))
def test_terms_of_a_compound_index_are_made_as_published(test: dict[str, Any]) -> None:
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    key = compound_index_key(SecretKey(raw), keyring, test["table"], test["index"])
    mac_input = compound_input([None if part is None else bytes.fromhex(part) for part in test["parts"]])
    assert (None if mac_input is None else mac_input.hex()) == test["input"]
    if mac_input is not None:
        assert made_by(key, key_id, mac_input, width_of(test)).hex() == test["term"]


def term_of(test: dict[str, Any]) -> bytes | None:
    """The term that the vault makes of a test's value in the place that the test names."""
    raw, keyring, key_id = (bytes.fromhex(test[name]) for name in ("index_key", "keyring", "key_id"))
    if test["kind"] == "shared":
        key = shared_index_key(SecretKey(raw), keyring, test["scope"])
        return made_by(key, key_id, bytes.fromhex(test["equality"]), width_of(test))
    if test["kind"] == "compound":
        key = compound_index_key(SecretKey(raw), keyring, test["table"], test["index"])
        made = compound_input([bytes.fromhex(part) for part in test["parts"]])
        assert made is not None
        return made_by(key, key_id, made, width_of(test))
    index = index_of(test)
    definition = definition_of(test["field"], index)
    fixed: Any = FixedKeyring({b"data": bytes(32)}, {key_id: raw}, keyring_id=keyring)
    return Field(definition, fixed).terms(value_of(test["value"]))[f"{definition.column}_{index.name}_a"]


@pytest.mark.parametrize("test", cases("term", "valid", kind="index"))
def test_the_field_makes_the_published_terms(test: dict[str, Any]) -> None:
    made = term_of(test)
    assert (None if made is None else made.hex()) == test["term"]


@pytest.mark.parametrize("test", cases("term", "invalid", error="TermMismatch"))
def test_no_other_term_than_the_published_one_is_made(test: dict[str, Any]) -> None:
    made = term_of(test)
    assert made is not None
    assert made.hex() != test["term"]


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
