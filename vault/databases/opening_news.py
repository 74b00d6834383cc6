"""Opening news: who wants to know of each keyring that a process opens; they are not kept alive by it."""

from collections.abc import Callable, Iterable
from weakref import WeakMethod

from kms.keyring import Keyring

__all__ = ["OpeningNews", "Tell"]

Tell = Callable[[Keyring], None]
"""A bound method, which may raise KmsError."""


class OpeningNews:
    """Of whatever opens keyrings."""

    def __init__(self) -> None:
        self._told: list[WeakMethod[Tell]] = []

    def to(self, tell: Tell, opened: Iterable[Keyring] = ()) -> None:
        """Tell of those that are open already, and from now on of each. Raises: what tell raises."""
        self._told = [one for one in self._told if one() not in {None, tell}]
        self._told.append(WeakMethod(tell))
        for keyring in opened:
            tell(keyring)

    def told(self, keyring: Keyring) -> Keyring:
        """The keyring, when all were told; it is closed if one of them raises."""
        try:
            for one in list(self._told):
                tell = one()
                if tell is not None:
                    tell(keyring)
        except BaseException:
            keyring.close()
            raise
        return keyring
