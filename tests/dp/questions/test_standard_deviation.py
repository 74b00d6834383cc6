from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dp.caps import Caps
from dp.grid import Grid
from dp.price import Price
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates
from dp.questions.standard_deviation import StandardDeviation
from dp.questions.variance import Variance
from tests.dp.seeded import SeededRandom

GRID = Grid.of("0", "100", "0.01")


@given(totals=st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**9), 10**9), st.integers(-5, 1000)))
def test_it_is_the_root_of_the_variance_that_the_same_noise_gives(totals: tuple[int, int, int]) -> None:
    aggregates, price = Aggregates(tuple((total,) for total in totals)), Price.pure(10**9)
    (variance,), (deviation,) = (
        kind(Caps(1), GRID).release(aggregates, price, RandomMechanisms(SeededRandom(1)))
        for kind in (Variance, StandardDeviation)
    )
    place = GRID.step / 2**32
    assert deviation.value**2 <= variance.value < (deviation.value + place) ** 2
    assert deviation.interval[0] ** 2 <= variance.interval[0]
    assert variance.interval[1] <= deviation.interval[1] ** 2
    assert deviation.interval[1] == 0 or (deviation.interval[1] - place) ** 2 < variance.interval[1]
    assert deviation.interval[0] <= deviation.value <= deviation.interval[1]
    assert deviation.parts == variance.parts


def test_its_noise_is_that_of_the_variance_and_its_name_is_its_own() -> None:
    question, variance = StandardDeviation(Caps(1), GRID, 2), Variance(Caps(1), GRID, 2)
    assert question.noise(Price.pure(9)) == variance.noise(Price.pure(9))
    assert repr(question) == repr(variance).replace("Variance", "StandardDeviation")
    assert question != variance


def test_a_square_has_its_exact_root() -> None:
    (answer,) = StandardDeviation(Caps(1), GRID).release(
        Aggregates(((0,), (4 * 250_000 - 4 * 12_500_000,), (4,))), Price.pure(10**18), RandomMechanisms(SeededRandom(1))
    )
    assert answer.value == Fraction(5)
