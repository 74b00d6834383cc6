from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.epsilon import MAX_NANO_EPSILON, laplace_rho, parse_epsilon, require_nano_epsilon
from dp.errors import BudgetExhaustedError, ParameterError
from dp.nano import show


@given(nano=st.integers(1, MAX_NANO_EPSILON))
def test_what_is_shown_is_read_back_exactly(nano: int) -> None:
    assert parse_epsilon(show(nano)) == nano
    assert parse_epsilon(Decimal(show(nano))) == nano
    assert parse_epsilon(Fraction(nano, 10**9)) == nano


@pytest.mark.parametrize(
    ("epsilon", "nano"),
    [
        ("1", 10**9), ("0.1", 10**8), ("1e-9", 1), ("1E+2", 10**11), ("00.5", 5 * 10**8), (0.1, 10**8), (1, 10**9),
        (1e-9, 1), (np.float64(0.3), 3 * 10**8), (Decimal("0.10"), 10**8), (Fraction(1, 8), 125_000_000),
    ],
)  # fmt: skip
def test_a_float_is_read_by_its_shortest_form_and_all_else_exactly(epsilon: float, nano: int) -> None:
    assert parse_epsilon(epsilon) == nano


@pytest.mark.parametrize(
    "epsilon",
    [
        0, -1, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), True, False, None, "", " 1", "1 ", "+1", "-1",
        "one", "nan", "NaN", "inf", "Infinity", "1_000", "1,5", "٣", "１", "0x1", "1e", ".5", "5.", "1e9999", "1" * 41,
        "0e5", "1e-10", 1e-10, Fraction(1, 3), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal(-1),
        Decimal("1e-400"), Decimal("1e999999"), 10**9 + 1, "1e10", b"1", [1], 1j, np.int64(1), np.float32(0.5),
    ],
)  # fmt: skip
def test_k19_05_a_bad_epsilon_is_refused_by_name(epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon: ") as refusal:
        parse_epsilon(epsilon)  # type: ignore[arg-type]
    assert refusal.value.parameter == "epsilon"
    assert "0.5" in str(refusal.value)


def test_what_the_refusal_tells_to_write_is_accepted() -> None:
    assert parse_epsilon("0.5") == 500_000_000


def test_k19_05_text_that_is_a_number_is_that_number() -> None:
    assert parse_epsilon("1") == parse_epsilon(1) == 10**9


@given(nano=st.integers(1, MAX_NANO_EPSILON))
def test_rho_is_half_the_square_rounded_up(nano: int) -> None:
    exact = Fraction(nano, 10**9) ** 2 / 2
    rho = laplace_rho(nano)
    assert Fraction(rho - 1, 10**9) < exact <= Fraction(rho, 10**9)


@pytest.mark.parametrize("nano", [0, -1, True, 1.0, "1", None, MAX_NANO_EPSILON + 1])
def test_only_what_can_be_charged_is_a_nano_epsilon(nano: int) -> None:
    with pytest.raises(ParameterError):
        require_nano_epsilon(nano)


def test_a_spent_budget_is_told_in_decimals() -> None:
    error = BudgetExhaustedError("people", 1_500_000_000, 1)
    assert "1.5" in str(error)
    assert "0.000000001" in str(error)
    assert (error.dataset, error.asked, error.remaining) == ("people", 1_500_000_000, 1)


def test_where_no_rho_was_ever_to_be_spent_a_smaller_one_is_not_advised() -> None:
    assert "ask with a smaller rho" in str(BudgetExhaustedError("people", 10, 1, "rho"))
    told = str(BudgetExhaustedError("people", 10, 0, "rho"))
    assert "without a lifetime delta there is no rho to spend" in told
    assert "ask in epsilon alone" in told
    assert "smaller" not in told
