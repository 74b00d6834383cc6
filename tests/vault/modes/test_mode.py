"""Modes: what each writes and reads, and that those one step apart understand each other."""

import itertools

import pytest

from vault.definitions.definition import FieldDefinition
from vault.modes.mode import SEALED_ONLY, Mode

FIELD = FieldDefinition("patient", "ssn", "str/1")


@pytest.mark.parametrize(("one", "next_one"), list(itertools.pairwise(Mode)))
def test_of_two_modes_beside_each_other_each_writes_what_the_other_reads(one: Mode, next_one: Mode) -> None:
    assert one.is_beside(next_one)
    assert next_one.is_beside(one)
    for writer, reader in ((one, next_one), (next_one, one)):
        assert writer.writes_sealed if reader.reads_sealed else writer.writes_plaintext


def test_modes_further_apart_do_not() -> None:
    assert not Mode.PLAINTEXT.is_beside(Mode.DUAL_READ_SEALED)
    assert not Mode.PLAINTEXT.writes_sealed
    assert not Mode.SEALED_ONLY.is_beside(Mode.DUAL_READ_PLAINTEXT)
    assert not Mode.SEALED_ONLY.writes_plaintext
    assert not Mode.PLAINTEXT.is_beside(Mode.PLAINTEXT)


def test_where_nothing_migrates_all_is_sealed() -> None:
    assert SEALED_ONLY.mode(FIELD) is Mode.SEALED_ONLY
    assert SEALED_ONLY.may_run(FIELD, Mode.SEALED_ONLY)
    assert not SEALED_ONLY.may_run(FIELD, Mode.DUAL_READ_SEALED)
