import json
import math
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.json_text import DEEPEST, MOST_DIGITS, read, spell
from vault.errors import InvalidValueError


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_spelled_so_that_it_is_read_back_as_that_float(value: float) -> None:
    back = read(spell(value))
    assert type(back) is float
    assert (back, math.copysign(1, back)) == (value, math.copysign(1, value))


@pytest.mark.parametrize(
    ("value", "text"),
    [  # the layout is ECMA-262's; the first column's shortest digits are Python's
        (1.0, "1.0"), (-0.0, "-0.0"), (1e20, "100000000000000000000.0"), (1e21, "1e+21"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (123.456, "123.456"), (5e-324, "5e-324"), (1.5e300, "1.5e+300"), (0.1, "0.1"),
    ],
)  # fmt: skip
def test_floats_are_spelled_as_rfc_8785_does_and_never_as_an_integer(value: float, text: str) -> None:
    assert spell(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70))
def test_numerically_a_float_is_the_integer_that_it_equals(real: float, whole: int) -> None:
    assert (spell(real, numeric=True) == spell(whole, numeric=True)) == (real == whole)
    if float(whole) == whole:
        assert spell(float(whole), numeric=True) == spell(whole)


@given(st.text())
def test_texts_are_spelled_as_json_that_others_read(text: str) -> None:
    assert json.loads(spell(text)) == text


def test_members_are_sorted_by_code_point() -> None:
    assert spell({"\U00010000": 1, "\ue000": 2, "b": 3, "B": 4}) == '{"B":4,"b":3,"\ue000":2,"\U00010000":1}'


class Word(StrEnum):
    YES = "yes"


class Posing(float):
    def is_integer(self) -> bool:
        return True

    def __int__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "7.0"


class Apart(str):
    """Never equal to another, so that a dict holds two of one text."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, 2), "[1,2]"), (np.int64(7), "7"), (Word.YES, '"yes"'), ({Word.YES: True}, '{"yes":true}'),
        (Posing(2.5), "2.5"), ({Apart("a"): 1}, '{"a":1}'),
    ],
)  # fmt: skip
def test_what_stands_for_a_json_value_is_spelled_as_that(value: object, text: str) -> None:
    assert spell(value) == spell(value, numeric=True) == text


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "no NaN"), (float("-inf"), "no infinity"), (Decimal(1), "no Decimal"), (b"x", "no bytes"),
        ({1: 2}, "names of a JSON object"), ({None: 2}, "names of a JSON object"), ({1, 2}, "no set"),
        ({Apart("a"): 1, Apart("a"): 2}, "two names"),
        pytest.param(10**MOST_DIGITS, "digits", id="too long"), (nested(DEEPEST + 1), "levels"),
    ],
)  # fmt: skip
def test_what_json_has_not_is_refused(value: object, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        spell([value] if "levels" not in said else value)


def test_as_deep_and_as_long_as_is_allowed() -> None:
    assert read(spell(nested(DEEPEST))) == nested(DEEPEST)
    assert read(spell(1 - 10**MOST_DIGITS)) == 1 - 10**MOST_DIGITS


SPELLINGS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True),
    lambda value: json.dumps(value, indent=1),
    lambda value: spell(value) + " ",
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(SPELLINGS),
)
def test_of_all_spellings_of_a_value_one_is_read(value: Any, other: Callable[[Any], str]) -> None:
    assert spell(read(spell(value))) == spell(value)
    text = other(value)
    if text != spell(value):
        with pytest.raises(ValueError, match="one spelling"):
            read(text)


@given(st.text(alphabet='{}[]",:0123456789.eE+-nultrfas \\') | st.text())
def test_what_is_read_is_spelled_the_same_or_refused(text: str) -> None:
    try:
        value = read(text)
    except ValueError:
        return
    assert spell(value) == text


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_endless_nesting_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="one spelling"):
        read(text)
