"""The desk by a clock that stands still: what leaves, and when, is decided by the deadline alone."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp.errors import BudgetExhaustedError, NotReleasedError, ParameterError
from vault.deadline.desk import Desk, Pending
from vault.deadline.errors import BusyError
from vault.deadline.outcome import Outcome, Told

ROOM = 1000
SECRET = "4929-1234-5678-9012"


class Clock:
    """Goes on by sleeping alone; done: what has to be done before anybody wakes."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self.before_waking: Callable[[], object] = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.before_waking()
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def causes() -> list[str]:
    return []


@pytest.fixture
def desk(clock: Clock, causes: list[str]) -> Iterator[Desk]:
    desk = Desk(2, clock=clock, sleep=clock.sleep, failed=causes.append)
    yield desk
    desk.close()


def ended(desk: Desk) -> None:
    for pending in desk._taken:
        pending.future.exception(timeout=10)


def refuse(error: Exception) -> Callable[[], bytes]:
    def work() -> bytes:
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "told", "cause"),
    [
        (lambda: b"1", Told.ANSWERED, ""),
        (refuse(BudgetExhaustedError("visits", 10**9, 1)), Told.REFUSED, ""),
        (refuse(ParameterError("epsilon", "too small")), Told.REFUSED, ""),
        (refuse(NotReleasedError("visits")), Told.NOT_RELEASED, "NotReleasedError"),
        (refuse(ValueError(SECRET)), Told.NOT_RELEASED, "ValueError"),
        (refuse(MemoryError(SECRET)), Told.NOT_RELEASED, "MemoryError"),
    ],
)
def test_every_outcome_leaves_at_the_deadline_counted_from_the_arrival(
    desk: Desk, clock: Clock, causes: list[str], work: Callable[[], bytes], told: Told, cause: str
) -> None:
    clock.before_waking = lambda: ended(desk)
    outcome = desk.ask(work, arrived=clock.now - 1, seconds=5, room=ROOM)
    assert (outcome.told, clock.slept, clock.now) == (told, [4], 104)
    assert causes == [cause] * bool(cause)
    assert SECRET not in repr(outcome)
    assert len(outcome.to_json()) == ROOM


def test_a_sleep_that_ends_early_is_slept_on(desk: Desk, clock: Clock) -> None:
    whole = clock.sleep
    desk._sleep = lambda seconds: whole(min(seconds, 2))
    desk.ask(lambda: b"1", arrived=clock.now, seconds=5, room=ROOM)
    assert (clock.slept, clock.now) == ([2, 2, 1], 105)


def test_what_is_not_done_by_the_deadline_is_never_given(desk: Desk, clock: Clock) -> None:
    go_on = threading.Event()

    def work() -> bytes:
        go_on.wait(10)
        return b"1"

    assert desk.ask(work, arrived=clock.now, seconds=5, room=ROOM) == Outcome.not_released(ROOM)
    go_on.set()


def test_a_request_that_arrived_long_ago_is_told_at_once(desk: Desk, clock: Clock) -> None:
    desk.ask(lambda: b"1", arrived=clock.now - 9, seconds=5, room=ROOM)
    assert clock.slept == []


def test_a_slot_is_free_when_the_deadline_is_over_and_the_work_is_done_and_not_before(desk: Desk, clock: Clock) -> None:
    """Else whoever fills the desk sees when another question was done, long before its deadline."""
    go_on = threading.Event()
    quick = desk.take(lambda: b"1", arrived=clock.now, seconds=5, room=ROOM)
    slow = desk.take(lambda: b"1" if go_on.wait(10) else b"", arrived=clock.now, seconds=5, room=ROOM)
    quick.future.result(10)
    untouched = pytest.fail
    with pytest.raises(BusyError, match=r"^busy: 2 questions are in hand, .* nothing was charged; ask again"):
        desk.take(lambda: untouched("it was begun"), arrived=clock.now, seconds=5, room=ROOM)
    clock.now += 5
    desk.take(lambda: b"1", arrived=clock.now, seconds=5, room=ROOM).future.result(10)
    with pytest.raises(BusyError):
        desk.take(lambda: untouched("it was begun"), arrived=clock.now, seconds=5, room=ROOM)
    go_on.set()
    slow.future.result(10)
    desk.take(lambda: b"1", arrived=clock.now, seconds=5, room=ROOM)


def test_one_question_is_told_as_one() -> None:
    assert "1 question is in hand" in str(BusyError(1))


def test_a_closed_desk_tells_at_the_deadline_that_nothing_was_released(
    desk: Desk, clock: Clock, causes: list[str]
) -> None:
    desk.close()
    assert desk.ask(lambda: b"1", arrived=clock.now, seconds=5, room=ROOM) == Outcome.not_released(ROOM)
    assert (clock.slept, causes) == ([5], ["RuntimeError"])


@given(st.sampled_from(["done", "failed", "running", "cancelled"]))
def test_at_the_deadline_it_is_looked_and_not_waited(state: str) -> None:
    future: Future[object] = Future()
    if state == "failed":
        future.set_exception(OSError(SECRET))
    elif state == "cancelled":
        future.cancel()
    elif state == "done":
        with ThreadPoolExecutor(1) as pool:
            desk = Desk(1, pool)
            pending = desk.take(lambda: b"1", arrived=0, seconds=0, room=ROOM)
            pending.future.result(10)
            assert pending.at_the_deadline().answer == b"1"
        return
    assert Pending(0, ROOM, future).at_the_deadline() == Outcome.not_released(ROOM)  # type: ignore[arg-type]


def an_answer() -> bytes:
    return b"1"


def a_dying_process() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"1"


def test_work_in_processes_is_told_alike_also_when_one_dies() -> None:
    causes: list[str] = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as pool:
        desk = Desk(1, pool, failed=causes.append)
        first = desk.take(an_answer, arrived=0, seconds=0, room=ROOM)
        first.future.result(60)
        assert first.at_the_deadline().told is Told.ANSWERED
        second = desk.take(a_dying_process, arrived=0, seconds=0, room=ROOM)
        assert second.future.exception(60)
        assert second.at_the_deadline() == Outcome.not_released(ROOM)
        third = desk.take(an_answer, arrived=0, seconds=0, room=ROOM)
        assert third.at_the_deadline() == Outcome.not_released(ROOM)
    assert causes == ["BrokenProcessPool"] * 2
