"""A deadline is the thread's own, never moves back, and bounds the wait for a lock."""

import math
import threading
import time

from kms.deadline import ends, held_in_time, until


def test_without_a_deadline_there_is_no_end() -> None:
    assert ends() == math.inf


def test_of_two_deadlines_the_earlier_one_counts_and_ends_with_its_block() -> None:
    with until(100.0):
        with until(200.0):
            assert ends() == 100.0
        with until(50.0):
            assert ends() == 50.0
        assert ends() == 100.0
    assert ends() == math.inf


def test_a_deadline_is_not_another_threads() -> None:
    seen: list[float] = []
    with until(100.0):
        thread = threading.Thread(target=lambda: seen.append(ends()))
        thread.start()
        thread.join()
    assert seen == [math.inf]


def test_a_lock_is_waited_for_until_the_deadline_and_let_go_only_if_it_was_held() -> None:
    lock = threading.Lock()
    with held_in_time(lock) as held:
        assert held
        begun = time.monotonic()
        for wait in (0.1, -1.0):
            with until(begun + wait), held_in_time(lock) as held_too:
                assert not held_too
        assert 0.1 <= time.monotonic() - begun < 5
        assert lock.locked()
    assert not lock.locked()
    with until(time.monotonic() + 1e12), held_in_time(lock) as held:
        assert held
