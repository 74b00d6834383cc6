"""Fork: what a child process must forget, because keys, sockets and counted blocks are its parent's.

The hooks are installed when this module is imported, since the interpreter has no way to take a hook back;
they hold their objects weakly.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet

__all__ = ["ForgetsInChild", "forget_in_child", "let_go_before_fork"]


T = TypeVar("T")


class ForgetsInChild(Protocol):
    """Something that must not be used by parent and child both."""

    def forget_after_fork(self) -> None:
        """Drop it, locks included (another thread may have held them). Runs in the child, must not raise."""
        ...


_forgetful: WeakSet[ForgetsInChild] = WeakSet()
_letting_go: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_taking_up: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def forget_in_child(thing: ForgetsInChild) -> None:
    """From now on, thing.forget_after_fork() runs in each forked child, for as long as thing lives."""
    _forgetful.add(thing)


def let_go_before_fork(thing: T, let_go: Callable[[T], None], take_up: Callable[[T], None] | None = None) -> None:
    """From now on, let_go(thing) runs before each fork of this process, for as long as thing lives; it must not raise.

    It closes what a child must not even inherit, and what is opened again when it is needed. What came last lets go
    first, since it may use what came before. take_up(thing) runs afterwards in the parent; it must not raise either.
    """
    _letting_go[thing] = let_go
    if take_up is not None:
        _taking_up[thing] = take_up


def _all_of(things: WeakKeyDictionary[Any, Callable[[Any], None]]) -> list[tuple[Any, Callable[[Any], None]]]:
    while True:
        with suppress(RuntimeError):  # another thread came to have one meanwhile
            return list(things.items())


def _let_all_go() -> None:
    for thing, let_go in reversed(_all_of(_letting_go)):
        let_go(thing)


def _take_all_up() -> None:
    for thing, take_up in _all_of(_taking_up):
        take_up(thing)


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
    os.register_at_fork(before=_let_all_go, after_in_parent=_take_all_up, after_in_child=_forget_all)
