"""A forked child forgets."""

import gc
import os
import sys
import threading
import weakref

import pytest

from kms.fork import _forget_all, _let_all_go, _take_all_up, forget_in_child, let_go_before_fork
from tests.sizes import sized

# Without care one in some hundred fails.
ROUNDS = sized(600, 3000)


class Thing:
    def __init__(self) -> None:
        self.forgot = False

    def forget_after_fork(self) -> None:
        self.forgot = True


def exit_code_of_child(check: object) -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if check() else 1)  # type: ignore[operator]
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_child_forgets_and_the_parent_does_not() -> None:
    thing = Thing()
    forget_in_child(thing)
    assert exit_code_of_child(lambda: thing.forgot) == 0
    assert not thing.forgot


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_does_not_inherit_what_its_parent_lets_go() -> None:
    thing = Thing()
    let_go_before_fork(thing, Thing.forget_after_fork)
    assert exit_code_of_child(lambda: thing.forgot) == 0
    assert thing.forgot


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_what_came_last_lets_go_first_and_the_parent_takes_it_up_again() -> None:
    told: list[str] = []
    first, last = Thing(), Thing()
    let_go_before_fork(first, lambda _: told.append("first"), lambda _: told.append("first again"))
    let_go_before_fork(last, lambda _: told.append("last"))
    assert exit_code_of_child(lambda: told == ["last", "first"]) == 0
    assert told == ["last", "first", "first again"]


class BrokenThing(Thing):
    def forget_after_fork(self) -> None:
        raise ZeroDivisionError


def test_one_that_fails_does_not_keep_the_others_from_forgetting() -> None:
    things = [Thing(), BrokenThing(), Thing()]
    for thing in things:
        forget_in_child(thing)
    with pytest.raises(ZeroDivisionError):
        _forget_all()
    assert things[0].forgot
    assert things[2].forgot


def test_what_is_gone_is_not_kept_alive() -> None:
    thing = Thing()
    forget_in_child(thing)
    let_go_before_fork(thing, Thing.forget_after_fork)
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_what_other_threads_come_to_have_meanwhile_keeps_nobody_from_letting_go() -> None:
    told, kept, busy = [], [Thing() for _ in range(20)], True
    let_go_before_fork(kept[0], lambda _: told.append("gone"), lambda _: told.append("back"))
    for thing in kept[1:]:
        let_go_before_fork(thing, Thing.forget_after_fork)

    def come_and_go() -> None:
        while busy:
            let_go_before_fork(Thing(), Thing.forget_after_fork, Thing.forget_after_fork)

    before, others = sys.getswitchinterval(), [threading.Thread(target=come_and_go) for _ in range(3)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in others:
            thread.start()
        for _ in range(ROUNDS):
            _let_all_go()
            _take_all_up()
    finally:
        busy = False
        sys.setswitchinterval(before)
        for thread in others:
            thread.join()
    assert told == ["gone", "back"] * ROUNDS
