import decimal
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.decimal_number import DECIMAL, normal_form
from vault.errors import InvalidValueError


@pytest.mark.parametrize("text", ["0.500", "1E+3", "-0.00", "0.004", "12345678901234567890.123456789012"])
def test_k02_03_a_decimal_comes_back_equal_and_spelled_as_it_was(text: str) -> None:
    value = Decimal(text)
    once = DECIMAL.decode(DECIMAL.encode(value))
    assert (str(once), once) == (text, value)


@given(st.decimals(allow_nan=False), st.decimals(allow_nan=False))
def test_k02_03_numbers_are_equal_in_the_index_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    assert (DECIMAL.equality(one) == DECIMAL.equality(other)) == (one == other)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 60))
def test_k02_03_trailing_zeros_do_not_count_in_the_index_and_are_kept_in_the_value(number: Decimal, more: int) -> None:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    longer = Decimal((sign, digits + (0,) * more, exponent - more))
    assert DECIMAL.equality(longer) == DECIMAL.equality(number)
    assert str(DECIMAL.decode(DECIMAL.encode(longer))) == str(longer)


def test_no_context_rounds_or_respells() -> None:
    value = Decimal("12345678901234567890.123456789012E+40")
    wanted = DECIMAL.encode(value), DECIMAL.equality(value)
    with decimal.localcontext() as context:
        context.prec, context.Emax, context.Emin, context.capitals = 2, 5, -5, 0
        assert (DECIMAL.encode(value), DECIMAL.equality(value)) == wanted
        assert DECIMAL.decode(wanted[0]) == value
        context.traps[decimal.InvalidOperation] = False
        with pytest.raises(ValueError, match="decimal/1"):
            DECIMAL.decode(b"twelve")


@pytest.mark.parametrize("value", [7, np.int64(7), -(10**60)])
def test_an_integer_stands_for_its_number(value: int) -> None:
    assert DECIMAL.decode(DECIMAL.encode(value)) == Decimal(int(value))


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), "0.5", True, None])
def test_k02_03_nothing_passes_through_float_or_text(value: object) -> None:
    with pytest.raises(InvalidValueError, match="holds Decimal or int"):
        DECIMAL.encode(value)


def test_nan_is_stored_and_not_indexed_and_a_signalling_one_is_refused() -> None:
    assert str(DECIMAL.decode(DECIMAL.encode(Decimal("-NaN7")))) == "-NaN7"
    with pytest.raises(InvalidValueError, match="NaN cannot be indexed"):
        DECIMAL.equality(Decimal("NaN"))
    with pytest.raises(InvalidValueError, match="quiet NaN"):
        DECIMAL.encode(Decimal("sNaN"))


def test_subnormal_numbers_which_few_others_have_are_refused() -> None:
    DECIMAL.encode(Decimal("1E-999999999999999999"))
    with pytest.raises(InvalidValueError, match="holds numbers within 1E-999999999999999999"):
        DECIMAL.encode(Decimal("1E-1000000000000000000"))


def test_the_normal_form_has_no_zeros_at_either_end() -> None:
    assert normal_form(Decimal("-0012.3400E-7")) == ("1234", -9)
    assert normal_form(Decimal("0E+9")) == ("", 0)


class Loud(Decimal):
    def __str__(self) -> str:
        return "LOUD"


def test_a_subclass_stands_for_its_number() -> None:
    assert DECIMAL.encode(Loud("1.50")) == b"1.50"
