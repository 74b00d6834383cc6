"""The batch bound; the oracle is dp-accounting's privacy loss distribution of randomised response."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp, isclose

import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.accounting import kov
from dp.accounting.concentrated import epsilon_of
from dp.accounting.kov import PrivacyLosses, kov_epsilon
from dp.epsilon import laplace_rho
from dp.errors import ParameterError
from tests.sizes import sized

TENTH, MILLIONTH = 10**8, 10**12
EPSILONS = st.lists(st.integers(1, 2 * 10**9), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [(1, "0.1000"), (10, "0.9994"), (20, "1.7886"), (100, "4.7746"), (1000, "19.3447"), (10_000, "96.5718")],
)
def test_k_answers_of_a_tenth_at_a_millionth(k: int, epsilon: str) -> None:
    """dp-accounting 0.6 gave these, of discrete Laplace noise."""
    assert f"{kov_epsilon([TENTH] * k, MILLIONTH) / 10**9:.4f}" == epsilon


def _by_enumeration(epsilons: list[int], nano_epsilon: int) -> float:
    """The delta of the product of randomised responses, outcome by outcome."""
    delta = 0.0
    for signs in product((1, -1), repeat=len(epsilons)):
        loss = sum(sign * nano for sign, nano in zip(signs, epsilons, strict=True)) / 10**9
        likely = 1.0
        for sign, nano in zip(signs, epsilons, strict=True):
            likely /= 1 + exp(-sign * nano / 10**9)
        delta += likely * max(0.0, 1 - exp(nano_epsilon / 10**9 - loss))
    return delta


@settings(deadline=None, max_examples=sized(40, 1000))
@given(EPSILONS, st.integers(0, 14 * 10**9))
def test_the_delta_of_different_epsilons_is_that_of_their_outcomes(epsilons: list[int], nano_epsilon: int) -> None:
    told = float(PrivacyLosses.of(Counter(epsilons)).delta(nano_epsilon))
    assert isclose(told, _by_enumeration(epsilons, nano_epsilon), rel_tol=1e-9, abs_tol=1e-15)


@settings(deadline=None, max_examples=sized(20, 1000))
@given(EPSILONS, st.integers(1, 10**17 - 1), st.integers(1, 10**9))
def test_a_batch_costs_no_more_than_its_sum_and_more_with_more_questions(
    epsilons: list[int], atto_delta: int, another: int
) -> None:
    told = kov_epsilon(epsilons, atto_delta)
    losses = PrivacyLosses.of(Counter(epsilons))
    assert told <= sum(epsilons) == kov_epsilon(epsilons, 0)
    assert losses.delta(told) <= Fraction(atto_delta, 10**18)
    assert told == 0 or losses.delta(told - 1) > Fraction(atto_delta, 10**18)
    assert kov_epsilon([*epsilons, another], atto_delta) >= told
    assert kov_epsilon(epsilons, 10 * atto_delta) <= told


@pytest.mark.parametrize(("nano", "k"), [(10**8, 50), (10**9, 7), (10**7, 300)])
def test_dp_accounting_gives_no_more_and_hardly_less(nano: int, k: int) -> None:
    one = privacy_loss_distribution.from_randomized_response(
        2 / (1 + exp(nano / 10**9)), 2, value_discretization_interval=1e-5
    )
    oracle = one.self_compose(k).get_epsilon_for_delta(1e-6)  # pessimistic itself, by its own discretisation
    told = kov_epsilon([nano] * k, MILLIONTH) / 10**9
    assert told <= oracle + 1e-9
    assert isclose(told, oracle, rel_tol=2e-3)


def test_a_large_batch_of_different_epsilons_is_bounded_in_closed_form() -> None:
    epsilons = [TENTH + number for number in range(200)]
    told = kov_epsilon(epsilons, MILLIONTH)
    assert kov_epsilon([TENTH] * 200, MILLIONTH) <= told < sum(epsilons) / 2
    assert told == epsilon_of(sum(map(laplace_rho, epsilons)), MILLIONTH)


def test_many_different_epsilons_never_cost_more_than_their_sum() -> None:
    epsilons = [TENTH + number for number in range(16)]
    assert kov_epsilon(epsilons, MILLIONTH) == sum(epsilons) < epsilon_of(sum(map(laplace_rho, epsilons)), MILLIONTH)


@settings(deadline=None, max_examples=sized(40, 500))
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), st.integers(1, 10**17))
def test_the_closed_form_is_never_below_the_sum_over_losses(epsilons: list[int], atto_delta: int) -> None:
    losses = PrivacyLosses.of(Counter(epsilons))
    closed = kov._theorem_3_5(Counter(epsilons), atto_delta)
    assert losses.delta(closed) <= Fraction(atto_delta, 10**18)


@pytest.mark.parametrize(
    ("epsilons", "delta"), [([], 1), ([0], 1), ([1.0], 1), ([10**18 + 1], 1), ([1], -1), ([1], 10**18), ([1], 0.5)]
)
def test_what_is_no_batch_is_refused(epsilons: list[int], delta: int) -> None:
    with pytest.raises(ParameterError):
        kov_epsilon(epsilons, delta)
