"""Index home: the keyring that makes the terms of an index, where it is another than the field's.

Then equal values of all keyrings that name it have equal terms. What is recorded of such an index lies with its home.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kms.fork import forget_in_child
from kms.keyring import Keyring
from vault.databases.opening_news import OpeningNews, Tell
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_slot import SlotKeys
from vault.errors import DefinitionError
from vault.index.news import IndexNews

__all__ = ["IndexHome", "IndexHomes", "at_home", "no_home"]


@dataclass(frozen=True, slots=True)
class IndexHome:
    """The keyring, with what is recorded there of one field: its definitions by generation, and the pins by index.

    news: where pins, phases and generations are learnt of later; without it the pins given here stay.
    """

    keyring: Keyring
    generations: Mapping[int, FieldDefinition]
    slots: Mapping[str, SlotKeys]
    news: IndexNews | None = field(default=None, compare=False)


def at_home(definition: FieldDefinition, home: str) -> FieldDefinition:
    """The definition with those of its indexes alone that live in the keyring called home."""
    return replace(definition, indexes=tuple(index for index in definition.indexes if index.keyring == home))


def no_home(name: str) -> Keyring:
    """For fields that are opened without any. Raises: DefinitionError."""
    raise DefinitionError(f"an index lives in keyring {name!r}: open the vault by open_vault() or open_tenants()")


class IndexHomes:
    """The home keyrings of a process, each opened when it is first named. Shared by threads."""

    def __init__(self, open_keyring: Callable[[str], Keyring]) -> None:
        self._open_keyring = open_keyring
        self._keyrings: dict[str, Keyring] = {}
        self._news = OpeningNews()
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._opening = threading.Lock()

    def __call__(self, name: str) -> Keyring:
        """The keyring, the same object each time. Raises: KmsError."""
        with self._opening:
            if name not in self._keyrings:
                self._keyrings[name] = self._news.told(self._open_keyring(name))
            return self._keyrings[name]

    def at_opening(self, tell: Tell) -> None:
        """Call it with each home keyring, those that are open and those that will be. Raises: what it raises."""
        with self._opening:
            self._news.to(tell, self.opened())

    def opened(self) -> list[Keyring]:
        """Those that were named so far."""
        return list(self._keyrings.values())

    def close(self) -> None:
        for keyring in self.opened():
            keyring.close()
