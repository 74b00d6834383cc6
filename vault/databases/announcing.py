"""Announcing: an engine tells the key store of each database that it connects to, before anything is written there.

It looks when a connection is taken for the first time, one that was open before the engine was attached too. So a
server that takes another's place behind the same address is told as well, by those who connect to it. While the key
store is away, a new connection fails, as a start-up does.
"""

import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.pool import ConnectionPoolEntry

from kms.fork import forget_in_child
from kms.keyring import Keyring
from vault.databases.database_identity import DatabaseIdentity, identify

__all__ = ["Announcing", "announce"]

See = Callable[[bytes, DatabaseIdentity], None]
# In the info of a pool's entry, which ends with its connection.
TOLD: Final = "noisevault_told"


class Announcing:
    """Of one engine: which databases were seen by it, and for which keyrings."""

    def __init__(self, engine: Engine, see: See) -> None:
        """see: writes down that a keyring's values may lie in a database; it raises if that cannot be."""
        self._backend, self._url, self._see = engine.dialect.name, engine.url, see
        self._keyrings: set[bytes] = set()
        self._seen: dict[str, DatabaseIdentity] = {}
        self.forget_after_fork()
        forget_in_child(self)
        event.listen(engine, "checkout", self._taken)

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._telling = threading.RLock()

    def serve(self, keyring: Keyring) -> None:
        """What the engine writes may be the keyring's from now on. Raises: KmsError."""
        with self._telling:
            if keyring.id not in self._keyrings:
                for identity in self._seen.values():
                    self._see(keyring.id, identity)
                self._keyrings.add(keyring.id)

    def _taken(self, connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        if TOLD in entry.info:
            return
        identity = identify(connection, self._backend, self._url)
        if identity is not None:
            with self._telling:
                for keyring_id in self._keyrings:
                    self._see(keyring_id, identity)
                self._seen[identity.digest] = identity
        entry.info[TOLD] = True


_announcing: WeakKeyDictionary[Dialect, Announcing] = WeakKeyDictionary()
_beginning = threading.Lock()


def announce(engine: Engine, see: See) -> Announcing:
    """The engine's, made the first time."""
    with _beginning:
        found = _announcing.get(engine.dialect)
        if found is None:
            found = _announcing[engine.dialect] = Announcing(engine, see)
        return found
