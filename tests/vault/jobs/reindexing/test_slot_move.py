from pathlib import Path
from typing import Any

import pytest

from tests.vault.fixed_keyring import FixedKeyring
from tests.vault.jobs.indexed_people import People, definition_in, person_table
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotKeys, SlotPin
from vault.errors import ChangeoverError
from vault.field import Field
from vault.jobs.reindexing.slot_move import SlotMove, guarded_columns, slot_length, terms_of, with_term_columns
from vault.normalisers.parts import last_four
from vault.terms.term import BlindIndex

A, B = SlotMove("bidx", "a", ("ssn",)), SlotMove("bidx", "b", ("ssn",))


def field(index: BlindIndex) -> Field:
    keyring: Any = FixedKeyring({b"data": bytes(32)}, {b"idxa": bytes(32), b"idxb": bytes(32)})
    definition = FieldDefinition("person", "ssn", "str/1", indexes=(index,))
    return Field(definition, keyring, {"bidx": SlotKeys(SlotPin(b"idxa", 0), SlotPin(b"idxb", 0))})


def test_a_slot_that_is_written_has_what_fills_it() -> None:
    maker = terms_of(field(BlindIndex(bits=16)), B)
    assert maker.prefix == b"\0idxb"
    assert maker.terms([["one"], ["two"]])[0] != maker.terms([["two"]])[0]
    assert slot_length(field(BlindIndex(bits=16)), B) == 7
    assert A.term_column == "ssn_bidx_a"
    assert SlotMove("whole", "b", ("name", "born")).term_column == "whole_b"


def test_a_slot_that_is_written_no_more_is_not_filled() -> None:
    keyring: Any = FixedKeyring({}, {b"idxa": bytes(32)})
    definition = FieldDefinition("person", "ssn", "str/1", indexes=(BlindIndex(),))
    with pytest.raises(ChangeoverError, match="slot b of the index bidx is not written"):
        terms_of(Field(definition, keyring, {"bidx": SlotKeys(SlotPin(b"idxa", 0))}), B)


def test_a_partial_index_is_guarded_by_its_other_slot_or_not_at_all() -> None:
    assert guarded_columns(field(BlindIndex()), B, A) == ("ssn",)
    assert guarded_columns(field(BlindIndex(last_four)), B, A) == ("ssn_bidx_a",)
    assert guarded_columns(field(BlindIndex(last_four)), B, None) == ()


def test_a_column_that_is_declared_no_more_is_added_to_the_table_of_the_job(tmp_path: Path) -> None:
    raw = with_term_columns(person_table(unique=False), [A])
    assert "ssn_bidx_a" in raw.c
    people = People.made(f"sqlite:///{tmp_path / 'application.db'}", tmp_path, person_table(BlindIndex()))
    assert definition_in(person_table(BlindIndex())).indexes == (BlindIndex(),)
    people.close()
