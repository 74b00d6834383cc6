"""What a statement sees of an index, from its begin to its end."""

from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotPin
from vault.errors import DefinitionError
from vault.index.field_plan import FieldPlan
from vault.index.field_terms import _Static
from vault.index.slot_plan import SlotPlan
from vault.index.slot_terms import SlotTerms
from vault.terms.term import BlindIndex

NAME = FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(),))


def plan(asked: Any, *written: Any) -> FieldPlan:
    keyring: Any = FixedKeyring({}, {b"idxa": bytes(32), b"idxb": bytes(range(32))})
    slots: dict[str, Any] = {
        f"name_bidx_{slot}": SlotTerms(NAME, BlindIndex(), SlotPin(b"idx" + slot.encode(), 0), keyring) for slot in "ab"
    }
    return FieldPlan("name", {"bidx": SlotPlan(asked, written)}, slots, _Static())


def test_what_is_asked_is_compared_with_the_slot_that_the_plan_says() -> None:
    terms = plan("a", "a", "b").terms("Ann")
    assert plan("a", "a").asked_term("bidx", "Ann") == terms["name_bidx_a"]
    assert plan("b", "a", "b").asked_term("bidx", "Ann") == terms["name_bidx_b"]
    assert plan("b", "b").matcher("bidx", "Ann")("Ann")


def test_a_slot_that_is_not_written_has_no_term() -> None:
    one = plan("b", "b")
    assert one.written == {"name_bidx_b"}
    assert one.columns == ("name_bidx_a", "name_bidx_b")
    assert one.terms("Ann")["name_bidx_a"] is None
    assert one.terms_by_column(["Ann", None]) == {
        "name_bidx_a": [None, None],
        "name_bidx_b": [one.terms("Ann")["name_bidx_b"], None],
    }


def test_an_index_that_is_only_being_made_cannot_be_asked() -> None:
    with pytest.raises(DefinitionError, match="'bidx' cannot be asked now"):
        plan(None, "a").asked_term("bidx", "Ann")
    with pytest.raises(DefinitionError, match="has no index 'other'"):
        plan("a", "a").matcher("other", "Ann")
