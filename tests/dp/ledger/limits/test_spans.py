"""Spans of time, in buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.ledger.limits.spans import DAY, HOUR, SPANS, Span

LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "quarter": 91 * DAY}
TIMES = st.integers(0, 10**17)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_span_is_as_long_as_its_name_says(name: str) -> None:
    assert SPANS[name].bucket * SPANS[name].buckets == LENGTHS[name]
    assert 365 * DAY // LENGTHS[name] == SPANS[name].a_year


@given(TIMES, st.sampled_from([SPANS[name] for name in LENGTHS]), st.data())
def test_every_interval_of_its_length_lies_within_one_window(start: int, span: Span, data: st.DataObject) -> None:
    length = LENGTHS[span.name]
    end = start + data.draw(st.integers(0, length - 1))
    assert span.first(span.at(end)) <= span.at(start) <= span.at(end)
    assert span.first(span.at(start + length)) == span.at(start)


@given(TIMES, st.sampled_from([SPANS[name] for name in LENGTHS]))
def test_a_bucket_leaves_the_window_when_it_is_said_to(time: int, span: Span) -> None:
    bucket = span.at(time)
    leaves = span.leaves_at(bucket)
    assert leaves is not None
    assert span.first(span.at(leaves - 1)) == bucket
    assert span.first(span.at(leaves)) == bucket + 1
    assert LENGTHS[span.name] < leaves - time <= LENGTHS[span.name] + span.bucket


@given(TIMES)
def test_what_is_for_ever_has_one_bucket_that_stays(time: int) -> None:
    ever = SPANS["ever"]
    assert (ever.at(time), ever.first(0), ever.leaves_at(0)) == (0, 0, None)


def test_buckets_are_of_utc_and_no_clock_on_the_wall_moves_them() -> None:
    before_midnight = 1_798_761_599 * 10**6  # 2026-12-31 23:59:59 UTC
    assert SPANS["day"].at(before_midnight + 10**6) == SPANS["day"].at(before_midnight) + 1
    summer_time_begins = 1_774_746_000 * 10**6  # 2026-03-29 01:00 UTC, in Central Europe
    assert SPANS["day"].at(summer_time_begins) - SPANS["day"].at(summer_time_begins - HOUR) == 1
