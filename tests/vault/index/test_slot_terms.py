from dataclasses import replace
from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotPin
from vault.errors import InvalidValueError
from vault.index.slot_terms import SlotTerms
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

INDEX = BlindIndex(last_four)
PIN = SlotPin(b"idxa", 3)


def made(index: BlindIndex, column: str = "ssn") -> SlotTerms:
    keyring: Any = FixedKeyring({}, {b"idxa": bytes(range(32))})
    return SlotTerms(FieldDefinition("patients", column, "str/1", indexes=(index,)), index, PIN, keyring)


def test_a_part_is_found_by_itself_and_what_has_none_has_no_term() -> None:
    terms = made(INDEX)
    assert terms.term("123-45-6789") == terms.asked("6789")
    assert terms.terms(["123-45-6789", "12", None]) == [terms.asked("6789"), None, None]
    assert terms.matcher("6789")("123-45-6789")
    assert not terms.matcher("6789")("123-45-6780")
    with pytest.raises(InvalidValueError, match="last4/1"):
        terms.asked("12")


def test_the_key_is_the_indexs_own_or_its_scopes() -> None:
    own, shared = BlindIndex(), BlindIndex(scope="person")
    assert made(own).term("Ann") != made(own, "name").term("Ann")
    assert made(shared).term("Ann") == made(shared, "name").term("Ann")
    assert made(replace(own, name="other")).term("Ann") != made(own).term("Ann")
