import sys
from typing import Any

import pytest

from vault.codecs.json_value import JSON_CODEC
from vault.errors import InvalidValueError

DOCUMENT = {"n": 9007199254740993, "s": "žluť", "a": [1, [2, None]], "f": 0.1}


def test_k02_07_a_json_value_comes_back_equal_with_its_integers_exact() -> None:
    once = JSON_CODEC.decode(JSON_CODEC.encode(DOCUMENT))
    assert once == DOCUMENT
    assert (type(once["n"]), once["n"], type(once["f"])) == (int, 9007199254740993, float)


def test_k02_07_equal_values_are_equal_in_the_index_whatever_their_order() -> None:
    other = {"f": 0.1, "a": (1.0, [2, None]), "s": "žluť", "n": 9007199254740993}
    assert JSON_CODEC.equality(other) == JSON_CODEC.equality(DOCUMENT)
    assert JSON_CODEC.encode(other) != JSON_CODEC.encode(DOCUMENT)
    assert JSON_CODEC.equality([True]) != JSON_CODEC.equality([1])


def test_null_is_null_and_not_a_json_value() -> None:
    with pytest.raises(InvalidValueError, match="NULL"):
        JSON_CODEC.encode(None)
    assert JSON_CODEC.decode(JSON_CODEC.encode([None])) == [None]


def test_a_lone_surrogate_is_refused_in_a_text_and_in_a_name() -> None:
    for value in (["secret \ud83d"], {"secret \ud83d": 1}):
        with pytest.raises(InvalidValueError, match="lone surrogate") as raised:
            JSON_CODEC.encode(value)
        assert raised.value.__context__ is None


def test_near_the_end_of_the_stack_it_is_refused_and_not_broken() -> None:
    value: Any = []
    for _ in range(150):
        value = [value]

    def deeper(left: int) -> bytes:
        return JSON_CODEC.encode(value) if not left else deeper(left - 1)

    depth = len(__import__("inspect").stack())
    with pytest.raises(InvalidValueError, match="nested deeper"):
        deeper(sys.getrecursionlimit() - depth - 120)


def test_a_cycle_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidValueError, match="levels"):
        JSON_CODEC.encode(value)
