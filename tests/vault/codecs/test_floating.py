from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from vault.codecs.floating import FLOAT64
from vault.errors import InvalidValueError


@pytest.mark.parametrize("value", [2.5, np.float64(2.5), np.float32(2.5), np.float16(2.5), np.longdouble(2.5)])
def test_kinds_of_float_are_stored_by_their_exact_value(value: object) -> None:
    assert FLOAT64.encode(value) == FLOAT64.encode(2.5)


@pytest.mark.parametrize("value", [2**53, -(2**53), 10**22, np.int64(7)])
def test_an_integer_that_is_exactly_a_float_is_taken(value: int) -> None:
    assert FLOAT64.decode(FLOAT64.encode(value)) == value


@pytest.mark.parametrize("value", [2**53 + 1, 10**400, -(10**400)])
def test_an_integer_that_is_not_exactly_a_float_is_refused(value: int) -> None:
    with pytest.raises(InvalidValueError, match="not exactly a 64-bit float"):
        FLOAT64.encode(value)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is binary64 here")
def test_a_long_double_that_is_not_exactly_a_float_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="not exactly"):
        FLOAT64.encode(np.longdouble(1) / 3)


@pytest.mark.parametrize("value", [True, np.False_, "1.5", Decimal("1.5"), Fraction(3, 2), 1j])
def test_other_numbers_are_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match="float64/1 holds float"):
        FLOAT64.encode(value)


def test_zeros_are_stored_apart_and_compare_equal() -> None:
    assert FLOAT64.encode(-0.0) != FLOAT64.encode(0.0)
    assert FLOAT64.equality(-0.0) == FLOAT64.equality(0.0) == FLOAT64.equality(0)


@pytest.mark.parametrize("value", [float("nan"), np.float32("nan")])
def test_nan_is_stored_and_cannot_be_indexed(value: float) -> None:
    assert FLOAT64.decode(FLOAT64.encode(value)) != FLOAT64.decode(FLOAT64.encode(value))
    with pytest.raises(InvalidValueError, match="NaN cannot be indexed"):
        FLOAT64.equality(value)
