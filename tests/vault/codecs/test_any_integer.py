import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.any_integer import INT
from vault.errors import InvalidValueError


@given(st.integers(-(2**200), 2**200))
def test_every_integer_takes_the_fewest_bytes(value: int) -> None:
    data = INT.encode(value)
    assert INT.decode(data) == value
    with pytest.raises(OverflowError):
        value.to_bytes(len(data) - 1, "little", signed=True) if len(data) > 1 else (256).to_bytes(1, "little")


def test_there_is_no_largest_integer() -> None:
    value = -(10**10_000)
    assert INT.decode(INT.encode(value)) == value


def test_numpy_integers_stand_for_their_number() -> None:
    assert INT.encode(np.uint64(2**64 - 1)) == INT.encode(2**64 - 1)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_other_numbers_are_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match="int/1 holds int"):
        INT.encode(value)
