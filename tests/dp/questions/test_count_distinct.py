from fractions import Fraction

from hypothesis import given, settings

from dp.caps import Caps
from dp.grid import Grid
from dp.price import Price
from dp.questions.count_distinct import CountDistinct
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import Row, any_rows

GRID = Grid.of(-50, 60, 1)


@given(rows=any_rows())
@settings(deadline=None)
def test_it_counts_the_different_clamped_values_of_each_group(rows: list[Row]) -> None:
    single = [row._replace(unit=place) for place, row in enumerate(rows)]
    seen = [
        {round(min(max(row.value, -50), 60)) for row in rows if row.group == group and row.value == row.value}
        for group in range(3)
    ]
    assert aggregates_of(CountDistinct(Caps(1), GRID, 3), single).totals == (tuple(map(len, seen)),)


def test_k20_05_a_unit_brings_no_more_values_than_its_caps_allow() -> None:
    rows = [Row(1, group, tie, float(tie)) for group in range(3) for tie in range(9)]
    question = CountDistinct(Caps(2, 2), GRID, 3)
    assert sum(aggregates_of(question, rows).totals[0]) == question.parts[0].l1 == 4
    assert question.parts[0].squared_l2 == 2 * 2**2
    assert question.noise(Price.pure(5 * 10**8))[0].scale == 8


def test_values_that_are_no_numbers_come_as_hashes() -> None:
    hashes = [Row(unit, 0, 0, value) for unit, value in enumerate([2**62 - 1, 2**62 - 2, 2**62 - 1])]
    question = CountDistinct(Caps(1), Grid(Fraction(1), 0, 2**62))
    assert aggregates_of(question, hashes, floats=False).totals == ((2,),)


def test_k18_05_between_equal_bounds_the_values_of_any_rows_are_one() -> None:
    question = CountDistinct(Caps(1), Grid.of(5, 5, 1))
    assert [aggregates_of(question, rows).totals for rows in ([], [Row(1, 0, 0, 9.0), Row(2, 0, 0, 1.0)])] == [((0,),), ((1,),)]  # fmt: skip  # noqa: E501
