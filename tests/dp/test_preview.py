"""Previews read nothing, and say what the answers will turn out to be."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.answer import RANK_LABEL
from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.interval import choice_half_width, gaussian_half_width, half_width
from dp.preview import NoNoise, preview, price_for
from dp.price import Price
from dp.questions.count import Count
from dp.questions.mean import Mean
from dp.questions.quantiles import Quantiles
from dp.questions.question import Aggregates, Question, release
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.sum import Sum
from dp.questions.undeclared_groups import UndeclaredGroups
from dp.questions.variance import Variance
from tests.dp.questions.every import additive, choosing
from tests.sizes import sized

ONE = Price.pure(10**9)
HUNDRED = Grid.of(0, 100, 1)


def test_of_an_additive_question_the_error_is_the_half_width_of_its_noise() -> None:
    assert preview(Count(Caps(2, 3), 10), ONE).error == half_width(Fraction(6)) == 18
    found = preview(Sum(Caps(1), Grid.of("0", "10", "0.1")), ONE)
    assert (found.error, found.width) == (
        half_width(Fraction(100)) / Fraction(10),
        half_width(Fraction(100)) / Fraction(5),
    )
    gaussian = preview(Count(Caps(2)), Price.gaussian(5 * 10**8))
    assert (gaussian.error, gaussian.mechanism) == (gaussian_half_width(Fraction(4)), "discrete Gaussian")


def test_of_a_quantile_it_is_in_rows_of_rank() -> None:
    found = preview(Quantiles(Caps(1), Grid.of(500, 600, 1)), ONE)
    assert (found.interval_label, found.error) == (RANK_LABEL, choice_half_width(Fraction(1), 101))


@pytest.mark.parametrize("kind", [Mean, Variance, StandardDeviation])
@settings(deadline=None, max_examples=sized(30, 500))
@given(
    count=st.integers(1, 20),
    share=st.integers(0, 16),
    nano=st.sampled_from([2 * 10**8, 10**9, 5 * 10**9]),
    lower=st.sampled_from([-3, 0, 7]),
)
def test_wherever_the_values_lie_the_interval_reaches_no_further(
    kind: type[Mean], count: int, share: int, nano: int, lower: int
) -> None:
    question, price = kind(Caps(1), Grid.of(lower, 40, 1)), Price.pure(nano)
    values = [40 - question.middle] * (count * share) + [lower - question.middle] * (count * (16 - share))
    squares = () if kind is Mean else (sum(value**2 for value in values) - len(values) * _half_square(question),)
    aggregates = Aggregates(tuple((total,) for total in (sum(values), *squares, len(values))))
    (answer,) = question.release(aggregates, price, NoNoise())
    low, high = answer.interval
    expected = preview(question, price, len(values))
    assert max(high - answer.value, answer.value - low) <= expected.error
    assert high - low <= expected.width


def _half_square(question: Mean) -> int:
    return max(question.grid.upper - question.middle, question.middle - question.grid.lower) ** 2 // 2


def test_answers_miss_by_no_more_than_that_in_95_of_100() -> None:
    question, n, runs = Mean(Caps(1), HUNDRED), 50, sized(2_000, 20_000)
    expected = preview(question, ONE, n)
    aggregates = Aggregates(((-20 * n,), (n,)))
    values = [release(question, "", aggregates, ONE).groups[0].value for _ in range(runs)]
    assert sum(abs(value - 30) <= expected.error for value in values) / runs > 0.95


def test_every_question_has_a_preview_at_a_price_it_takes() -> None:
    for question in (
        *additive(HUNDRED, Caps(1, 2), 3),
        *choosing(HUNDRED, Caps(1, 2), 3),
        UndeclaredGroups(Caps(1, 2)),
    ):
        for price in (ONE, Price.gaussian(10**8), Price.approximate(10**9, 10**12)):
            try:
                question.noise(price)
            except ParameterError:
                with pytest.raises(ParameterError):
                    preview(question, price, 100)
            else:
                found = preview(question, price, 100)
                assert 0 < found.error <= found.width
                assert found.noise == question.noise(price)


@settings(deadline=None, max_examples=sized(15, 200))
@given(st.integers(1, 500), st.sampled_from([Count(Caps(3)), Sum(Caps(1), HUNDRED), Mean(Caps(1), HUNDRED)]))
def test_the_price_for_an_error_gives_it_and_a_billionth_less_does_not(error: int, question: Question) -> None:
    price = price_for(question, Fraction(error), 100)
    assert price.nano_epsilon is not None
    assert preview(question, price, 100).error <= error
    try:
        assert preview(question, Price.pure(price.nano_epsilon - 1), 100).error > error
    except ParameterError:
        assert (price.nano_epsilon, type(question)) == (2, Mean)


def test_the_price_may_be_of_rho_or_have_a_delta() -> None:
    price = price_for(Count(Caps(1)), Fraction(20), price_of=Price.gaussian)
    assert price.nano_epsilon is None
    assert preview(Count(Caps(1)), price).error <= 20
    assert preview(Count(Caps(1)), Price.gaussian(price.nano_rho - 1)).error > 20


@pytest.mark.parametrize("count", [None, 0, -1, True, 1.5, 10**15 + 1])
def test_a_mean_needs_a_count_that_is_assumed(count: int) -> None:
    with pytest.raises(ParameterError, match=r"^count: .*from no data"):
        preview(Mean(Caps(1), HUNDRED), ONE, count)


@pytest.mark.parametrize("error", [-1, 0.5, "1", None])
def test_an_error_is_an_exact_number(error: int) -> None:
    with pytest.raises(ParameterError, match=r"^error: "):
        price_for(Count(Caps(1)), error)  # type: ignore[arg-type]


def test_prices_the_question_does_not_take_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^price: "):
        price_for(Quantiles(Caps(1), HUNDRED), Fraction(10), price_of=Price.gaussian)
