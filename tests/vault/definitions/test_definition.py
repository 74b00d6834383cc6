import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.vector_cases import cases
from vault.codecs import CODEC_IDS
from vault.definitions.definition import FieldDefinition
from vault.definitions.row_context import BINDABLE_CODEC_IDS, BoundColumn
from vault.errors import DefinitionError
from vault.normalise import casefold, digits, exact, trimmed
from vault.terms.term import BlindIndex

NAMES = st.text(st.characters(exclude_characters=".", exclude_categories=("Cs",)), min_size=1, max_size=20)
TEXT_INDEXES = st.builds(BlindIndex, st.sampled_from([exact, trimmed, digits, casefold]), st.integers(1, 256), NAMES)
BOUND = st.lists(
    st.builds(BoundColumn, NAMES, st.sampled_from(BINDABLE_CODEC_IDS)), max_size=2, unique_by=lambda b: b.name
)
DEFINITIONS = st.builds(
    FieldDefinition,
    st.lists(NAMES, min_size=1, max_size=2).map(".".join),
    NAMES,
    st.just("str/1"),
    BOUND,
    st.lists(TEXT_INDEXES, max_size=2, unique_by=lambda i: i.name),
    st.integers(0, 255),
) | st.builds(FieldDefinition, NAMES, NAMES, st.sampled_from(CODEC_IDS), BOUND)


@pytest.mark.parametrize("test", cases("definition", "valid"))
def test_definitions_read_and_write_as_published(test: dict[str, Any]) -> None:
    definition = FieldDefinition.from_json(test["canonical_json"])
    assert definition.canonical_json() == test["canonical_json"]
    assert definition.fingerprint == test["fingerprint"]


@pytest.mark.parametrize("test", cases("definition", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        FieldDefinition.from_json(test["canonical_json"])


@given(DEFINITIONS)
def test_a_definition_is_read_back_from_its_json(definition: FieldDefinition) -> None:
    assert FieldDefinition.from_json(definition.canonical_json()) == definition
    assert definition.fingerprint == hashlib.sha256(definition.canonical_json().encode()).hexdigest()


@given(DEFINITIONS, DEFINITIONS)
def test_two_definitions_have_one_fingerprint_only_if_they_are_equal(
    one: FieldDefinition, other: FieldDefinition
) -> None:
    assert (one.fingerprint == other.fingerprint) == (one == other)


@given(st.text() | st.sampled_from(["null", "[]", "1", "{}", '{"table":1}', "[" * 100_000]))
def test_reading_anything_else_is_refused_by_our_error(text: str) -> None:
    with pytest.raises(DefinitionError):
        FieldDefinition.from_json(text)


@pytest.mark.parametrize("table", ["", "a.b.c", ".a", "a.", "x" * 200, "\ud83d", None])
def test_a_table_is_a_name_or_schema_and_name(table: Any) -> None:
    with pytest.raises(DefinitionError, match="table"):
        FieldDefinition(table, "name", "str/1")


@pytest.mark.parametrize("column", ["", "a.b", "x" * 101, "\ud83d", None])
def test_a_column_is_a_name_without_dots(column: Any) -> None:
    with pytest.raises(DefinitionError, match="column"):
        FieldDefinition("patients", column, "str/1")


@pytest.mark.parametrize("generation", [-1, 256, True, "0"])
def test_a_generation_fits_one_byte(generation: Any) -> None:
    with pytest.raises(DefinitionError, match="0 to 255"):
        FieldDefinition("patients", "name", "str/1", generation=generation)


def test_a_normaliser_of_text_is_refused_on_another_codec() -> None:
    with pytest.raises(DefinitionError, match=r"patients.age: digits/1 is for text, the field is int64/1"):
        FieldDefinition("patients", "age", "int64/1", indexes=(BlindIndex(digits),))


def test_two_indexes_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two indexes"):
        FieldDefinition("patients", "name", "str/1", indexes=(BlindIndex(), BlindIndex(bits=8)))


def test_a_column_is_bound_once() -> None:
    with pytest.raises(DefinitionError, match="two bound columns"):
        FieldDefinition("patients", "name", "str/1", bound=(BoundColumn("id", "int64/1"), BoundColumn("id", "str/1")))


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(DefinitionError, match="there is no codec 'text'"):
        FieldDefinition("patients", "name", "text")
