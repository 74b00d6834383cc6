"""A clock that goes back ends every lease, since nobody knows how old it is."""

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from kms.errors import LeaseExpiredError, UnavailableError
from kms.key_record import KeyringState
from kms.lease import LeaseSettings, boottime_clock
from kms.one_way_clock import OneWayClock, one_way
from kms.state_lease import StateLease
from tests.kms.manual_clock import ManualClock


def test_it_tells_before_anyone_sees_the_earlier_time() -> None:
    clock, seen = ManualClock(), []
    watched = OneWayClock(clock, lambda: seen.append(clock()))
    assert [watched(), watched()] == [1000, 1000]
    clock.advance(5)
    assert watched() == 1005
    clock.advance(-0.001)
    assert seen == []
    watched()
    assert seen == [1004.999]
    watched()
    assert len(seen) == 1, "it is told once"


def test_the_systems_clocks_are_not_watched() -> None:
    clock = ManualClock()
    assert one_way(boottime_clock, lambda: None) is boottime_clock
    assert one_way(time.monotonic, lambda: None) is time.monotonic
    assert isinstance(one_way(clock, lambda: None), OneWayClock)


def test_a_clock_that_counts_suspension_is_taken_where_there_is_one() -> None:
    if hasattr(time, "CLOCK_BOOTTIME"):
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        assert before <= boottime_clock() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_child_can_look_though_a_thread_held_the_lock() -> None:
    watched = OneWayClock(ManualClock(), lambda: None)
    watched._lock.acquire()
    watched.forget_after_fork()
    assert watched() == 1000


def test_threads_do_not_see_it_go_back_by_overtaking_each_other() -> None:
    told: list[int] = []
    watched = OneWayClock(time.perf_counter, lambda: told.append(1))
    threads = [threading.Thread(target=lambda: [watched() for _ in range(5000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == []


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 4000), st.booleans()), max_size=30))
def test_no_lease_is_lengthened_by_a_clock_that_goes_back(moves: list[tuple[bool, float, bool]]) -> None:
    """Real time passes beside the clock; what is sealed by was read less than a lease of real time ago."""
    clock, real, up = ManualClock(), 0.0, True

    def read() -> KeyringState:
        if not up:
            raise UnavailableError("down")
        return KeyringState(bytes(16), str(real), ())

    lease = StateLease(read, LeaseSettings(), OneWayClock(clock, lambda: lease.end()))  # noqa: PLW0108  # not made yet
    for back, seconds, up in moves:
        if back:
            clock.advance(-seconds)
        else:
            clock.advance(seconds)
            real += seconds
        try:
            state, _ = lease.for_sealing()
        except LeaseExpiredError:
            assert not up
        else:
            assert real - float(state.name) < LeaseSettings().sealing
