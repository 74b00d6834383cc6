from collections.abc import Callable
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kms.framing import lp
from tests.vault.vector_cases import bound_of, cases, row_of
from vault.definitions.row_context import BINDABLE_CODEC_IDS, BoundColumn, framed_context, row_context
from vault.errors import DefinitionError, RowBindingError

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


class Text(str):
    """Stands for its characters."""

    __slots__ = ()


class Half(UUID):
    """A UUID all the same."""


KEYS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.uuids(),
    st.uuids().map(lambda one: Half(int=one.int)),
    st.text(),
    st.text().map(Text),
    st.integers(120, 136).map(lambda length: "x" * length),
    st.just("\ud800"),
    st.binary(),
    st.none(),
    st.floats(),
)


@given(st.sampled_from(BINDABLE_CODEC_IDS), KEYS)
def test_the_quick_way_gives_and_refuses_what_the_slow_one_does(codec_id: str, key: object) -> None:
    bound = (BoundColumn("k", codec_id),)
    for row in ({"k": key, "other": 1}, MappingProxyType({"k": key}), {}, None, [key]):
        wanted, made = made_by(row_context(bound), row), made_by(framed_context(bound), row)
        assert made == (lp(wanted) if isinstance(wanted, bytes) else wanted)


def made_by(context: Callable[[Any], bytes], row: object) -> object:
    """The bytes, or what the refusal says and what is chained to it."""
    try:
        return context(row)
    except RowBindingError as refusal:
        return str(refusal), refusal.__context__, refusal.__cause__


def test_several_columns_are_framed_too() -> None:
    row = {"a": "x", "b": "yz"}
    assert framed_context(TWO)(row) == lp(row_context(TWO)(row))


def test_a_float_cannot_bind_a_row() -> None:
    with pytest.raises(DefinitionError, match=r"'weight' as float64/1: bind int64/1, uuid/1, bytes/1, str/1"):
        BoundColumn("weight", "float64/1")
