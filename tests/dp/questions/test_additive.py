from fractions import Fraction

import pytest

from dp.answer import INTERVAL_LABEL
from dp.errors import ParameterError
from dp.price import Price
from dp.questions.additive import Additive
from dp.questions.part import Part


class Two(Additive):
    parts = (Part("one", 3, 1), Part("other", 5, 2, Fraction(1, 10)))


def test_each_part_is_told_its_own_noise_at_its_share_of_the_price() -> None:
    one, other = Two().noise(Price.pure(10**9))
    assert (one.scale, other.scale) == (6, Fraction(5 * 2 * 2, 10))
    assert one.nano_epsilon == other.nano_epsilon == 5 * 10**8
    one, other = Two().noise(Price.gaussian(10**9))
    assert (one.scale, other.scale) == (9, Fraction(50, 100))
    assert one.nano_rho == other.nano_rho == 5 * 10**8


def test_it_says_which_mechanism_and_which_interval_that_gives() -> None:
    assert Two().mechanism(Price.pure(1)) == "discrete Laplace"
    assert Two().mechanism(Price.gaussian(1)) == "discrete Gaussian"
    assert Two().interval_label == INTERVAL_LABEL


def test_a_price_that_no_integer_noise_takes_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^price: "):
        Two().noise(Price.approximate(10**9, 1))
