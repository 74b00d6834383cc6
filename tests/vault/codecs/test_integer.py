from enum import IntEnum

import numpy as np
import pytest

from vault.codecs.integer import INT64
from vault.errors import InvalidValueError


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.int64(3), Level.HIGH])
def test_kinds_of_int_are_stored_by_their_exact_value(value: object) -> None:
    assert INT64.encode(value) == b"\x03" + bytes(7)
    assert type(INT64.decode(INT64.encode(value))) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", b"3"])
def test_what_is_not_an_integer_is_refused_even_where_it_equals_one(value: object) -> None:
    with pytest.raises(InvalidValueError, match="int64/1 holds int"):
        INT64.encode(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**63), 10**100])
def test_out_of_range_is_an_error_that_does_not_show_the_number(value: int) -> None:
    with pytest.raises(InvalidValueError, match="does not fit 64 bits") as raised:
        INT64.encode(value)
    assert str(value) not in str(raised.value)


def test_many_decode_to_plain_ints_also_when_there_are_none() -> None:
    assert INT64.decode_many([]) == []
    assert [type(value) for value in INT64.decode_many([INT64.encode(-5)])] == [int]
