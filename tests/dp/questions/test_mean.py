from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.noise.random_source import OperatingSystemRandom
from dp.price import Price
from dp.questions.mean import Mean
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

HUNDRED = Grid.of(0, 100, 1)
QUIET = Price.pure(10**18)  # so much epsilon that the noise is 0
EPSILON = Price.pure(10**9)
GRIDS = st.builds(
    lambda step, low, width: Grid(step, low, low + width),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(7)]),
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
)


def test_k19_01_nan_is_dropped_and_infinities_clamp() -> None:
    values = [10.0, float("nan"), float("inf"), float("-inf"), 50.0]
    question = Mean(Caps(1), HUNDRED)
    aggregates = aggregates_of(question, [Row(unit, 0, 0, value) for unit, value in enumerate(values)])
    assert aggregates.totals == ((160 - 4 * 50,), (4,))
    (answer,) = question.release(aggregates, QUIET, RandomMechanisms(SeededRandom(1)))
    assert answer.value == 40
    assert {part.name: part.value for part in answer.parts} == {"sum": 160, "count": 4}


@pytest.mark.parametrize("count", [0, -1, -(10**9)])
@pytest.mark.parametrize("deviations", [0, 7, -7, 10**9, -(10**9)])
def test_k19_10_a_noisy_count_of_nothing_gives_a_mean_inside_the_bounds(count: int, deviations: int) -> None:
    (answer,) = Mean(Caps(1), HUNDRED).release(
        Aggregates(((deviations,), (count,))), QUIET, RandomMechanisms(SeededRandom(1))
    )
    assert answer.value == min(max(50 + deviations, 0), 100)  # the middle and the noisy deviations over one
    assert answer.interval == (0, 100)


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (5, 5), (-3, -3)])
def test_k18_05_a_mean_between_equal_bounds_is_refused_as_useless(lower: int, upper: int) -> None:
    with pytest.raises(ParameterError, match=r"^bounds: .*equal"):
        Mean(Caps(1), Grid.of(lower, upper, 1))


@given(grid=GRIDS, deviations=st.integers(-(10**9), 10**9), count=st.integers(-100, 1000), seed=st.integers(0, 99))
@settings(deadline=None)
def test_the_answer_and_its_interval_lie_inside_the_bounds(grid: Grid, deviations: int, count: int, seed: int) -> None:
    (answer,) = Mean(Caps(1), grid).release(
        Aggregates(((deviations,), (count,))), EPSILON, RandomMechanisms(SeededRandom(seed))
    )
    low, high = answer.interval
    assert grid.lower * grid.step <= low <= answer.value <= high <= grid.upper * grid.step


@pytest.mark.parametrize(
    ("lower", "upper", "r"), [(0, 100, 50), (0, 1, 1), (-1, 0, 1), (0, 3, 2), (-3, 0, 2), (5, 10, 3)]
)
def test_the_sensitivity_is_the_further_way_from_the_middle(lower: int, upper: int, r: int) -> None:
    deviations, count = Mean(Caps(2, 3), Grid.of(lower, upper, 1), 4).parts
    assert (deviations.l1, count.l1) == (6 * r, 6)
    assert (deviations.squared_l2, count.squared_l2) == (3 * (2 * r) ** 2, 3 * 2**2)


def test_epsilon_is_halved_and_the_odd_nano_goes_to_the_count() -> None:
    question = Mean(Caps(1), HUNDRED)
    noises = question.noise(Price.pure(7))
    assert [(noise.part, noise.nano_epsilon) for noise in noises] == [("deviations", 3), ("count", 4)]
    with pytest.raises(ParameterError, match=r"^epsilon: .*0\.000000002"):
        question.noise(Price.pure(1))
    assert [noise.nano_epsilon for noise in question.noise(Price.pure(2))] == [1, 1]


def test_the_stated_interval_holds_the_mean_at_least_as_often_as_stated() -> None:
    question, mechanisms, runs = (
        Mean(Caps(1), HUNDRED),
        RandomMechanisms(OperatingSystemRandom()),
        sized(2_000, 100_000),
    )
    values = np.random.default_rng(7).integers(0, 101, 200).tolist()
    aggregates = aggregates_of(question, [Row(unit, 0, 0, value) for unit, value in enumerate(values)])
    truth = Fraction(sum(values), 200)
    answers = [question.release(aggregates, EPSILON, mechanisms)[0] for _ in range(runs)]
    assert (
        sum(answer.interval[0] <= truth <= answer.interval[1] for answer in answers) / runs
        >= 0.95 - 5 * (0.05 / runs) ** 0.5
    )


def test_k21_01_a_mean_is_not_biased() -> None:
    values = np.random.default_rng(1).uniform(0, 10, 2022)
    question, mechanisms = Mean(Caps(1), Grid.of("0", "10", "0.001")), RandomMechanisms(OperatingSystemRandom())
    aggregates = aggregates_of(question, [Row(unit, 0, 0, value) for unit, value in enumerate(values.tolist())])
    answers = [float(question.release(aggregates, EPSILON, mechanisms)[0].value) for _ in range(sized(1_000, 20_000))]
    assert abs(np.mean(answers) - values.mean()) < 0.02


def test_a_small_group_is_off_by_less_than_a_quotient_would_be() -> None:
    question, mechanisms = Mean(Caps(1), HUNDRED), RandomMechanisms(OperatingSystemRandom())
    aggregates = aggregates_of(question, [Row(unit, 0, 0, 20.0) for unit in range(20)])
    errors = [
        float(question.release(aggregates, EPSILON, mechanisms)[0].value) - 20 for _ in range(sized(2_000, 20_000))
    ]
    assert np.sqrt(np.mean(np.square(errors))) < 12  # a plain quotient of noisy sum and count: 42
