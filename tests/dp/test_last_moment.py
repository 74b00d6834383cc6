import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.errors import TooLateError
from dp.last_moment import NO_LAST_MOMENT, LastMoment


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_the_moment_itself_is_too_late(at: float, now: float) -> None:
    moment = LastMoment(at, lambda: now)
    if now < at:
        moment.require()
    else:
        with pytest.raises(TooLateError):
            moment.require()


@given(st.integers(0, 10), st.integers(0, 10))
def test_batches_come_until_it_is_too_late(batches: int, at: int) -> None:
    time = iter(range(100))
    moment = LastMoment(at, lambda: next(time))
    got = []
    try:
        for batch in moment.before_each(range(batches)):
            got.append(batch)
    except TooLateError:
        assert at < batches
    assert got == list(range(min(batches, at)))


def test_who_waits_as_long_as_it_takes_has_none() -> None:
    NO_LAST_MOMENT.require()
    assert NO_LAST_MOMENT.at == math.inf
