import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dp.selftest.chi_squared import fit, tail


@given(statistic=st.floats(0, 3000), freedom=st.integers(1, 300))
def test_the_tail_is_that_of_scipy(statistic: float, freedom: int) -> None:
    assert tail(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9, abs=1e-300)


def test_the_tail_of_nothing_is_all() -> None:
    assert tail(0.0, 7) == tail(-1.0, 1) == 1.0


@given(observed=st.lists(st.integers(5, 500), min_size=2, max_size=20))
def test_a_fit_is_that_of_scipy_where_no_cell_is_rare(observed: list[int]) -> None:
    probabilities = [1 / len(observed)] * len(observed)
    theirs = stats.chisquare(observed)
    ours = fit(observed, probabilities)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-7, abs=1e-300)


def test_rare_outcomes_are_put_together_with_their_neighbours() -> None:
    # Expected: 4, 4, 88, 4, so that the cells are the first two, and the others.
    assert fit([4, 4, 88, 4], [0.04, 0.04, 0.88, 0.04]).statistic == 0
    assert fit([8, 0, 90, 2], [0.04, 0.04, 0.88, 0.04]).statistic == 0
    assert fit([10, 0, 88, 2], [0.04, 0.04, 0.88, 0.04]).statistic == pytest.approx(4 / 8 + 4 / 92)


def test_what_cannot_be_has_no_chance() -> None:
    assert fit([5, 5, 1], [0.5, 0.5, 0.0]).p_value == 0.0
    assert fit([5, 5, 0], [0.5, 0.5, 0.0]).p_value == 1.0
