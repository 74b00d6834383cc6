"""Who wants to know of each keyring is told, of those that are open too, and is not kept alive."""

import gc
import weakref
from typing import Any

import pytest

from vault.databases.opening_news import OpeningNews


class Keyring:
    closed = False

    def close(self) -> None:
        self.closed = True


class Told:
    def __init__(self) -> None:
        self.of: list[Any] = []

    def tell(self, keyring: Any) -> None:
        self.of.append(keyring)


def test_it_is_told_of_what_is_open_and_of_what_will_be_once_each() -> None:
    news, told, one, two = OpeningNews(), Told(), Keyring(), Keyring()
    news.to(told.tell, [one])  # type: ignore[list-item]
    news.to(told.tell)
    assert news.told(two) is two  # type: ignore[arg-type,comparison-overlap]
    assert told.of == [one, two]


def test_who_is_gone_is_not_told() -> None:
    news, told = OpeningNews(), Told()
    news.to(told.tell)
    gone = weakref.ref(told)
    del told
    gc.collect()
    assert gone() is None
    news.told(Keyring())  # type: ignore[arg-type]


def test_a_keyring_of_which_nobody_can_be_told_is_closed() -> None:
    class Refuses:
        def tell(self, _keyring: Any) -> None:
            raise ValueError("away")

    news, refuses, keyring = OpeningNews(), Refuses(), Keyring()
    news.to(refuses.tell)
    with pytest.raises(ValueError, match="away"):
        news.told(keyring)  # type: ignore[arg-type]
    assert keyring.closed
