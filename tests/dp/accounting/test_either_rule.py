from hypothesis import given, settings
from hypothesis import strategies as st

from dp.accounting.concentrated import converts, largest_rho
from dp.accounting.either_rule import Limits, Spent
from dp.price import Price
from tests.sizes import sized

PRICES = st.builds(Price, st.none() | st.integers(1, 50), st.integers(1, 50), st.integers(0, 3))
LIMITS = st.builds(Limits, st.integers(1, 150), st.integers(0, 8), st.integers(0, 150))


@given(LIMITS, st.lists(PRICES, max_size=8))
def test_a_lifetime_allows_what_both_words_of_the_rule_say(limits: Limits, prices: list[Price]) -> None:
    spent = Spent()
    for price in prices:
        spent = spent.plus(price)
    epsilon = sum(float("inf") if price.nano_epsilon is None else price.nano_epsilon for price in prices)
    either = epsilon <= limits.nano_epsilon or sum(price.nano_rho for price in prices) <= limits.nano_rho
    assert spent.within(limits) == (either and sum(price.atto_delta for price in prices) <= limits.atto_delta)


@settings(deadline=None, max_examples=sized(10, 200))
@given(st.integers(1, 10**14), st.integers(0, 10**18 - 1))
def test_the_limits_of_a_lifetime_promise_no_more_than_its_delta(nano_epsilon: int, atto_delta: int) -> None:
    limits = Limits.of(nano_epsilon, atto_delta)
    for_rho = atto_delta - limits.atto_delta
    assert 0 <= limits.atto_delta <= for_rho <= limits.atto_delta + 1
    assert converts(limits.nano_rho, nano_epsilon, for_rho)


def test_without_a_delta_only_the_sum_of_epsilon_counts() -> None:
    assert Limits.of(10**9, 0) == Limits(10**9, 0, 0)
    assert Limits.of(10**9, 10**12).nano_rho == largest_rho(10**9, 5 * 10**11) > 10**7
