import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.caps import Caps
from dp.chunk import Chunk
from dp.errors import ParameterError
from dp.grid import Grid
from dp.price import Price
from dp.questions.histogram import Histogram
from tests.dp.questions.replay import aggregates_of
from tests.dp.rows import SALT, Row, any_rows

GRID = Grid.of(0, 100, "0.5")
EDGES = st.lists(st.integers(-20, 220), min_size=2, max_size=6, unique=True).map(sorted).map(tuple)


@given(rows=any_rows(), edges=EDGES, n_groups=st.integers(1, 5))
@settings(deadline=None)
def test_each_row_counts_in_the_bin_of_its_clamped_value(rows: list[Row], edges: Any, n_groups: int) -> None:
    question = Histogram(Caps(1), GRID, edges, n_groups)
    single = [row._replace(unit=place) for place, row in enumerate(rows)]
    wanted = [0] * (n_groups * (len(edges) - 1))
    for row in rows:
        if 0 <= row.group < n_groups and not math.isnan(row.value):
            (x,) = GRID.quantise(np.array([row.value], dtype=np.float64)).tolist()
            for bin_, (low, high) in enumerate(pairwise(edges)):
                if low <= x < high or x == high == edges[-1]:
                    wanted[row.group * (len(edges) - 1) + bin_] += 1
    assert aggregates_of(question, single).totals == (tuple(wanted),)


def test_infinities_clamp_to_the_bounds_and_bounds_beyond_the_edges_are_in_no_bin() -> None:
    rows = [Row(unit, 0, 0, value) for unit, value in enumerate([-math.inf, math.inf, math.nan, 10.0, 20.0])]
    assert aggregates_of(Histogram.of(Caps(1), GRID, (0, 10, 100)), rows).totals == ((1, 3),)
    assert aggregates_of(Histogram.of(Caps(1), GRID, ("9.5", 20)), rows).totals == ((2,),)


def test_a_unit_counts_in_no_more_bins_than_the_cap_allows_groups() -> None:
    rows = [Row(1, group, tie, 10.0 * tie) for group in range(2) for tie in range(10)]
    for k in (1, 3, 20):
        question = Histogram.of(Caps(1, k), GRID, range(0, 101, 10), 2)
        assert sum(aggregates_of(question, rows).totals[0]) == k
        assert (question.n_groups, question.parts[0].l1, question.parts[0].squared_l2) == (20, k, k)
        assert question.noise(Price.pure(5 * 10**8))[0].scale == 2 * k
    assert Histogram.of(Caps(2, 99), GRID, (0, 10), 2).parts[0].l1 == 4  # there are but two bins


def test_edges_are_declared_in_the_unit_of_the_values() -> None:
    assert Histogram.of(Caps(1), GRID, (0, "2.5", Fraction(7, 2))).edges == (0, 5, 7)


@pytest.mark.parametrize("edges", [(), (1,), (2, 1), (1, 1), (0, 1.5), (0, 2**63), (True, 2), (None, 1)])
def test_edges_that_make_no_bins_are_refused(edges: Any) -> None:
    with pytest.raises(ParameterError, match=r"^edges: "):
        Histogram(Caps(1), GRID, edges)


@pytest.mark.parametrize("edge", ["0.25", 0.5, "x", None])
def test_an_edge_off_the_grid_is_refused(edge: Any) -> None:
    with pytest.raises(ParameterError, match=r"^edges: "):
        Histogram.of(Caps(1), GRID, (0, edge, 50))


def test_k19_07_without_declared_bounds_there_is_no_histogram() -> None:
    with pytest.raises(ParameterError, match=r"^bounds: "):
        Histogram(Caps(1), None, (0, 1))  # type: ignore[arg-type]


def test_rows_without_values_are_refused() -> None:
    column = np.zeros(1, dtype=np.int64)
    with pytest.raises(ParameterError, match=r"^value: "):
        Histogram(Caps(1), GRID, (0, 1)).bound([Chunk(column, column.astype(np.int32), column.astype(np.uint64))], SALT)
