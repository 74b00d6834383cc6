"""What is opened for a session is opened once, and closed when nobody works with it any more."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Barrier

import pytest

from vault.jobs.workers.kept_open import KeptOpen, Sessions, sessions


class Opened:
    """told: what was opened and closed, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def opens(self, name: str) -> Callable[[], AbstractContextManager[str]]:
        @contextmanager
        def opened() -> Iterator[str]:
            self.told.append(f"+{name}")
            yield name
            self.told.append(f"-{name}")

        return opened


def test_it_is_opened_once_and_closed_in_reverse_order() -> None:
    opened, kept = Opened(), KeptOpen()
    assert [kept.get(name, opened.opens(name)) for name in "abab"] == list("abab")
    kept.close()
    kept.close()
    assert opened.told == ["+a", "+b", "-b", "-a"]


def test_threads_that_ask_at_once_get_the_same() -> None:
    opened, kept, together = Opened(), KeptOpen(), Barrier(4)

    def ask(_: int) -> str:
        together.wait(10)
        return kept.get("a", opened.opens("a"))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == ["a"] * 4
    assert opened.told == ["+a"]


def test_what_cannot_be_opened_is_tried_again() -> None:
    opened, kept = Opened(), KeptOpen()

    @contextmanager
    def fails() -> Iterator[str]:
        raise OSError
        yield ""

    with pytest.raises(OSError):
        kept.get("a", fails)
    assert kept.get("a", opened.opens("a")) == "a"


def test_the_next_session_closes_what_nobody_works_with() -> None:
    opened, found = Opened(), Sessions()
    with found.using("one") as one:
        one.get("a", opened.opens("a"))
        with found.using("two") as two:
            two.get("b", opened.opens("b"))
        assert opened.told == ["+a", "+b"]
        with found.using("one") as again:
            assert again is one
        assert opened.told == ["+a", "+b", "-b"]
    found.end("two")
    assert opened.told[-1] == "-b"
    found.end("one")
    assert opened.told[-1] == "-a"


def test_the_end_of_the_process_closes_all() -> None:
    opened, found = Opened(), Sessions()
    for name in "ab":
        with found.using(name) as kept:
            kept.get(name, opened.opens(name))
    found.end()
    assert sorted(opened.told) == ["+a", "+b", "-a", "-b"]
    assert sessions() is sessions()


def test_a_forked_child_has_none_of_them() -> None:
    opened, found = Opened(), Sessions()
    with found.using("one") as kept:
        kept.get("a", opened.opens("a"))
    found.forget_after_fork()
    found.end()
    assert opened.told == ["+a"], "it is the parent's"
