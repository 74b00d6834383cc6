from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.index_definition import CompoundDefinition, CompoundPart
from vault.definitions.index_slot import SlotPin
from vault.errors import InvalidValueError
from vault.index.compound_slot import CompoundSlot
from vault.normalise import casefold

PARTS = (CompoundPart("name", "str/1", casefold), CompoundPart("city", "str/1"))


def test_a_slot_makes_terms_under_the_generation_and_key_that_it_is_pinned_to() -> None:
    keyring: Any = FixedKeyring({}, {b"idxa": bytes(32)})
    slot = CompoundSlot(CompoundDefinition("t", "whole", PARTS, generation=2), keyring, SlotPin(b"idxa", 2))
    terms = slot.terms([["Ann", "Bonn"], ["ANN", "Bonn"], ["Ann", None]])
    assert terms[0] == terms[1] == slot.asked(["ann", "Bonn"])
    assert terms[0] is not None
    assert terms[0][:5] == b"\x02idxa"
    assert terms[2] is None
    assert slot.matcher(["ann", "Bonn"])(["aNN", "Bonn"])
    assert not slot.matcher(["ann", "Bonn"])(["Ann", None])
    with pytest.raises(InvalidValueError, match="part that is NULL"):
        slot.asked(["Ann", None])
