"""A forked child forgets."""

import gc
import os

from kms.fork import _forgetful, forget_in_child


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


def test_the_child_forgets_and_the_parent_does_not() -> None:
    thing = Thing()
    forget_in_child(thing)
    assert exit_code_of_child(lambda: thing.forgot) == 0
    assert not thing.forgot


def test_what_is_gone_is_not_kept_alive() -> None:
    thing = Thing()
    forget_in_child(thing)
    before = len(_forgetful)
    del thing
    gc.collect()
    assert len(_forgetful) == before - 1
