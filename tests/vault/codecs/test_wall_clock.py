import struct
from datetime import time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.codecs.wall_clock import DAY, WALL_CLOCK_BYTES, WallClock, microseconds_shown, offset_of

CLOCKS = st.builds(WallClock, st.integers(-(2**60), 2**60), st.integers(1 - DAY, DAY - 1), st.just(0)) | st.builds(
    WallClock, st.integers(-(2**60), 2**60), st.none(), st.integers(0, 1)
)


@given(CLOCKS)
def test_every_clock_comes_back_and_all_are_of_one_length(clock: WallClock) -> None:
    assert WallClock.of_storage(clock.storage()) == clock
    assert len(clock.storage()) == len(clock.equality()) == WALL_CLOCK_BYTES


OFFSETS = st.sampled_from([0, 1, -1, DAY - 1, 1 - DAY, DAY, -DAY]) | st.integers(-(2**63), 2**63 - 1)


@given(st.builds(struct.Struct("<Bqq").pack, st.integers(0, 4), st.integers(-(2**63), 2**63 - 1), OFFSETS))
def test_what_is_read_is_written_the_same_or_refused(data: bytes) -> None:
    try:
        clock = WallClock.of_storage(data)
    except ValueError:
        return
    assert clock.storage() == data


def test_naive_and_aware_clocks_are_never_equal() -> None:
    assert WallClock(7, 0).equality() != WallClock(7, None).equality()
    assert WallClock(7, None, 1).equality() == WallClock(7, None).equality()
    assert WallClock(7, 3).equality() == WallClock(4, 0).equality()


def test_times_and_offsets_are_counted_in_microseconds() -> None:
    assert microseconds_shown(time.max) == DAY - 1
    assert offset_of(time(1)) is None
    assert offset_of(time(1, tzinfo=timezone(timedelta(hours=-1)))) == -3_600_000_000
    with pytest.raises(ValueError, match="17 bytes"):
        WallClock.of_storage(b"")
