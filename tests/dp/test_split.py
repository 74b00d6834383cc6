from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.preview import preview, price_for
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.sum import Sum
from dp.split import Wanted, equal_shares, split, split_by_error

WEIGHTS = st.lists(st.integers(1, 1000) | st.fractions(Fraction(1, 100), 100), min_size=1, max_size=12)


@given(st.integers(1, 10**18), WEIGHTS)
def test_shares_add_up_to_the_budget_and_miss_theirs_by_less_than_a_billionth(
    nano: int, weights: list[int | Fraction]
) -> None:
    exact = [nano * Fraction(weight) / sum(map(Fraction, weights)) for weight in weights]
    assume(min(exact) >= 1)
    shares = split(nano, weights)
    assert sum(shares) == nano
    assert all(abs(share - wanted) < 1 for share, wanted in zip(shares, exact, strict=True))


@pytest.mark.parametrize(("nano", "n"), [(10**9, 3), (10**9, 7), (10**8, 30), (5, 5)])
def test_equal_shares_never_add_up_to_more_and_differ_by_a_billionth(nano: int, n: int) -> None:
    shares = equal_shares(nano, n)
    assert (sum(shares), len(shares)) == (nano, n)
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("nano", "weights"), [(10, []), (10, [0]), (10, [1, -1]), (10, [0.5]), (2, [1, 1, 1]), (10, [1, 1000]), (0, [1])]
)
def test_what_cannot_be_shared_is_refused(nano: int, weights: list[int]) -> None:
    with pytest.raises(ParameterError):
        split(nano, weights)


@pytest.mark.parametrize("n", [0, -1, 1.0, True])
def test_shares_are_of_a_number_of_questions(n: int) -> None:
    with pytest.raises(ParameterError, match=r"^n: "):
        equal_shares(10, n)


def test_a_budget_is_split_by_the_error_wanted_of_each() -> None:
    count, total = Count(Caps(1)), Sum(Caps(1), Grid.of(0, 100, 1))
    wanted = [
        Wanted(count, Fraction(10)),
        Wanted(total, Fraction(1000)),
        Wanted(Mean(Caps(1), total.grid), Fraction(5), 200),
    ]
    needed = [price_for(each.question, each.error, each.count) for each in wanted]
    enough = sum(price.nano_epsilon or 0 for price in needed)
    assert split_by_error(enough, wanted) == tuple(price.nano_epsilon for price in needed)
    for each, share in zip(wanted, split_by_error(2 * enough, wanted), strict=True):
        assert preview(each.question, Price.pure(share), each.count).error <= each.error
    for each, share in zip(wanted, split_by_error(enough // 2, wanted), strict=True):
        assert 1.5 < preview(each.question, Price.pure(share), each.count).error / each.error < 2.6
