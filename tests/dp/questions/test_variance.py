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
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates
from dp.questions.variance import Variance
from tests.dp.questions.replay import AnyNoise, aggregates_of
from tests.dp.rows import Row, any_rows
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

HUNDRED = Grid.of(0, 100, 1)
QUIET = Price.pure(10**18)  # so much epsilon that there is no noise
GRIDS = st.builds(
    lambda step, low, width: Grid(step, low, low + width),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(7)]),
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
)


@given(values=st.lists(st.integers(-200, 300), min_size=1, max_size=30), grid=GRIDS)
@settings(deadline=None)
def test_without_noise_it_is_the_population_variance_of_the_clamped_values(values: list[int], grid: Grid) -> None:
    question = Variance(Caps(1), grid)
    aggregates = aggregates_of(question, [Row(unit, 0, 0, float(value)) for unit, value in enumerate(values)])
    steps = grid.quantise(np.array(values, dtype=np.float64)).tolist()
    exact = question.release(aggregates, QUIET, Exactly())[0]
    clamped = [step * grid.step for step in steps]
    mean = sum(clamped) / len(clamped)
    assert exact.value == sum((value - mean) ** 2 for value in clamped) / len(clamped)
    told = {part.name: part.value for part in exact.parts}
    assert told == {"sum": sum(clamped), "sum of squares": sum(value**2 for value in clamped), "count": len(clamped)}
    assert exact.interval[0] <= exact.value <= exact.interval[1]


class Exactly(AnyNoise):
    """No noise."""

    def __init__(self) -> None:
        pass

    def laplace(self, totals: object, scale: Fraction) -> tuple[int, ...]:
        return tuple(totals)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lower", "upper", "r", "half"), [(0, 100, 50, 1250), (0, 1, 1, 1), (-1, 0, 1, 1), (0, 3, 2, 2), (5, 10, 3, 5)]
)
def test_the_sensitivity_of_the_squares_is_half_of_the_largest_one(lower: int, upper: int, r: int, half: int) -> None:
    parts = Variance(Caps(2, 3), Grid.of(lower, upper, 1), 4).parts
    assert [part.l1 for part in parts] == [6 * r, 6 * half, 6]
    assert [part.squared_l2 for part in parts] == [3 * (2 * r) ** 2, 3 * (2 * half) ** 2, 12]


def test_epsilon_goes_in_thirds_and_the_rest_to_the_count() -> None:
    noise = Variance(Caps(1), Grid.of("0", "10", "0.1")).noise(Price.pure(11))
    assert [(of.part, of.nano_epsilon) for of in noise] == [("deviations", 3), ("squares", 3), ("count", 5)]
    assert noise[1].scale == Fraction(1250 * 10**9, 3) / 100  # in the unit of x, squared
    with pytest.raises(ParameterError, match=r"^epsilon: .*0\.000000003"):
        Variance(Caps(1), HUNDRED).noise(Price.pure(2))


@pytest.mark.parametrize("count", [0, -1, -(10**9)])
@pytest.mark.parametrize("part", [0, 7, -7, 10**9, -(10**9)])
def test_k19_10_a_noisy_count_of_nothing_gives_a_variance_inside_its_bounds(count: int, part: int) -> None:
    (answer,) = Variance(Caps(1), HUNDRED).release(Aggregates(((part,), (-part,), (count,))), QUIET, Exactly())
    assert 0 <= answer.value <= 2500
    assert answer.interval == (0, 2500)


@given(
    grid=GRIDS,
    totals=st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**15), 10**15), st.integers(-100, 1000)),
    seed=st.integers(0, 99),
)
@settings(deadline=None)
def test_the_answer_and_its_interval_lie_inside_what_is_possible(
    grid: Grid, totals: tuple[int, int, int], seed: int
) -> None:
    aggregates = Aggregates(tuple((total,) for total in totals))
    for price in (Price.pure(10**9), Price.gaussian(10**9)):
        (answer,) = Variance(Caps(1), grid).release(aggregates, price, RandomMechanisms(SeededRandom(seed)))
        low, high = answer.interval
        assert 0 <= low <= answer.value <= high <= Fraction((grid.upper - grid.lower) ** 2, 4) * grid.step**2


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (5, 5)])
def test_k18_05_a_variance_between_equal_bounds_is_refused_as_useless(lower: int, upper: int) -> None:
    with pytest.raises(ParameterError, match=r"^bounds: .*every variance is 0"):
        Variance(Caps(1), Grid.of(lower, upper, 1))


@given(rows=any_rows(floats=False))
@settings(deadline=None, max_examples=sized(10, 30))
def test_k19_03_squares_beyond_64_bits_are_exact(rows: list[Row]) -> None:
    grid = Grid.of(-(2**62), 2**62, 1)
    single = [row._replace(unit=place, group=0) for place, row in enumerate(rows)]
    _, (squares,), _ = aggregates_of(Variance(Caps(1), grid), single, floats=False).totals
    clamped = [min(max(int(row.value), -(2**62)), 2**62) for row in rows]
    assert squares == sum(value**2 - 2**123 for value in clamped)


@pytest.mark.parametrize("price", [Price.pure(10**9), Price.gaussian(5 * 10**8)], ids=["pure", "gaussian"])
def test_the_stated_interval_holds_the_variance_at_least_as_often_as_stated(price: Price) -> None:
    question, mechanisms = Variance(Caps(1), HUNDRED), RandomMechanisms(OperatingSystemRandom())
    runs = sized(300, 50_000)
    values = np.random.default_rng(7).integers(0, 101, 200).tolist()
    aggregates = aggregates_of(question, [Row(unit, 0, 0, value) for unit, value in enumerate(values)])
    answers = [question.release(aggregates, price, mechanisms)[0] for _ in range(runs)]
    inside = sum(answer.interval[0] <= np.var(values) <= answer.interval[1] for answer in answers)
    assert inside / runs >= 0.95 - 5 * (0.05 / runs) ** 0.5
