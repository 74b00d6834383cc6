"""Lease settings are sound from birth, and the clock goes on while the machine sleeps."""

import time

import pytest

from kms.lease import LeaseSettings, boottime_clock


def test_the_leases_are_the_documented_ones() -> None:
    leases = LeaseSettings()
    assert (leases.sealing, leases.unwrapped_soft, leases.unwrapped_hard) == (180, 300, 3600)


@pytest.mark.parametrize(
    ("sealing", "soft", "hard"),
    [(0, 1, 2), (-1, 1, 2), (1, 0, 2), (1, 3, 2), (float("nan"), 1, 2), (1, float("nan"), 2)],
)
def test_leases_that_make_no_sense_are_refused(sealing: float, soft: float, hard: float) -> None:
    with pytest.raises(ValueError, match=r"lease|unwrapped"):
        LeaseSettings(sealing, soft, hard)


def test_the_clock_counts_suspension_where_there_is_such_a_clock() -> None:
    reads = getattr(time, "CLOCK_BOOTTIME", None)
    now = time.monotonic() if reads is None else time.clock_gettime(reads)
    assert 0 <= boottime_clock() - now < 5


def test_the_clock_does_not_go_back() -> None:
    first = boottime_clock()
    assert boottime_clock() >= first
