from decimal import Decimal
from fractions import Fraction

import pytest

from dp.errors import ParameterError
from dp.grid import MAX_FLOAT_BOUND, MAX_INT_BOUND, Grid


def test_a_bound_is_a_multiple_of_the_step_or_is_refused() -> None:
    assert Grid.of("0.3", "0.9", "0.1") == Grid(Fraction(1, 10), 3, 9)
    assert Grid.of(Decimal(-1), Fraction(1, 2), "0.25") == Grid(Fraction(1, 4), -4, 2)
    with pytest.raises(ParameterError, match=r"^upper: it must be a multiple"):
        Grid.of("0", "1", "0.3")


def test_the_widest_bounds_are_two_to_the_62_and_for_floats_two_to_the_52() -> None:
    Grid.of(-MAX_INT_BOUND, MAX_INT_BOUND, 1)
    Grid.of(-MAX_FLOAT_BOUND, MAX_FLOAT_BOUND, 1, values="float")
    with pytest.raises(ParameterError, match=r"^upper: "):
        Grid.of(0, MAX_INT_BOUND + 1, 1)
    with pytest.raises(ParameterError, match=r"^lower: "):
        Grid.of(-MAX_INT_BOUND - 1, 0, 1)
    with pytest.raises(ParameterError, match=r"^upper: "):
        Grid.of(0, MAX_FLOAT_BOUND + 1, 1, values="float")


@pytest.mark.parametrize("bound", [None, True, 0.5, float("nan"), "nan", "inf", "", " 1", "1_0", b"1", Decimal("NaN")])
def test_k19_07_a_bound_is_declared_exactly_or_refused(bound: object) -> None:
    with pytest.raises(ParameterError, match=r"^lower: "):
        Grid.of(bound, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^upper: "):
        Grid.of(0, bound, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^step: "):
        Grid.of(0, 1, bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0, -1, "1e-60", Fraction(2**53 + 1), Fraction(1, 3**50)])
def test_a_step_that_floats_cannot_scale_by_is_refused(step: object) -> None:
    with pytest.raises(ParameterError):
        Grid.of(0, 3**50 * (2**53 + 1), step)  # type: ignore[arg-type]


def test_bounds_that_are_upside_down_are_refused() -> None:
    with pytest.raises(ParameterError, match="above the upper"):
        Grid.of(1, 0, 1)


@pytest.mark.parametrize(("step", "lower", "upper"), [(1, 0, 1), (Fraction(1), 0.0, 1), (Fraction(1), 0, True)])
def test_a_grid_is_made_of_exact_numbers(step: Fraction, lower: int, upper: int) -> None:
    with pytest.raises(ParameterError):
        Grid(step, lower, upper)


def test_a_declared_value_is_so_many_steps_exactly() -> None:
    grid = Grid.of(0, 1, "0.01")
    assert [grid.steps("edge", value) for value in ("0.07", 3, Fraction(-1, 4))] == [7, 300, -25]
    for wrong in ("0.005", 0.5, None, "x", True):
        with pytest.raises(ParameterError, match=r"^edge: "):
            grid.steps("edge", wrong)
