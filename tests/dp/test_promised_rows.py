import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import promised_rows
from dp.bounding import Bounded
from dp.caps import Caps
from dp.errors import ParameterError
from dp.grid import MAX_INT_BOUND, Grid
from dp.promised_rows import PromisedRows
from dp.questions.mean import Mean
from dp.questions.sum import Sum
from tests.dp.rows import HOSTILE_FLOATS, HOSTILE_INTS

GRIDS = st.sampled_from(
    [
        Grid.of("0", "100", "0.01"),
        Grid.of("-99", "99", "0.3"),
        Grid.of(-(2**38), 2**38, 1),
        Grid.of(-(2**52), 2**52, 1),
        Grid.of(1 - MAX_INT_BOUND, MAX_INT_BOUND, 1),
        Grid.of(-5, -5, 1),
    ]
)
GROUPS = st.integers(-1, 4) | st.sampled_from([-(2**31), 2**31 - 1])
FLOATS = st.lists(st.tuples(st.sampled_from(HOSTILE_FLOATS) | st.floats() | st.floats(-200, 200), GROUPS), max_size=40)
INTS = st.lists(st.tuples(st.sampled_from(HOSTILE_INTS) | st.integers(-200, 200), GROUPS), max_size=40)


def _added_up(rows: PromisedRows, grid: Grid, n_groups: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """In Python integers, one value at a time."""
    sums, counts = [0] * n_groups, [0] * n_groups
    group = [0] * len(rows.value) if rows.group is None else rows.group.tolist()
    for place, value in zip(group, rows.value, strict=True):
        if 0 <= place < n_groups and value == value:
            sums[place] += int(grid.quantise(np.array([value]))[0])
            counts[place] += 1
    return tuple(sums), tuple(counts)


@given(
    rows=FLOATS | INTS,
    integers=st.booleans(),
    grid=GRIDS,
    n_groups=st.sampled_from([None, 1, 3, 9]),
    block=st.sampled_from([1, 3, 2**15]),
)
@settings(deadline=None)
def test_totals_are_those_of_python_integers(
    rows: list[tuple[float, int]], integers: bool, grid: Grid, n_groups: int | None, block: int
) -> None:
    held = [(value, group) for value, group in rows if isinstance(value, int)] if integers else rows
    value = np.array([value for value, _ in held], dtype=np.int64 if integers else np.float64)
    group = np.array([group for _, group in held], dtype=np.int32)
    promised = PromisedRows(value, None if n_groups is None else group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promised_rows, "_BLOCK", block)
        totals = promised.totals(grid, n_groups or 1, counted=True)
        sums, _ = promised.totals(grid, n_groups or 1, counted=False)
    assert totals == _added_up(promised, grid, n_groups or 1)
    assert sums == totals[0]
    assert all(type(total) is int for part in totals for total in part)


@pytest.mark.parametrize("reach", [100, 2**38, 2**52])
@pytest.mark.parametrize("undeclared", [3, -1, 2**31 - 1])
def test_k19_01_nan_and_undeclared_groups_are_dropped_and_infinities_clamped(reach: int, undeclared: int) -> None:
    value = np.array([1.0, np.nan, np.inf, -np.inf, 5.0, np.nan])
    grid = Grid.of(-reach, reach - 1, 1)
    assert PromisedRows(value).totals(grid, 1, counted=True) == ((5,), (4,))
    group = np.array([0, 0, 2, 2, undeclared, undeclared], dtype=np.int32)
    assert PromisedRows(value, group).totals(grid, 3, counted=True) == ((1, 0, -1), (1, 0, 2))


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("reach", [2**38, 2**38 + 1, 2**52])
def test_sums_beyond_what_a_float_holds_are_exact(reach: int, n_groups: int) -> None:
    n = 2**17
    value = np.full(n, float(reach))
    value[0] = 1.0
    rows = PromisedRows(value, None if n_groups == 1 else np.zeros(n, dtype=np.int32))
    sums, counts = rows.totals(Grid.of(0, reach, 1), n_groups, counted=True)
    assert (sums[0], counts[0]) == ((n - 1) * reach + 1, n)


@given(rows=FLOATS, grouped=st.booleans())
@settings(deadline=None)
def test_sum_and_mean_get_what_bounded_rows_give_them(rows: list[tuple[float, int]], grouped: bool) -> None:
    held = [(value, group if grouped else 0) for value, group in rows if value == value and (0 <= group < 5)]
    value, group = np.array([v for v, _ in held], dtype=np.float64), np.array([g for _, g in held], dtype=np.int32)
    grid, n_groups = Grid.of("-100", "50", "0.01"), 5 if grouped else 1
    promised = PromisedRows(value, group if grouped else None)
    for question in (Sum(Caps(1), grid, n_groups), Mean(Caps(1), grid, n_groups)):
        bounded = question.aggregate(Bounded(group, grid.quantise(value)))
        assert question.aggregate_promised(promised) == bounded


def test_rows_are_left_as_they_were() -> None:
    value, group = np.array([1.5, np.nan, 900.0]), np.array([0, 1, -1], dtype=np.int32)
    PromisedRows(value, group).totals(Grid.of("0", "9", "0.5"), 2, counted=True)
    assert (value[[0, 2]].tolist(), group.tolist()) == ([1.5, 900.0], [0, 1, -1])


@pytest.mark.parametrize(
    "value", [[1.0], np.array([[1.0]]), np.array([1.0], dtype=np.float32), np.array([1.0], dtype=">f8"), None]
)
def test_values_are_an_array_of_a_known_type_or_are_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^value: "):
        PromisedRows(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("group", [np.array([0]), np.array([0, 0], dtype=np.int32), [0]])
def test_groups_are_an_array_of_the_same_length_or_are_refused(group: object) -> None:
    with pytest.raises(ParameterError, match=r"^group: "):
        PromisedRows(np.array([1.0]), group)  # type: ignore[arg-type]


def test_a_question_of_several_groups_wants_rows_of_groups() -> None:
    with pytest.raises(ParameterError, match=r"^group: "):
        PromisedRows(np.array([1.0])).totals(Grid.of(0, 1, 1), 2, counted=True)
