"""A batch under each accountant, and what it costs as one charge."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.accounting.concentrated import epsilon_of
from dp.accounting.either_rule import Limits, Spent
from dp.accounting.kov import kov_epsilon
from dp.errors import ParameterError
from dp.plan import plan
from dp.price import Price
from tests.sizes import sized

TENTH, MILLIONTH = 10**8, 10**12
PRICES = st.lists(
    st.integers(1, 10**9).map(Price.pure) | st.builds(Price.approximate, st.integers(1, 10**9), st.integers(1, 10**9)),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize(("k", "helps"), [(1, False), (10, False), (20, True), (100, True)])
def test_the_finer_accountants_help_from_about_twenty_questions_on(k: int, helps: bool) -> None:
    found = plan([Price.pure(TENTH)] * k, MILLIONTH)
    assert (found.pure_sum, found.kov) == (k * TENTH, kov_epsilon([TENTH] * k, MILLIONTH))
    assert found.concentrated == epsilon_of(k * TENTH**2 // (2 * 10**9), MILLIONTH)
    assert found.helps == helps
    assert ("do not help here" in found.advice) == (not helps)
    assert ("in place of" in found.advice) == helps


def test_as_one_charge_a_batch_has_its_bound_and_delta_on_one_side_and_the_sum_of_rho_on_the_other() -> None:
    assert plan([Price.pure(TENTH)] * 100, MILLIONTH).price == Price(
        kov_epsilon([TENTH] * 100, MILLIONTH), 100 * 5_000_000, MILLIONTH
    )
    assert plan([Price.pure(TENTH)] * 10, MILLIONTH).price == Price(10**9, 10 * 5_000_000, 0)  # no delta for nothing
    assert plan([Price.pure(TENTH)] * 100, 0).price == Price(10**10, 100 * 5_000_000, 0)


def test_a_gaussian_question_leaves_only_the_sum_of_rho() -> None:
    found = plan([Price.pure(TENTH), Price.gaussian(7)], MILLIONTH)
    assert (found.pure_sum, found.kov, found.helps) == (None, None, False)
    assert found.price == Price.gaussian(5_000_007)
    assert found.concentrated == epsilon_of(5_000_007, MILLIONTH)
    assert "only the sum of rho" in found.advice


def test_without_a_delta_there_is_only_the_plain_sum() -> None:
    found = plan([Price.pure(TENTH)] * 30, 0)
    assert (found.kov, found.concentrated) == (30 * TENTH, None)
    assert "Without a delta" in found.advice


@settings(deadline=None, max_examples=sized(30, 500))
@given(PRICES, st.sampled_from([0, 1, MILLIONTH, 10**17]), st.integers(1, 6 * 10**9), st.sampled_from([0, MILLIONTH]))
def test_a_batch_costs_no_more_than_its_questions_and_fits_where_they_fit_one_by_one(
    prices: list[Price], atto_delta: int, lifetime: int, lifetime_delta: int
) -> None:
    found = plan(prices, atto_delta)
    price = found.price
    assert price.nano_epsilon is not None
    assert price.nano_epsilon <= sum(each.nano_epsilon or 0 for each in prices)
    assert price.nano_rho == sum(each.nano_rho for each in prices)
    own = sum(each.atto_delta for each in prices)
    assert price.atto_delta == own + (atto_delta if found.helps else 0)
    limits, spent = Limits.of(lifetime, lifetime_delta), Spent()
    fitted = True
    for each in prices:
        spent = spent.plus(each)
        fitted = fitted and spent.within(limits)
    assert found.fits_one_by_one(limits, Spent()) == fitted
    if fitted and not found.helps:
        assert found.fits_as_batch(limits, Spent())


def test_what_was_spent_before_counts_for_questions_asked_one_by_one() -> None:
    found = plan([Price.pure(TENTH)] * 3, 0)
    assert found.fits_one_by_one(Limits(4 * TENTH), Spent(nano_epsilon=TENTH))
    assert not found.fits_one_by_one(Limits(4 * TENTH), Spent(nano_epsilon=TENTH + 1))


def test_a_lifetime_may_allow_a_batch_that_it_does_not_allow_one_by_one() -> None:
    found = plan([Price.pure(TENTH)] * 100, 10**11)
    limits = Limits(ceil(found.kov or 0), 10**11, 0)
    assert found.fits_as_batch(limits, Spent())
    assert not found.fits_one_by_one(limits, Spent())
    assert not found.fits_as_batch(limits, Spent(nano_epsilon=1))


@pytest.mark.parametrize(
    ("prices", "delta"),
    [([], 1), ([Price.pure(1)] * 10_001, 1), ([Price.pure(1)], -1), ([Price.pure(1)], 10**18), ([10**9], 1)],
)
def test_what_is_no_batch_is_refused(prices: list[Price], delta: int) -> None:
    with pytest.raises(ParameterError):
        plan(prices, delta)


def test_prices_that_protect_nobody_are_refused() -> None:
    with pytest.raises(ParameterError, match="protect nobody"):
        plan([Price.pure(10**18)], 1)
