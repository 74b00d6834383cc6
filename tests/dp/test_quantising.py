from fractions import Fraction
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.grid import MAX_FLOAT_BOUND, MAX_INT_BOUND, Grid
from dp.quantising import has_place
from tests.dp.rows import HOSTILE_FLOATS, HOSTILE_INTS
from tests.sizes import sized

BOUNDS = st.one_of(st.integers(-1000, 1000), st.integers(-MAX_INT_BOUND, MAX_INT_BOUND))
STEPS = st.one_of(
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5), Fraction(5, 2), Fraction(1, 8), Fraction(10**18)]),
    st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**6)),
)
GRIDS = st.builds(lambda step, a, b: Grid(step, min(a, b), max(a, b)), STEPS, BOUNDS, BOUNDS)
FLOATS = st.one_of(st.sampled_from([x for x in HOSTILE_FLOATS if not isnan(x)]), st.floats(allow_nan=False))
INTS = st.one_of(st.sampled_from(HOSTILE_INTS), st.integers(-(2**63), 2**63 - 1), st.integers(-(10**4), 10**4))


@given(grid=GRIDS, values=st.lists(FLOATS | st.just(float("nan")), max_size=20))
@settings(deadline=None)
def test_every_float_lands_between_the_bounds(grid: Grid, values: list[float]) -> None:
    assert all(
        grid.lower <= steps <= grid.upper for steps in grid.quantise(np.array(values, dtype=np.float64)).tolist()
    )


@given(grid=GRIDS, values=st.lists(INTS, max_size=20))
@settings(deadline=None)
def test_every_integer_lands_on_its_nearest_step_half_to_even(grid: Grid, values: list[int]) -> None:
    exact = [min(max(round(Fraction(value) / grid.step), grid.lower), grid.upper) for value in values]
    assert grid.quantise(np.array(values, dtype=np.int64)).tolist() == exact


@pytest.mark.parametrize("step", [2, 10, Fraction(2, 3), Fraction(10**17)])
def test_an_integer_half_way_goes_to_the_even_step(step: Fraction) -> None:
    grid = Grid(Fraction(step), -5, 5)
    halves = [
        half * grid.step for half in (Fraction(n, 2) for n in range(-13, 14)) if (half * grid.step).denominator == 1
    ]
    exact = [min(max(round(half / grid.step), -5), 5) for half in halves]
    assert grid.quantise(np.array([int(half) for half in halves], dtype=np.int64)).tolist() == exact


@given(
    values=st.lists(FLOATS, max_size=20),
    step=st.sampled_from([Fraction(1), Fraction(1, 8), Fraction(4)]),
    bound=st.sampled_from([10, 10**6, MAX_FLOAT_BOUND]),
)
def test_floats_are_rounded_exactly_when_the_step_is_a_power_of_two(
    values: list[float], step: Fraction, bound: int
) -> None:
    grid = Grid(step, -bound, bound)
    clipped = [min(max(value, -1e300), 1e300) for value in values]
    exact = [min(max(round(Fraction(value) / step), -bound), bound) for value in clipped]
    assert grid.quantise(np.array(values, dtype=np.float64)).tolist() == exact


@given(values=st.lists(st.floats(-(10.0**9), 10.0**9), max_size=20))
def test_floats_on_another_step_land_within_half_of_one(values: list[float]) -> None:
    grid = Grid.of("-1000000000", "1000000000", "0.01")
    for value, steps in zip(values, grid.quantise(np.array(values, dtype=np.float64)).tolist(), strict=True):
        assert abs(Fraction(value) / grid.step - steps) <= Fraction(1, 2) + Fraction(1, 10**4)


@given(values=st.lists(FLOATS, min_size=1, max_size=8), before=st.integers(0, 70_000))
@settings(deadline=None, max_examples=sized(10, 25))
def test_where_a_value_stands_does_not_change_it(values: list[float], before: int) -> None:
    grid = Grid.of("-99", "99", "0.3") if before % 2 else Grid.of("-100", "100", "0.01")
    alone = [int(grid.quantise(np.array([value]))[0]) for value in values]
    among = np.concatenate([np.full(before, 0.123), np.array(values), np.full(7, 5.5)])
    assert grid.quantise(among)[before : before + len(values)].tolist() == alone


def test_k19_01_infinities_clamp_and_nan_has_no_place() -> None:
    values = np.array([10.0, np.nan, np.inf, -np.inf, 50.0])
    numbers = has_place(values)
    assert numbers is not None
    assert Grid.of(0, 100, 1).quantise(values[numbers]).tolist() == [10, 100, 0, 50]
    assert has_place(np.array([1.0])) is None
    assert has_place(np.array([1])) is None
