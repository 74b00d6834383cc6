"""Windows against a plain list of what was spent when."""

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp.ledger.limits.spans import DAY, HOUR, SPANS
from dp.ledger.limits.windows import Window
from tests.sizes import sized

CAP = 10
LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "quarter": 91 * DAY}
# 2026-12-31 22:00 UTC and the night of 2026-03-29, when Central Europe's clocks go forward.
STARTS = st.sampled_from([1_798_754_400 * 10**6, 1_774_738_800 * 10**6])


class Kept:
    """A scope as the tables keep it: a window, and what was spent in each bucket."""

    def __init__(self, span: str, time: int) -> None:
        self.window = Window(SPANS[span], SPANS[span].at(time))
        self.buckets: dict[int, int] = {}

    def charge(self, time: int, nano: int, cap: int) -> bool:
        window = self.window.at(time, lambda first: sum(n for b, n in self.buckets.items() if b >= first))
        if window.nano + nano > cap:
            return False
        self.window = window.with_spent(nano)
        self.buckets[window.bucket] = self.buckets.get(window.bucket, 0) + nano
        return True


def most_within(charges: list[tuple[int, int]], length: int) -> int:
    """The largest sum of any interval of that length, which begins, closed, with one of the charges."""
    return max((sum(n for time, n in charges if start <= time <= start + length) for start, _ in charges), default=0)


@st.composite
def passing(draw: st.DrawFn, span: str) -> list[tuple[int, int]]:
    """True times, and how far the clock is behind at each: it is set back, stands still, and is set right again."""
    length = LENGTHS[span]
    steps = st.integers(0, length // 3) | st.sampled_from([0, 1, HOUR, length - 1, length, length + 1])
    times = list(accumulate(draw(st.lists(steps, min_size=1, max_size=25)), initial=draw(STARTS)))
    behind = st.sampled_from([0, 0, 0, 1, HOUR, DAY]) | st.integers(0, 2 * length)
    return [(time, draw(behind)) for time in times]


@settings(deadline=None, max_examples=sized(100, 2000))
@given(st.data(), st.sampled_from(list(LENGTHS)))
def test_a_clock_that_is_behind_shortens_no_interval_by_more_than_it_was_behind(data: st.DataObject, span: str) -> None:
    """Of true time: what was charged while the clock was behind is taken for older than it is, by no more than that."""
    times = data.draw(passing(span))
    kept = Kept(span, times[0][0])
    charges = []
    for time, behind in times:
        nano = data.draw(st.integers(1, CAP))
        if kept.charge(time - behind, nano, CAP):
            charges.append((time, nano))
    assert most_within(charges, max(0, LENGTHS[span] - max(behind for _, behind in times))) <= CAP


@settings(deadline=None, max_examples=sized(100, 2000))
@given(st.data(), st.sampled_from(list(LENGTHS)))
def test_a_clock_that_jumps_ahead_refills_by_its_own_time_alone_and_stands_when_it_is_set_right(
    data: st.DataObject, span: str
) -> None:
    start = data.draw(STARTS)
    kept = Kept(span, start)
    readings = data.draw(st.lists(st.integers(0, 3 * LENGTHS[span]), max_size=20))
    charges, latest = [], start
    for reading in readings:
        latest = max(latest, start + reading)
        nano = data.draw(st.integers(1, CAP))
        if kept.charge(start + reading, nano, CAP):
            charges.append((latest, nano))
    assert most_within(charges, LENGTHS[span]) <= CAP


@given(STARTS, st.sampled_from(list(LENGTHS)), st.integers(0, 10**9))
def test_it_refills_a_bucket_after_the_span_at_the_latest(start: int, span: str, later: int) -> None:
    kept = Kept(span, start)
    assert kept.charge(start, CAP, CAP)
    assert not kept.charge(start + LENGTHS[span], 1, CAP)
    assert kept.charge(start + LENGTHS[span] + SPANS[span].bucket + later, CAP, CAP)


@pytest.mark.parametrize("time", [0, 10**18])
def test_what_is_for_ever_never_refills(time: int) -> None:
    kept = Kept("ever", 10**15)
    assert kept.charge(10**15, CAP, CAP)
    assert not kept.charge(time, 1, CAP)
