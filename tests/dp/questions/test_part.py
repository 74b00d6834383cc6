from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.errors import ParameterError
from dp.interval import gaussian_half_width, half_width
from dp.price import Price
from dp.questions.part import Part, PartNoise, mechanism_of, part_noises, released, shares
from tests.dp.questions.replay import AnyNoise

PART = Part("sum", 10, 3, Fraction(1, 2))


@given(st.integers(1, 10**18), st.integers(1, 5))
def test_the_shares_of_a_price_add_up_to_it_and_the_odd_rest_goes_to_the_last(nano: int, n: int) -> None:
    if nano < n:
        with pytest.raises(ParameterError, match=r"^epsilon: .*parts; ask with 0\.00000000\d or more"):
            shares(Price.pure(nano), n)
        with pytest.raises(ParameterError, match=r"^rho: "):
            shares(Price.gaussian(nano), n)
        return
    of_epsilon = [share.nano_epsilon or 0 for share in shares(Price.pure(nano), n)]
    of_rho = [share.nano_rho for share in shares(Price.gaussian(nano), n)]
    assert sum(of_epsilon) == sum(of_rho) == nano
    assert of_epsilon == of_rho
    assert of_epsilon[:-1] == [nano // n] * (n - 1)


@pytest.mark.parametrize("price", [Price.approximate(10**9, 1), Price(None, 5, 1), Price(10**9, 1), None, 10**9])
def test_noise_on_integers_takes_a_pure_price_or_a_gaussian_one(price: Price) -> None:
    with pytest.raises(ParameterError, match=r"^price: "):
        shares(price, 1)


def test_the_spread_is_computed_from_the_very_integer_that_is_charged() -> None:
    assert (PART.l1, PART.squared_l2) == (30, 300)
    (laplace,) = part_noises((PART,), Price.pure(7))
    assert laplace.spread == Fraction(30 * 10**9, 7)
    assert (laplace.told().scale, laplace.told().nano_epsilon, laplace.told().nano_rho) == (laplace.spread / 2, 7, None)
    (gaussian,) = part_noises((PART,), Price.gaussian(7))
    assert gaussian.spread == Fraction(300 * 10**9, 14)
    assert (gaussian.told().scale, gaussian.told().nano_epsilon, gaussian.told().nano_rho) == (gaussian.spread / 4, None, 7)  # fmt: skip  # noqa: E501
    assert [mechanism_of(price) for price in (Price.pure(1), Price.gaussian(1))] == ["discrete Laplace", "discrete Gaussian"]  # fmt: skip  # noqa: E501


@given(noisy=st.integers(), nano=st.integers(10**6, 10**12))
def test_an_interval_is_around_what_was_released(noisy: int, nano: int) -> None:
    for price, width in ((Price.pure(nano), half_width), (Price.gaussian(nano), gaussian_half_width)):
        noise = PartNoise.of(PART, price)
        low, high = noise.around(noisy)
        assert noisy - low == high - noisy == width(noise.spread) >= 0


def test_a_part_is_released_in_the_unit_of_the_answer() -> None:
    class Hushed(AnyNoise):
        def laplace(self, totals: object, scale: Fraction) -> tuple[int, ...]:
            return tuple(totals)  # type: ignore[arg-type]

    first, second = released(PartNoise.of(PART, Price.pure(10**18)), [3, -4], Hushed(None))  # type: ignore[arg-type]
    assert (first.group, first.value, first.interval) == (0, Fraction(3, 2), (Fraction(3, 2), Fraction(3, 2)))
    assert (second.group, second.value) == (1, -2)
