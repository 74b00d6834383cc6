from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vault.vector_cases import bound_of, cases, row_of
from vault.errors import DefinitionError, RowBindingError
from vault.row_context import BoundColumn, row_context

TWO = (BoundColumn("a", "str/1"), BoundColumn("b", "str/1"))


@pytest.mark.parametrize("test", cases("row_context", "valid"))
def test_rows_are_encoded_as_published(test: dict[str, Any]) -> None:
    assert row_context(bound_of(test["bound"]))(row_of(test["row"])) == bytes.fromhex(test["context"])


@pytest.mark.parametrize("test", cases("row_context", "invalid"))
def test_what_is_published_as_invalid_is_refused(test: dict[str, Any]) -> None:
    with pytest.raises(RowBindingError, match=test["bound"][0]["column"]) as raised:
        row_context(bound_of(test["bound"]))(row_of(test["row"]))
    assert raised.value.__context__ is None


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_no_two_rows_have_one_context(one: tuple[str, str], other: tuple[str, str]) -> None:
    context = row_context(TWO)
    same = context({"a": one[0], "b": one[1]}) == context({"a": other[0], "b": other[1]})
    assert same == (one == other)


def test_a_float_cannot_bind_a_row() -> None:
    with pytest.raises(DefinitionError, match=r"'weight' as float64/1: bind int64/1, uuid/1, bytes/1, str/1"):
        BoundColumn("weight", "float64/1")
