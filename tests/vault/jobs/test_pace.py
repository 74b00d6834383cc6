import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vault.jobs.pace import Pace, PaceSettings

BATCHES = st.lists(st.tuples(st.floats(0, 100), st.integers(0, 10_000)), max_size=30)


@settings(deadline=None)
@given(
    BATCHES,
    st.floats(0.01, 10),
    st.integers(1, 500),
    st.integers(1, 20_000),
    st.one_of(st.none(), st.floats(0.1, 1e6)),
)
def test_a_batch_is_never_longer_than_allowed_and_never_empty(
    batches: list[tuple[float, int]], target: float, least: int, most: int, rate: float | None
) -> None:
    settings = PaceSettings(target, least, most, rate)
    pace, now = Pace.begin(settings), 0.0
    for seconds, written in batches:
        assert 1 <= pace.rows <= most
        assert rate is None or pace.rows <= max(1, rate)
        now += seconds
        pace = pace.after(pace.rows, seconds, min(written, pace.rows), now)
        assert pace.rest(now) >= 0


def test_a_slow_batch_makes_the_next_smaller_at_once_and_quick_ones_make_it_larger_step_by_step() -> None:
    pace = Pace.begin(PaceSettings(target_seconds=0.25))
    assert pace.rows == 1000
    assert pace.after(1000, 2.5, 1000, 0).rows == 100
    assert pace.after(1000, 0.001, 1000, 0).rows == 2000
    assert pace.after(1000, 0.2, 1000, 0).rows == 1250
    assert pace.after(3, 0.001, 3, 0).rows == 1000, "a short last page says little"


def test_a_batch_comes_to_take_the_time_it_is_to_take() -> None:
    pace = Pace.begin(PaceSettings(target_seconds=0.25))
    for _ in range(20):
        pace = pace.after(pace.rows, pace.rows / 8000, pace.rows, 0)
    assert 1900 <= pace.rows <= 2000


def test_rows_are_rewritten_no_faster_than_allowed_whatever_the_batches_take() -> None:
    pace, now, written = Pace.begin(PaceSettings(rows_per_second=100)), 0.0, 0
    while now < 10:
        now += pace.rest(now)
        written += pace.rows
        now += 0.01
        pace = pace.after(pace.rows, 0.01, pace.rows, now)
    assert 900 <= written <= 1200
    assert pace.after(100, 0.01, 0, now).rest(now + 1) == 0, "what is only read is not held back"


@pytest.mark.parametrize(
    "wrong", [{"target_seconds": 0}, {"least_rows": 0}, {"most_rows": 0}, {"rows_per_second": 0.0}]
)
def test_a_pace_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least|more than 0"):
        PaceSettings(**wrong)  # type: ignore[arg-type]
