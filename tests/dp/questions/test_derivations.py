"""What docs/privacy.md says of scales, computed by hand from its table, is what the questions tell of their noise."""

from fractions import Fraction
from math import ceil, floor

import pytest

from dp.answer import NoiseScale
from dp.caps import Caps
from dp.grid import Grid
from dp.noise.threshold import threshold_delta
from dp.price import Price
from dp.questions.count import Count
from dp.questions.count_distinct import CountDistinct
from dp.questions.count_units import CountUnits
from dp.questions.histogram import Histogram
from dp.questions.mean import Mean
from dp.questions.quantiles import Quantiles
from dp.questions.question import Question
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.sum import Sum
from dp.questions.top_groups import TopGroups
from dp.questions.undeclared_groups import UndeclaredGroups
from dp.questions.variance import Variance

# Numbers of which no two are alike, so that none stands in for another.
C, K, N_GROUPS, NANO = 3, 5, 11, 700_000_001
G, LOWER, UPPER = Fraction(1, 4), -7, 30
EPSILON = Fraction(NANO, 10**9)
CAPS, ONE, GRID = Caps(C, K), Caps(1, K), Grid(G, LOWER, UPPER)
M = floor(Fraction(LOWER + UPPER, 2))
R = max(UPPER - M, M - LOWER)
HALF = ceil(Fraction(R**2, 2))


def nano(share: int) -> Fraction:
    return Fraction(share, 10**9)


def told(question: Question, price: Price) -> list[Fraction]:
    return [noise.scale for noise in question.noise(price)]


BY_HAND: list[tuple[Question, list[Fraction], list[Fraction]]] = [
    # question, d of each part, unit of each part
    (Count(CAPS, N_GROUPS), [Fraction(C)], [Fraction(1)]),
    (CountUnits(ONE, N_GROUPS), [Fraction(1)], [Fraction(1)]),
    (CountDistinct(CAPS, GRID, N_GROUPS), [Fraction(C)], [Fraction(1)]),
    (Histogram(CAPS, GRID, (-7, 0, 9, 30), N_GROUPS), [Fraction(C)], [Fraction(1)]),
    (Sum(CAPS, GRID, N_GROUPS), [Fraction(C * 30)], [G]),
    (Mean(CAPS, GRID, N_GROUPS), [Fraction(C * R), Fraction(C)], [G, Fraction(1)]),
    (Variance(CAPS, GRID, N_GROUPS), [Fraction(C * R), Fraction(C * HALF), Fraction(C)], [G, G**2, Fraction(1)]),
    (
        StandardDeviation(CAPS, GRID, N_GROUPS),
        [Fraction(C * R), Fraction(C * HALF), Fraction(C)],
        [G, G**2, Fraction(1)],
    ),
]


@pytest.mark.parametrize(("question", "moved", "units"), BY_HAND, ids=lambda value: type(value).__name__)
def test_of_what_adds_up(question: Question, moved: list[Fraction], units: list[Fraction]) -> None:
    each = NANO // len(moved)
    spent = [*[each] * (len(moved) - 1), NANO - each * (len(moved) - 1)]
    rows = list(zip(moved, units, spent, strict=True))
    assert told(question, Price.pure(NANO)) == [d * K / nano(share) * unit for d, unit, share in rows]
    assert told(question, Price.gaussian(NANO)) == [d**2 * K / (2 * nano(share)) * unit**2 for d, unit, share in rows]


def test_of_choices() -> None:
    p, q = 3, 10
    quantile = Quantiles(CAPS, GRID, (Fraction(p, q),), N_GROUPS)
    exponent = EPSILON / (2 * C * K * max(p, q - p))
    assert quantile.exponents(Price.pure(NANO)) == (exponent,)
    assert told(quantile, Price.pure(NANO)) == [1 / (exponent * q)]
    each = NANO // (2 * 4)
    top = TopGroups(CAPS, 4, N_GROUPS)
    assert told(top, Price.pure(NANO)) == [C / nano(each), C * min(K, 4) / nano(NANO - 4 * each)]


def test_of_keys_behind_the_threshold() -> None:
    question, price = UndeclaredGroups(ONE), Price.approximate(NANO, 10**10)
    assert question.noise(price) == (NoiseScale("units", K / EPSILON, NANO),)
    assert threshold_delta(question.threshold(price), NANO, K) <= Fraction(1, 10**8)
    assert threshold_delta(question.threshold(price) - 1, NANO, K) > Fraction(1, 10**8)


def test_the_worked_example() -> None:
    assert told(Mean(Caps(1), Grid.of(0, 100, 1)), Price.pure(10**9)) == [100, 2]
