import copy
import pickle
from datetime import date
from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from vault.definitions.index_definition import CompoundDefinition, CompoundPart
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import DefinitionError, InvalidValueError
from vault.index.compound_terms import CompoundTerms
from vault.normalise import casefold
from vault.normalisers.parts import year

PIN = SlotPin(b"idx1", 0)
BORN = date(1980, 5, 17)


def made(born: Any = None, **options: Any) -> CompoundTerms:
    keyring: Any = FixedKeyring({}, {b"idx1": bytes(range(32))})
    parts = (CompoundPart("name", "str/1", casefold), born or CompoundPart("born", "date/1"))
    return CompoundTerms(CompoundDefinition("t", "whole", parts, **options), keyring, SlotKeys(PIN))


def test_rows_have_one_term_if_all_parts_are_equal() -> None:
    terms = made().terms([["Ann", BORN], ["ANN", BORN], ["Ann", date(1980, 5, 18)], ["Anne", BORN]])
    assert terms[0] == terms[1] == made().asked_term(["aNN", BORN])
    assert len(set(terms)) == 3


def test_a_row_with_a_part_that_is_null_has_no_term_and_cannot_be_asked_for() -> None:
    assert made().terms([["Ann", None], [None, BORN], [None, None]]) == [None, None, None]
    with pytest.raises(InvalidValueError, match="part that is NULL"):
        made().asked_term(["Ann", None])


def test_a_partial_part_is_asked_by_itself_and_matched_by_itself() -> None:
    terms = made(CompoundPart("born", "date/1", year), bits=8)
    assert terms.asked_term(["ann", 1980]) == terms.terms([["Ann", BORN]])[0]
    matches = terms.matcher(["ann", 1980])
    assert matches(["ANN", BORN])
    assert not matches(["ANN", date(1981, 5, 17)])
    assert not matches(["ANN", None])


def test_an_error_names_the_part_and_the_row() -> None:
    with pytest.raises(InvalidValueError, match=r"^t\.name, row 1 of the batch"):
        made().terms([["Ann", BORN], ["\u0378", BORN]])
    with pytest.raises(InvalidValueError, match=r"^t\.name: "):
        made().asked_term(["\u0378", BORN])


def test_without_a_pin_there_is_no_term() -> None:
    with pytest.raises(DefinitionError, match="no slot is pinned"):
        CompoundTerms(made().definition, FixedKeyring({}, {}), SlotKeys(None))  # type: ignore[arg-type]


def test_a_statement_keeps_the_plan_that_it_began_with() -> None:
    terms = made()
    plan = terms.plan()
    assert (plan.does.asked, plan.does.written, plan.does.exact) == ("a", ("a",), True)
    by_slot = terms.terms_by_slot([["Ann", BORN], ["Ann", None]], plan)
    assert by_slot == {"a": [terms.asked_term(["ANN", BORN], plan), None], "b": [None, None]}


def test_it_is_neither_pickled_nor_copied() -> None:
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled or copied"):
            leave(made())
    assert repr(made()) == "<compound index t.whole>"
