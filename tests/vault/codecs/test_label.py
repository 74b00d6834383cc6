from enum import Enum, IntEnum, StrEnum

import pytest

from vault.codecs.label import ENUM
from vault.errors import InvalidValueError


class Colour(Enum):
    RED = 1


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    YES = "yes"


@pytest.mark.parametrize(("member", "name"), [(Colour.RED, b"RED"), (Number.ONE, b"ONE"), (Word.YES, b"YES")])
def test_a_member_stands_for_its_name(member: Enum, name: bytes) -> None:
    assert ENUM.encode(member) == ENUM.equality(member) == name


def test_a_label_is_a_text_and_comes_back_as_one() -> None:
    assert ENUM.decode(ENUM.encode("röd")) == "röd"


@pytest.mark.parametrize("value", [1, b"RED", None, Colour])
def test_nothing_else_is_a_label(value: object) -> None:
    with pytest.raises(InvalidValueError, match="holds a label"):
        ENUM.encode(value)
