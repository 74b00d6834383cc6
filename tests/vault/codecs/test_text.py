from enum import StrEnum

import numpy as np
import pytest

from vault.codecs.text import STR
from vault.errors import InvalidValueError


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return b"LOUD"


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("value", ["zo\u00eb", np.str_("zo\u00eb"), Loud("zo\u00eb")])
def test_k03_10_kinds_of_str_stand_for_the_characters_they_hold(value: str) -> None:
    assert STR.encode(value) == STR.equality(value) == b"zo\xc3\xab"
    assert type(STR.decode(STR.encode(value))) is str


def test_an_enum_of_str_stands_for_its_value() -> None:
    assert STR.encode(Colour.RED) == b"red"


def test_k03_10_bytes_are_refused_and_not_decoded_by_guess() -> None:
    with pytest.raises(InvalidValueError, match="holds str, not bytes"):
        STR.equality(b"zo\xc3\xab")


def test_k02_09_a_lone_surrogate_is_refused_and_nothing_of_the_text_is_chained() -> None:
    with pytest.raises(InvalidValueError, match="lone surrogate") as raised:
        STR.encode("secret \ud83d")
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert "secret" not in repr(raised.value) + str(raised.value.__dict__)
