"""A fork and those inside wait for each other, but not for ever."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kms.fork_gate import ForkGate

LONG = 20.0


@contextmanager
def begun(work: Callable[[], object]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join(LONG)
    assert not thread.is_alive()


def stay(gate: ForkGate, came: threading.Event, leave: threading.Event) -> None:
    with gate.passed(), gate.passed():
        came.set()
        leave.wait(LONG)


def test_it_is_shut_when_all_others_have_left() -> None:
    gate, came, leave = ForkGate(LONG), threading.Event(), threading.Event()
    shut = threading.Event()

    def fork() -> None:
        gate.shut()
        shut.set()

    with begun(lambda: stay(gate, came, leave)):
        assert came.wait(LONG)
        with begun(fork):
            assert not shut.wait(0.05)
            leave.set()
            assert shut.wait(LONG)


def test_nobody_comes_in_before_it_is_opened_again() -> None:
    gate, came, leave = ForkGate(LONG), threading.Event(), threading.Event()
    gate.shut()
    gate.shut()
    leave.set()
    with begun(lambda: stay(gate, came, leave)):
        assert not came.wait(0.05)
        gate.reopen()
        assert came.wait(LONG)


def test_who_forks_inside_waits_for_nobody_and_goes_on_inside() -> None:
    gate = ForkGate(LONG)
    with gate.passed():
        gate.shut()
        with gate.passed():
            pass
        gate.reopen()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_was_forked_inside_leaves_and_comes_in() -> None:
    gate = ForkGate(LONG)
    pid = -1
    try:
        with gate.passed():
            gate.shut()
            pid = os.fork()
            if pid:
                gate.reopen()
            else:
                gate.forget_after_fork()
        with gate.passed():
            pass
    finally:
        if not pid:
            os._exit(0 if not gate._inside else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_nobody_waits_for_ever() -> None:
    gate, came, leave = ForkGate(0.05), threading.Event(), threading.Event()
    with begun(lambda: stay(gate, came, leave)):
        assert came.wait(LONG)
        gate.shut()
        with gate.passed():
            pass
        leave.set()
