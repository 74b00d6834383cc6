"""Accounts: what each way of adding gives, where it has a figure, and what that holds for."""

import pytest

from dp.accounting.concentrated import MAX_NANO_RHO, epsilon_of
from vault.reporting.account import HoldsFor, accounts
from vault.reporting.amount import NOTHING, Amount

SPENT = Amount(2, 3 * 10**9, 10**8, 4, 0)
UNTIL = Amount(5, 7 * 10**9, 5 * 10**8, 6, 0)
NO_BATCH = (NOTHING, NOTHING)
ATTO = 10**12


def test_without_a_delta_only_epsilon_has_a_sum() -> None:
    by_sum, by_rho = accounts(SPENT, UNTIL, 0, NO_BATCH)
    assert (by_sum.quarter, by_sum.until_end) == ((3 * 10**9, 4), (7 * 10**9, 6))
    assert (by_rho.quarter, by_rho.until_end) == ((None, 4), (None, 6))


def test_with_one_the_sum_of_rho_is_converted_at_it() -> None:
    _, by_rho = accounts(SPENT, UNTIL, ATTO, NO_BATCH)
    assert by_rho.quarter == (epsilon_of(10**8, ATTO), 4 + ATTO)
    assert by_rho.until_end == (epsilon_of(5 * 10**8, ATTO), 6 + ATTO)


def test_an_answer_without_epsilon_leaves_its_sum_without_a_figure() -> None:
    by_sum, by_rho = accounts(Amount(1, 0, 10**8, 0, 1), UNTIL.plus(Amount(1, 0, 0, 0, 1)), ATTO, NO_BATCH)
    assert (by_sum.quarter, by_sum.until_end) == ((None, 0), (None, 6))
    assert by_rho.quarter[0] is not None


@pytest.mark.parametrize(("rho", "epsilon"), [(0, 0), (MAX_NANO_RHO + 1, None)])
def test_nothing_and_too_much_are_not_converted(rho: int, epsilon: int | None) -> None:
    _, by_rho = accounts(Amount(nano_rho=rho), Amount(nano_rho=rho), ATTO, NO_BATCH)
    assert by_rho.quarter == (epsilon, 0)


def test_batches_are_told_where_there_is_one() -> None:
    *_, batches = accounts(SPENT, UNTIL, 0, (NOTHING, Amount(1, 5, 1, 2, 0)))
    assert (batches.quarter, batches.until_end) == ((0, 0), (5, 2))
    assert batches.holds_for is HoldsFor.DECLARED


def test_only_the_sum_of_epsilon_holds_whatever_was_chosen() -> None:
    assert [one.holds_for for one in accounts(SPENT, UNTIL, ATTO, NO_BATCH)] == [HoldsFor.ALL, HoldsFor.QUESTIONS]
