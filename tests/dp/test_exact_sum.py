import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import exact_sum
from dp.exact_sum import group_counts, group_distinct, group_squares, group_sums

VALUES = st.one_of(st.integers(-(2**62), 2**62), st.sampled_from([2**62, -(2**62), 0, 1, -1]), st.integers(-9, 9))
ROWS = st.lists(st.tuples(st.integers(0, 4), VALUES), max_size=60)


@given(rows=ROWS, n_groups=st.sampled_from([1, 5, 9]), block=st.sampled_from([1, 3, 2**20]))
@settings(deadline=None)
def test_sums_are_those_of_python_integers(rows: list[tuple[int, int]], n_groups: int, block: int) -> None:
    group = np.array([g if n_groups > 1 else 0 for g, _ in rows], dtype=np.int32)
    value = np.array([v for _, v in rows], dtype=np.int64)
    reach = max([1, *(abs(v) for _, v in rows)])
    wanted = tuple(int(sum(v for g, v in zip(group, value.tolist(), strict=True) if g == i)) for i in range(n_groups))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sum, "_BLOCK", block)
        assert group_sums(group, value, n_groups, reach) == wanted
    assert group_sums(group, value, n_groups, 2**63) == wanted


@pytest.mark.parametrize("n_groups", [1, 2])
def test_a_million_of_the_largest_values_neither_wrap_nor_round(n_groups: int) -> None:
    n = 2**20 + 3
    value = np.full(n, 2**62)
    value[-1] = 2**62 - 1
    sums = group_sums(np.zeros(n, dtype=np.int32), value, n_groups, 2**62)
    assert sums == (n * 2**62 - 1, *[0] * (n_groups - 1))


def test_a_sum_just_above_what_a_float_holds_is_exact() -> None:
    reach = 2**33
    value = np.full(2**20 + 1, reach)
    value[0] = 1
    assert group_sums(np.zeros(2**20 + 1, dtype=np.int32), value, 3, reach) == (2**53 + 1, 0, 0)


def test_every_declared_group_is_counted() -> None:
    assert group_counts(np.array([1, 1, 3], dtype=np.int32), 5) == (0, 2, 0, 1, 0)
    assert group_counts(np.empty(0, dtype=np.int32), 2) == (0, 0)
    assert group_counts(np.zeros(7, dtype=np.int32), 1) == (7,)
    assert group_counts(np.empty(0, dtype=np.int32), 1) == (0,)


@given(rows=ROWS, n_groups=st.sampled_from([1, 5, 9]))
@settings(deadline=None)
def test_squares_and_different_values_are_those_of_python_integers(rows: list[tuple[int, int]], n_groups: int) -> None:
    group = np.array([g if n_groups > 1 else 0 for g, _ in rows], dtype=np.int32)
    value = np.array([v for _, v in rows], dtype=np.int64)
    reach = max([1, *(abs(v) for _, v in rows)])
    of_group = [[v for g, v in zip(group, value.tolist(), strict=True) if g == i] for i in range(n_groups)]
    for bound in (reach, 2**62):
        assert group_squares(group, value, n_groups, bound) == tuple(sum(v * v for v in each) for each in of_group)
    assert group_distinct(group, value, n_groups) == tuple(len(set(each)) for each in of_group)


@pytest.mark.parametrize("far", [2**31 - 1, 2**31, 2**31 + 1, 2**62 - 1, 2**62])
def test_squares_of_the_largest_values_neither_wrap_nor_round(far: int) -> None:
    n = 2**20 + 3
    value = np.full(n, -far)
    value[0] = far
    assert group_squares(np.zeros(n, dtype=np.int32), value, 2, far) == (n * far**2, 0)
