"""The state of a keyring: sealed by for one lease, read by one thread at a time."""

import threading
from collections.abc import Callable

import pytest

from kms.errors import KeyringError, KmsError, LeaseExpiredError, UnavailableError
from kms.key_record import KeyringState
from kms.lease import LeaseSettings
from kms.state_lease import StateLease
from tests.kms.manual_clock import ManualClock
from tests.kms.waiting import CountedLock


class Source:
    """The n-th reading gives a state called n; slow: seconds that a reading takes."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.reads = 0
        self.slow = 0.0
        self.fail: KmsError | None = None
        self.before: Callable[[], object] = lambda: None

    def __call__(self) -> KeyringState:
        self.before()
        self.clock.advance(self.slow)
        if self.fail is not None:
            raise self.fail
        self.reads += 1
        return KeyringState(bytes(16), str(self.reads), ())


@pytest.fixture
def source(clock: ManualClock) -> Source:
    return Source(clock)


@pytest.fixture
def lease(source: Source, clock: ManualClock) -> StateLease:
    return StateLease(source, LeaseSettings(), clock)


def test_a_state_is_read_once_and_again_after_two_thirds_of_the_lease(
    lease: StateLease, source: Source, clock: ManualClock
) -> None:
    start = clock()
    assert lease.for_sealing()[1] == start + 120
    clock.advance(119)
    assert lease.for_sealing()[0].name == "1"
    clock.advance(1)
    assert lease.for_sealing()[0].name == "2"
    assert source.reads == 2


def test_the_lease_runs_from_before_the_request(source: Source, clock: ManualClock) -> None:
    source.slow = 100
    lease = StateLease(source, LeaseSettings(), clock)
    source.fail, source.slow = UnavailableError("down"), 0
    clock.advance(79)
    lease.for_sealing()
    clock.advance(1)
    with pytest.raises(LeaseExpiredError):
        lease.for_sealing()


def test_a_reading_that_outlasts_the_lease_is_no_lease(lease: StateLease, source: Source, clock: ManualClock) -> None:
    clock.advance(200)
    source.slow = 181
    with pytest.raises(LeaseExpiredError, match="longer than its lease"):
        lease.for_sealing()


def test_an_outage_is_survived_until_the_lease_ends_and_asked_about_every_5_seconds(
    lease: StateLease, source: Source, clock: ManualClock
) -> None:
    start, source.fail = clock(), UnavailableError("the database is down")
    tries: list[float] = []
    source.before = lambda: tries.append(clock() - start)
    while clock() < start + 180:
        state, until = lease.for_sealing()
        assert state.name == "1"
        assert until <= start + 180
        clock.advance(1)
    assert tries[:3] == [120, 125, 130]
    with pytest.raises(LeaseExpiredError, match="the database is down"):
        lease.for_sealing()
    source.fail = None
    assert lease.for_sealing()[0].name == "2"


def test_opening_goes_on_for_the_hard_lease(lease: StateLease, source: Source, clock: ManualClock) -> None:
    source.fail = UnavailableError("down")
    clock.advance(3599)
    assert lease.for_opening().name == "1"
    clock.advance(1)
    with pytest.raises(UnavailableError, match="3600 seconds: down"):
        lease.for_opening()


def test_an_answer_that_is_no_outage_ends_it_at_once(lease: StateLease, source: Source, clock: ManualClock) -> None:
    source.fail = KeyringError("gone")
    clock.advance(120)
    with pytest.raises(KeyringError, match="gone"):
        lease.for_sealing()


def test_news_are_told_before_anyone_sees_them(source: Source, clock: ManualClock) -> None:
    told: list[str] = []
    lease = StateLease(source, LeaseSettings(), clock, lambda state: told.append(state.name))
    assert told == ["1"]
    assert lease.reload().name == "2"
    assert told == ["1", "2"]
    assert lease.state.name == "2"


def test_a_state_that_is_enough_is_not_read_again(lease: StateLease, source: Source) -> None:
    assert lease.reload(lambda state: state.name == "1").name == "1"
    assert source.reads == 1


def test_many_threads_wait_for_one_reading(lease: StateLease, source: Source) -> None:
    """The first reading began before the other seven called; they share one more."""
    gate = threading.Event()
    source.before = gate.wait
    names: list[str] = []

    def ask() -> None:
        names.append(lease.reload().name)

    lease._lock = lock = CountedLock()  # type: ignore[assignment]
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    lock.wait_for(8)  # one reads and is held at the gate, seven have come to the lock
    gate.set()
    for thread in threads:
        thread.join()
    assert source.reads == 3
    assert set(names) <= {"2", "3"}


def test_threads_that_wait_share_an_outage(lease: StateLease, source: Source, clock: ManualClock) -> None:
    clock.advance(3600)
    gate = threading.Event()
    source.fail = UnavailableError("down")
    tries: list[int] = []

    def slowly() -> None:
        tries.append(1)
        gate.wait(10)

    source.before = slowly
    failures: list[str] = []

    def ask(call: Callable[[], object]) -> None:
        try:
            call()
        except KmsError as error:
            failures.append(str(error))

    calls = [lease.for_sealing, lease.for_opening, lease.reload] * 3
    lease._lock = lock = CountedLock()  # type: ignore[assignment]
    threads = [threading.Thread(target=ask, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    lock.wait_for(9)
    gate.set()
    for thread in threads:
        thread.join()
    assert len(failures) == 9
    assert all("down" in failure for failure in failures)
    assert len(tries) == 1
    source.fail = None
    assert lease.for_sealing()[0].name == "2"


def test_a_thread_that_waited_for_a_failed_reading_reads_for_itself(lease: StateLease, source: Source) -> None:
    """Else it would take what was read before it asked for news."""
    reading, gate = threading.Event(), threading.Event()
    source.fail = KeyringError("there is no keyring called main")

    def slowly() -> None:
        reading.set()
        gate.wait(10)

    source.before = slowly
    failures: list[str] = []

    def ask() -> None:
        try:
            lease.reload()
        except KeyringError as error:
            failures.append(str(error))

    lease._lock = lock = CountedLock()  # type: ignore[assignment]
    with lock:  # as if another thread were reading while both come
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        lock.wait_for(1 + 2)
    assert reading.wait(10)
    gate.set()
    for thread in threads:
        thread.join()
    assert len(failures) == 2


def test_while_one_thread_reads_the_others_seal_on(lease: StateLease, source: Source, clock: ManualClock) -> None:
    clock.advance(150)
    reading, gate = threading.Event(), threading.Event()

    def slowly() -> None:
        reading.set()
        gate.wait(10)

    source.before = slowly
    thread = threading.Thread(target=lease.for_sealing)
    thread.start()
    assert reading.wait(10)
    assert lease.for_sealing()[0].name == "1"
    gate.set()
    thread.join()
    assert lease.for_sealing()[0].name == "2"


def test_a_child_can_read_though_a_thread_held_the_lock(lease: StateLease) -> None:
    lease._lock.acquire()
    lease.forget_after_fork()
    assert lease.reload().name == "2"


def test_where_a_thread_attends_callers_read_only_when_the_lease_is_over(source: Source, clock: ManualClock) -> None:
    lease = StateLease(source, LeaseSettings(), clock, attended=lambda: True)
    start = clock()
    clock.advance(179)
    assert lease.for_sealing() == (lease.state, start + 180)
    assert lease.for_opening().name == "1"
    assert source.reads == 1
    clock.advance(1)
    assert lease.for_sealing()[0].name == "2"


def test_where_a_thread_attends_callers_learn_of_an_outage_at_once(source: Source, clock: ManualClock) -> None:
    lease = StateLease(source, LeaseSettings(), clock, attended=lambda: True)
    tries: list[float] = []
    source.fail, source.before = UnavailableError("down"), lambda: tries.append(clock())
    clock.advance(180)
    for _ in range(3):
        with pytest.raises(LeaseExpiredError, match="down"):
            lease.for_sealing()
    assert len(tries) == 1
    clock.advance(5)
    source.fail = None
    with pytest.raises(LeaseExpiredError, match="down"):
        lease.for_sealing()  # it is the thread that finds out whether the store is back
    lease.reload()
    assert lease.for_sealing()[0].name == "2"


def test_a_thread_that_does_not_come_back_keeps_nobody_from_reading(source: Source, clock: ManualClock) -> None:
    lease = StateLease(source, LeaseSettings(), clock, attended=lambda: True)
    source.fail = UnavailableError("down")
    clock.advance(180)
    with pytest.raises(LeaseExpiredError):
        lease.for_sealing()
    source.fail = None
    clock.advance(65)
    assert lease.for_sealing()[0].name == "2"


def test_a_caller_does_not_wait_for_ever_for_another_reading(source: Source, clock: ManualClock) -> None:
    lease = StateLease(source, LeaseSettings(), clock, patience=0.02)
    clock.advance(180)
    with lease._lock:
        with pytest.raises(LeaseExpiredError, match="has not answered"):
            lease.for_sealing()
        with pytest.raises(UnavailableError, match="has not answered"):
            lease.reload()


def test_what_is_ended_is_read_again_and_a_reading_under_way_is_not_relied_on(
    lease: StateLease, source: Source, clock: ManualClock
) -> None:
    lease.end()
    assert lease.asked < 0
    assert lease.for_sealing()[0].name == "2"
    clock.advance(120)
    source.before = lease.end
    with pytest.raises(LeaseExpiredError, match="ended each time"):
        lease.for_sealing()
    reads = source.reads
    ends = [lease.end] * 8
    source.before = lambda: ends.pop()() if ends else None
    assert lease.for_sealing()[0].name == f"{reads + 9}", "ended while it was read, by eight threads: read once more"
