"""Patience ends: after so many attempts, or so many seconds, whichever comes first."""

import random

import pytest

from kms.deadline import until
from kms.errors import AccessDeniedError, KmsError, UnavailableError
from kms.patience import Patience
from kms.refresher import RefreshBy
from tests.kms.manual_clock import ManualClock

DOWN = UnavailableError("down")


class Calls:
    """Answers in turn, each after `seconds`."""

    def __init__(self, clock: ManualClock, *answers: str | KmsError, seconds: float = 0.0) -> None:
        self.clock, self.answers, self.seconds, self.made = clock, list(answers), seconds, 0

    def __call__(self) -> str | KmsError:
        self.clock.advance(self.seconds)
        self.made += 1
        return self.answers.pop(0)


def patience(
    clock: ManualClock, waits: list[float], random: float = 1.0, attempts: int | None = 3, deadline: float = 5.0
) -> Patience:
    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)

    return Patience(deadline, attempts, pause=0.2, clock=clock, sleep=sleep, random=lambda: random)


def persist(patience: Patience, calls: Calls) -> str | KmsError:
    return patience.persist(calls, patience.end())


def test_an_outage_that_passes_is_not_seen(clock: ManualClock) -> None:
    waits: list[float] = []
    calls = Calls(clock, DOWN, DOWN, "good")
    assert persist(patience(clock, waits), calls) == "good"
    assert waits == [0.2, 0.4]


def test_attempts_are_counted_in_all(clock: ManualClock) -> None:
    calls = Calls(clock, DOWN, DOWN, DOWN, "too late")
    assert persist(patience(clock, []), calls) is DOWN
    assert calls.made == 3


@pytest.mark.parametrize("answer", ["good", AccessDeniedError("no")])
def test_an_answer_is_not_asked_for_twice(clock: ManualClock, answer: str | KmsError) -> None:
    calls = Calls(clock, answer)
    assert persist(patience(clock, []), calls) is answer
    assert calls.made == 1


def test_no_attempt_begins_after_the_deadline(clock: ManualClock) -> None:
    waits: list[float] = []
    calls = Calls(clock, DOWN, DOWN, "too late", seconds=4.7)
    persist(patience(clock, waits), calls)
    assert calls.made == 2
    calls = Calls(clock, DOWN, "too late", seconds=5.0)
    assert persist(patience(clock, waits), calls) is DOWN
    assert waits == [0.2]


def test_the_wait_is_a_random_part_so_that_processes_do_not_come_back_together(clock: ManualClock) -> None:
    for part in (0.0, 0.5):
        waits: list[float] = []
        persist(patience(clock, waits, part), Calls(clock, DOWN, DOWN, "good"))
        assert waits == [0.2 * part, 0.4 * part]


def test_the_deadline_alone_ends_attempts_that_are_not_counted(clock: ManualClock) -> None:
    waits: list[float] = []
    calls = Calls(clock, *[DOWN] * 50)
    assert persist(patience(clock, waits, attempts=None, deadline=60.0), calls) is DOWN
    assert waits[:5] == [0.2, 0.4, 0.8, 1.6, 2.0]
    assert set(waits[5:]) == {2.0}
    assert 58.0 <= sum(waits) < 60.0
    assert calls.made == len(waits) + 1


def test_ever_so_many_attempts_are_not_too_many(clock: ManualClock) -> None:
    calls = Calls(clock, *[DOWN] * 2000, "good")
    assert persist(patience(clock, [], random=0.0, attempts=None), calls) == "good"


def test_a_call_within_another_ends_with_it(clock: ManualClock) -> None:
    within, calls = patience(clock, [], attempts=None), Calls(clock, DOWN, "too late")
    with until(clock() + 0.1):
        assert within.end() == clock() + 0.1
        assert persist(within, calls) is DOWN
    assert within.end() == clock() + 5.0
    assert not within.is_over(within.end())
    assert within.is_over(clock())


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"deadline": -1.0}, {"pause": -1.0}, {"longest_pause": -1.0}])
def test_patience_without_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at least once"):
        Patience(**wrong)  # type: ignore[arg-type]


def test_the_applications_random_numbers_are_left_alone() -> None:
    before = random.getstate()
    assert 0 <= Patience().random() < 1
    assert 0 <= RefreshBy().jitter() < 1
    assert random.getstate() == before
