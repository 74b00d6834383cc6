from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.exact_number import exact_number, is_whole, normal, spell

numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=None).filter(
    lambda n: len(n.as_tuple().digits) <= 40 and abs(n.adjusted()) <= 400
)


@given(numbers)
def test_the_spelling_of_a_number_reads_as_the_same_number(number: Decimal) -> None:
    assert Fraction(exact_number(spell(number))) == Fraction(number)


@given(numbers, st.integers(0, 5))
def test_equal_numbers_have_one_spelling(number: Decimal, zeros: int) -> None:
    sign, digits, exponent = number.as_tuple()
    longer = Decimal((sign, (0,) * zeros + digits + (0,) * zeros, int(exponent) - zeros))
    assert longer == number
    if len(digits) + zeros <= 40:
        assert spell(longer) == spell(number)


def test_one_has_one_spelling_and_zero_no_sign() -> None:
    assert {spell(exact_number(text)) for text in ("1", "1.0", "1e0", "0.1E1", "10e-1", "+1", "01", "1.")} == {"1"}
    assert {spell(exact_number(text)) for text in ("0", "-0", "0.00", "-0e5", "0e-9")} == {"0"}


def test_large_and_small_numbers_are_spelled_with_an_exponent() -> None:
    assert spell(exact_number("1e300")) == "1e300"
    assert spell(exact_number("-12500e20")) == "-1.25e24"
    assert spell(exact_number("0.0000001")) == "0.0000001"
    assert spell(exact_number("0.00000001")) == "1e-8"


def test_no_context_rounds_a_number() -> None:
    with localcontext() as context:
        context.prec = 2
        assert spell(exact_number("123456789.25")) == "123456789.25"


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "nan", "inf", "-Infinity", "1_000", "1,5", "0x10", "１２", "1e", ".", "1e99999", "--1"]
)
def test_other_texts_are_no_numbers_and_are_not_repeated(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        exact_number(text)
    assert caught.value.args == ("expected a decimal number such as 12, -0.5 or 1e3",)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("text", ["1e401", "1e-401", "9" * 41, "0." + "1" * 41])
def test_numbers_too_long_to_compute_with_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at most 40 digits"):
        exact_number(text)


def test_what_is_not_finite_has_no_normal_form() -> None:
    with pytest.raises(ValueError, match="finite"):
        normal(Decimal("NaN"))


@given(numbers)
def test_a_whole_number_is_told_at_any_size(number: Decimal) -> None:
    assert is_whole(number) == (Fraction(number).denominator == 1)
    assert is_whole(exact_number("1e399"))
