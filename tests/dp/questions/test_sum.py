from fractions import Fraction

import pytest
from hypothesis import given, settings

from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import Grid
from dp.price import Price
from dp.questions.mechanisms import RandomMechanisms
from dp.questions.question import Aggregates
from dp.questions.sum import Sum
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row, any_rows
from tests.dp.seeded import SeededRandom
from tests.sizes import sized

NAN, INF = float("nan"), float("inf")


def test_k19_01_nan_is_dropped_and_infinities_clamp() -> None:
    rows = [Row(unit, 0, 0, value) for unit, value in enumerate([10.0, NAN, INF, -INF, 50.0])]
    assert aggregates_of(Sum(Caps(1), Grid.of(0, 100, 1)), rows).totals == ((160,),)


def test_k19_03_a_sum_beyond_64_bits_is_exact() -> None:
    rows = [Row(unit, 0, 0, 2**62) for unit in range(3)]
    question = Sum(Caps(1), Grid.of(0, 2**62, 1))
    assert aggregates_of(question, rows, floats=False).totals == ((3 * 2**62,),)
    (answer,) = question.release(
        aggregates_of(question, rows, floats=False), Price.pure(10**18), RandomMechanisms(SeededRandom(1))
    )
    assert abs(answer.value - 3 * 2**62) < 2**62 // 10**6
    assert answer.value.denominator == 1


def test_k18_05_between_zero_and_zero_there_is_nothing_to_ask() -> None:
    with pytest.raises(ParameterError, match=r"^bounds: .*every sum is 0"):
        Sum(Caps(1), Grid.of(0, 0, 1))


def test_k18_05_equal_bounds_are_so_many_times_a_count() -> None:
    question = Sum(Caps(2), Grid.of(5, 5, 1))
    assert question.parts[0].l1 == 10
    assert aggregates_of(question, []).totals == ((0,),)
    assert aggregates_of(question, [Row(1, 0, 0, -3.0)]).totals == ((5,),)
    for rows in ([], [Row(1, 0, 0, 7.0)]):
        (answer,) = question.release(
            aggregates_of(question, rows), Price.pure(10**9), RandomMechanisms(SeededRandom(1))
        )
        assert answer.interval[0] < answer.value < answer.interval[1]


@pytest.mark.parametrize(
    ("lower", "upper", "sensitivity"),
    [(0, 100, 600), (-100, 3, 600), (-7, -3, 42), (3, 7, 42), (-(2**62), 2**62, 6 * 2**62)],
)
def test_the_sensitivity_is_the_further_bound_times_both_caps(lower: int, upper: int, sensitivity: int) -> None:
    (part,) = Sum(Caps(2, 3), Grid.of(lower, upper, 1), 5).parts
    assert (part.l1, part.squared_l2) == (sensitivity, sensitivity**2 // 3)


def test_a_sum_is_released_in_the_unit_of_its_values() -> None:
    question = Sum(Caps(1), Grid.of("0", "1", "0.01"), 2)
    first, second = question.release(Aggregates(((150, -20),)), Price.pure(10**18), RandomMechanisms(SeededRandom(1)))
    assert (first.value, second.value) == (Fraction(3, 2), Fraction(-1, 5))
    assert question.noise(Price.pure(10**9))[0].scale == 1


@given(rows=any_rows())
@settings(deadline=None, max_examples=sized(12, 50))
def test_the_sum_is_that_of_clamped_values_one_by_one(rows: list[Row]) -> None:
    grid = Grid.of(-50, 60, 1)
    single = [row._replace(unit=place) for place, row in enumerate(rows)]
    wanted = [0] * 3
    for row in rows:
        if 0 <= row.group < 3 and row.value == row.value:
            wanted[row.group] += round(min(max(row.value, -50), 60))
    assert aggregates_of(Sum(Caps(1), grid, 3), single).totals == (tuple(wanted),)
