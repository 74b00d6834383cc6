from dataclasses import dataclass

import numpy as np
import pytest

from dp.caps import Caps
from dp.grid import Grid
from dp.questions.bounded_rows import OfRows, OfValues
from tests.dp.rows import SALT, Row, chunk_of

ROWS = [Row(unit, group, tie, value) for unit, group, tie, value in [(1, 0, 1, 0.3), (1, 0, 2, 9.0), (2, 1, 3, -4.0)]]
GRID = Grid.of("0", "5", "0.5", values="float")


@dataclass(frozen=True)
class Rows(OfRows):
    caps: Caps
    n_groups: int


@dataclass(frozen=True)
class Values(OfValues):
    caps: Caps
    n_groups: int
    grid: Grid


@pytest.mark.parametrize("question", [Rows(Caps(1), 2), Values(Caps(1), 2, GRID)])
def test_parts_of_the_rows_are_bounded_together_as_the_whole_is(question: Rows | Values) -> None:
    at_once = question.bound([chunk_of(ROWS, floats=True)], SALT)
    parts = [question.part([chunk_of([row], floats=True)], SALT) for row in ROWS]
    together = question.bound(parts, SALT)
    assert sorted(at_once.group) == sorted(together.group) == [0, 1]
    assert (at_once.value is None) == (together.value is None) == isinstance(question, Rows)
    if at_once.value is not None and together.value is not None:
        assert np.array_equal(np.sort(at_once.value), np.sort(together.value))


def test_values_are_put_on_the_grid_before_they_count() -> None:
    steps = Values(Caps(2), 2, GRID).bound([chunk_of(ROWS, floats=True)], SALT).value
    assert steps is not None
    assert sorted(steps) == [0, 1, 10]
