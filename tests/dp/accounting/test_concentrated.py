"""Rho and what it converts to; the oracles are OpenDP and dp-accounting."""

from math import isclose

import opendp.prelude as opendp
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.accounting.concentrated import converts, epsilon_of, largest_rho
from dp.epsilon import laplace_rho
from dp.errors import ParameterError
from tests.sizes import sized

MILLIONTH = 10**12
RHOS = st.integers(0, 30).flatmap(lambda bits: st.integers(1, 2**bits)).map(lambda nano: nano * 7)
DELTAS = st.integers(0, 17).flatmap(lambda digits: st.integers(1, 9 * 10**digits))

opendp.enable_features("contrib")


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [(1, 0.4299), (10, 1.4716), (20, 2.1419), (100, 5.2215), (1000, 20.5520), (10_000, 100.6899)],
)
def test_k_answers_of_a_tenth_at_a_millionth(k: int, epsilon: float) -> None:
    """dp-accounting 0.6 and OpenDP 0.16 gave these."""
    told = epsilon_of(k * laplace_rho(10**8), MILLIONTH) / 10**9
    assert isclose(told, epsilon, abs_tol=1e-4)


@settings(deadline=None, max_examples=sized(20, 400))
@given(RHOS, st.integers(1, 10**17))
def test_opendp_converts_to_no_more_and_hardly_less(nano_rho: int, atto_delta: int) -> None:
    told = epsilon_of(nano_rho, atto_delta) / 10**9
    space = opendp.atom_domain(T="i64"), opendp.absolute_distance(T="i64")
    # A scale with which one step costs rho.
    measurement = opendp.m.make_gaussian(*space, scale=(1 / (2 * nano_rho / 10**9)) ** 0.5)
    oracle = opendp.c.make_zCDP_to_approxDP(measurement).map(1).epsilon(delta=atto_delta / 10**18)
    assert oracle * (1 - 1e-9) - 2e-9 <= told <= oracle * (1 + 1e-6) + 2e-9


@pytest.mark.parametrize("nano_rho", [1000, 5_000_000, 10**9, 10**11])
def test_the_whole_curve_is_worth_no_less_than_dp_accountings_orders(nano_rho: int) -> None:
    orders = [1 + step / 50 for step in range(1, 500)] + list(range(11, 3000, 7))
    divergences = [order * nano_rho / 10**9 for order in orders]
    oracle, _ = rdp_privacy_accountant.compute_epsilon(orders, divergences, 1e-6)
    assert epsilon_of(nano_rho, MILLIONTH) / 10**9 <= oracle + 1e-9


@settings(deadline=None, max_examples=sized(25, 500))
@given(RHOS, DELTAS, st.integers(0, 10**9))
def test_what_is_told_is_proven_and_grows_with_rho(nano_rho: int, atto_delta: int, more: int) -> None:
    told = epsilon_of(nano_rho, atto_delta)
    assert converts(nano_rho, told, atto_delta)
    assert epsilon_of(nano_rho + more, atto_delta) >= told
    if told > 0:
        assert not converts(nano_rho, told - 1, atto_delta)


@settings(deadline=None, max_examples=sized(25, 500))
@given(st.integers(1, 10**14), DELTAS)
def test_the_largest_rho_converts_and_the_next_does_not(nano_epsilon: int, atto_delta: int) -> None:
    rho = largest_rho(nano_epsilon, atto_delta)
    assert converts(rho, nano_epsilon, atto_delta)
    assert not converts(rho + 1, nano_epsilon, atto_delta)
    assert rho == 0 or epsilon_of(rho, atto_delta) <= nano_epsilon


def test_a_rho_buys_epsilon_nowhere_without_a_delta() -> None:
    assert largest_rho(10**14, 0) == 0
    assert not converts(1, 10**14, 0)
    assert converts(0, 1, 0)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (epsilon_of, (-1, 1)),
        (epsilon_of, (1.0, 1)),
        (epsilon_of, (10**18 + 1, 1)),
        (epsilon_of, (1, 0)),
        (epsilon_of, (1, 10**18)),
        (largest_rho, (0, 1)),
        (largest_rho, (1, -1)),
        (largest_rho, (1, 10**18)),
        (largest_rho, (10**18 + 1, 1)),
    ],
)
def test_what_is_no_rho_epsilon_or_delta_is_refused(call: object, arguments: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match=r"^(nano_rho|nano_epsilon|atto_delta): it must be an int"):
        call(*arguments)  # type: ignore[operator]
