"""Canonical JSON: one spelling, no floats."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.ledger.canonical_json import canonical

plain = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), plain, max_size=4))
def test_equal_records_give_equal_bytes_in_any_order_and_read_back(record: dict[str, object]) -> None:
    spelled = canonical(record)  # type: ignore[arg-type]
    assert spelled == canonical(dict(reversed(record.items())))  # type: ignore[arg-type]
    assert json.loads(spelled) == record
    assert spelled.isascii()


@pytest.mark.parametrize("value", [0.1, float("nan"), b"bytes", {1: 2}, {"deep": [0.5]}, {"set": {1}}], ids=str)
def test_what_has_several_spellings_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="canonical JSON"):
        canonical({"value": value})  # type: ignore[dict-item]


def test_the_spelling_is_frozen() -> None:
    assert canonical({"b": ("é", None), "a": -(2**63)}) == b'{"a":-9223372036854775808,"b":["\\u00e9",null]}'
