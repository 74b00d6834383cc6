from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.vector_cases import cases
from vault.definitions.index_definition import CompoundDefinition, CompoundPart, index_from_json
from vault.errors import DefinitionError
from vault.normalise import casefold, digits
from vault.normalisers.parts import year


@pytest.mark.parametrize("test", cases("index_definition", "valid"))
def test_definitions_read_and_write_as_published(test: dict[str, Any]) -> None:
    definition = index_from_json(test["canonical_json"])
    assert definition.canonical_json() == test["canonical_json"]
    assert definition.fingerprint == test["fingerprint"]


@pytest.mark.parametrize("test", cases("index_definition", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        index_from_json(test["canonical_json"])


@given(st.text() | st.sampled_from(["null", "[]", "1", "{}", '{"format":1}', "[" * 100_000]))
def test_reading_anything_else_is_refused_by_our_error(text: str) -> None:
    with pytest.raises(DefinitionError):
        index_from_json(text)


def test_equality_is_answered_by_whole_values_at_full_length() -> None:
    name, born = CompoundPart("name", "str/1", casefold), CompoundPart("born", "date/1")
    assert CompoundDefinition("t", "i", (name, born)).answers_equality
    assert not CompoundDefinition("t", "i", (name, born), bits=255).answers_equality
    assert not CompoundDefinition("t", "i", (name, CompoundPart("born", "date/1", year))).answers_equality


def test_a_part_is_of_its_normalisers_codecs() -> None:
    with pytest.raises(DefinitionError, match="digits/1 is for text"):
        CompoundPart("age", "int64/1", digits)
