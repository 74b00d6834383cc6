"""Fork: what a child process must forget, because keys, sockets and counted blocks are its parent's.

The one hook is installed when this module is imported, since the interpreter has no way to take a hook back;
it holds its objects weakly.
"""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["ForgetsInChild", "forget_in_child"]


class ForgetsInChild(Protocol):
    """Something that must not be used by parent and child both."""

    def forget_after_fork(self) -> None:
        """Drop it, locks included (another thread may have held them). Runs in the child, must not raise."""
        ...


_forgetful: WeakSet[ForgetsInChild] = WeakSet()


def forget_in_child(thing: ForgetsInChild) -> None:
    """From now on, thing.forget_after_fork() runs in each forked child, for as long as thing lives."""
    _forgetful.add(thing)


def _forget_all() -> None:
    failures: list[Exception] = []
    for thing in list(_forgetful):
        try:
            thing.forget_after_fork()
        except Exception as failure:  # noqa: BLE001  # the others must forget all the same
            failures.append(failure)
    if failures:
        raise failures[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
