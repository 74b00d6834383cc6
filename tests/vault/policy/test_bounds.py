from decimal import Decimal
from fractions import Fraction

import pytest

from dp.errors import ParameterError
from dp.grid import Grid
from vault.policy import Bounds


def test_bounds_are_exact_and_their_step_is_one_unless_given() -> None:
    assert Bounds.model_validate({"lower": "0", "upper": Decimal("1.0")}).grid("int") == Grid(Fraction(1), 0, 1)
    assert Bounds.model_validate({"lower": 0, "upper": 1, "step": "0.1"}).grid("float") == Grid(Fraction(1, 10), 0, 10)


def test_a_step_that_does_not_divide_the_bounds_is_refused_by_name() -> None:
    with pytest.raises(ParameterError) as caught:
        Bounds.model_validate({"lower": 0, "upper": 1, "step": "0.3"}).grid("float")
    assert caught.value.parameter == "upper"
