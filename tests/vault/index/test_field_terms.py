from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.key_record import Purpose
from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import DefinitionError, DestroyedKeyError, InvalidValueError, UnknownKeyError
from vault.index.field_terms import Indexing
from vault.index.home import IndexHome
from vault.normalise import casefold, digits
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))
A, B = b"idxa", b"idxb"
PIN_A, PIN_B = SlotPin(A, 0), SlotPin(B, 0)


def made(
    definition: FieldDefinition, generations: dict[int, FieldDefinition], keyring: Any, slots: dict[str, SlotKeys]
) -> Indexing:
    return Indexing(definition, IndexHome(keyring, generations, slots))


@pytest.fixture
def keyring() -> Any:
    return FixedKeyring({}, {A: bytes(range(32)), B: bytes(range(1, 33))})


def test_each_written_slot_has_the_term_of_its_own_key_and_the_other_is_null(keyring: Any) -> None:
    one = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    both = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A, PIN_B)})
    assert one.columns == both.columns == ("name_bidx_a", "name_bidx_b")
    terms = both.terms("Ann")
    assert one.terms("Ann") == {"name_bidx_a": terms["name_bidx_a"], "name_bidx_b": None}
    assert terms["name_bidx_a"] is not None
    assert terms["name_bidx_b"] is not None
    assert terms["name_bidx_a"][:5] == b"\0" + A
    assert terms["name_bidx_b"][:5] == b"\0" + B


def test_null_has_no_term(keyring: Any) -> None:
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    assert indexing.terms(None) == {"name_bidx_a": None, "name_bidx_b": None}
    assert indexing.terms_many([None])[0] == indexing.terms(None)
    assert indexing.terms("")["name_bidx_a"] is not None


@given(st.lists(st.none() | st.text(max_size=5), max_size=5))
def test_many_terms_are_the_terms_of_each(values: list[object]) -> None:
    keyring: Any = FixedKeyring({}, {A: bytes(32), B: bytes(32)})
    definition = replace(NAME, indexes=(BlindIndex(), BlindIndex(bits=9, name="rough")))
    indexing = made(definition, {}, keyring, {"bidx": SlotKeys(PIN_A, PIN_B), "rough": SlotKeys(PIN_A)})
    single = [indexing.terms(value) for value in values]
    assert indexing.terms_many(values) == single
    assert indexing.terms_by_column(values) == {column: [row[column] for row in single] for column in indexing.columns}


def test_a_field_without_an_index_has_no_terms(keyring: Any) -> None:
    indexing = made(replace(NAME, indexes=()), {}, keyring, {})
    assert indexing.terms("Ann") == {}
    assert indexing.terms_many(["Ann", None]) == [{}, {}]


def test_a_rotation_of_the_index_key_changes_no_term(keyring: Any) -> None:
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    before = indexing.terms("Ann")
    keyring.add(b"idxc", bytes(32), Purpose.INDEX)
    keyring.unwrap_again()
    assert indexing.terms("Ann") == before
    (held,) = [slot._maker._held for slot in indexing.plan()._slots.values() if slot is not None]
    assert held.leased.key is keyring.opening(Purpose.INDEX, A), (
        "a key that the keyring let go of is let go of here too"
    )


def test_terms_are_made_by_the_generation_that_the_slot_is_pinned_to(keyring: Any) -> None:
    later = replace(NAME, indexes=(BlindIndex(casefold),), generation=1)
    old = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    moving = made(later, {0: NAME}, keyring, {"bidx": SlotKeys(PIN_A, SlotPin(B, 1))})
    terms = moving.terms("Ann")
    assert terms["name_bidx_a"] == old.terms("Ann")["name_bidx_a"]
    assert terms["name_bidx_b"] == moving.terms("ANN")["name_bidx_b"]


def test_an_index_key_that_is_not_there_or_destroyed_is_named(keyring: Any) -> None:
    with pytest.raises(UnknownKeyError, match=r"patients.name: names key 6e6f6e65"):
        made(NAME, {}, keyring, {"bidx": SlotKeys(SlotPin(b"none", 0))}).terms("Ann")
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    indexing.terms("Ann")
    keyring.destroy(A)
    with pytest.raises(DestroyedKeyError) as raised:
        indexing.terms_many(["Ann"])
    assert raised.value.__context__ is None


def test_k02_09_a_lone_surrogate_is_refused_by_every_normaliser(keyring: Any) -> None:
    for normaliser in (digits, casefold):
        definition = replace(NAME, indexes=(BlindIndex(normaliser),))
        with pytest.raises(InvalidValueError, match="lone surrogate"):
            made(definition, {}, keyring, {"bidx": SlotKeys(PIN_A)}).terms("123\ud83d")


@pytest.mark.parametrize("wrong", ["123\ud83d", b"Ann", 7, ["Ann"]])
def test_what_is_no_text_is_refused_among_many_with_nothing_chained(keyring: Any, wrong: object) -> None:
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    for values in (["Ann", wrong], [None, wrong]):
        with pytest.raises(InvalidValueError) as refusal:
            indexing.terms_by_column(values)
        assert (refusal.value.__cause__, refusal.value.__context__) == (None, None)


class Label(str):
    """A text with a spelling of its own."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        return b"not what it holds"


def test_a_subclass_of_text_stands_for_its_characters_among_many_too(keyring: Any) -> None:
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    assert indexing.terms_many([Label("Ann"), "Bob"]) == indexing.terms_many(["Ann", "Bob"])


def test_an_index_without_pins_or_with_a_pin_to_nowhere_is_refused(keyring: Any) -> None:
    with pytest.raises(DefinitionError, match="no slot of the index 'bidx' is pinned"):
        made(NAME, {}, keyring, {})
    with pytest.raises(DefinitionError, match="no known definition of generation 9 has the index 'bidx'"):
        made(NAME, {}, keyring, {"bidx": SlotKeys(SlotPin(A, 9))})


def test_the_derived_key_of_a_child_is_its_own(keyring: Any) -> None:
    indexing = made(NAME, {}, keyring, {"bidx": SlotKeys(PIN_A)})
    before = indexing.terms("Ann")
    for slot in indexing.plan()._slots.values():
        if slot is not None:
            slot._maker.forget_after_fork()
            assert slot._maker._held.leased.key.key_id == b""
    assert indexing.terms("Ann") == before
