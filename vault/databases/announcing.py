"""Announcing: an engine tells the key store of each database that it connects to, before anything is written there.

It looks when a connection is taken for the first time, one that was open before the engine was attached too. So a
server that takes another's place behind the same address is told as well, by those who connect to it. While the key
store is away, the first connection to a database fails, as a start-up does; later ones to the same do not need it.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util.concurrency import await_only, in_greenlet

from kms.errors import KmsError
from kms.fork import forget_in_child
from kms.keyring import Keyring
from vault.databases.database_identity import DatabaseIdentity, identify

__all__ = ["Announcing", "announce"]

See = Callable[[bytes, DatabaseIdentity], None]
# In the info of a pool's entry, which ends with its connection: the identity, or None.
TOLD: Final = "noisevault_told"
# Ours: how often it is told again that a database lives, by old connections too, which may fail: one that was forgotten
# by mistake counts again.
AGAIN_SECONDS: Final = 3600.0


class Announcing:
    """Of one engine: which databases were seen by it, and for which keyrings."""

    def __init__(self, engine: Engine, see: See, clock: Callable[[], float] = time.monotonic) -> None:
        """see: writes down that a keyring's values may lie in a database; it raises if that cannot be."""
        self._clock = clock
        self._backend, self._url, self._see = engine.dialect.name, engine.url, see
        self._is_async = engine.dialect.is_async
        self._keyrings: set[bytes] = set()
        self._seen: dict[DatabaseIdentity, float] = {}
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
                for identity in tuple(self._seen):
                    self._write(keyring.id, identity)
                self._keyrings.add(keyring.id)

    def _taken(self, connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        identity = entry.info.get(TOLD)
        if TOLD not in entry.info:
            identity = identify(connection, self._backend, self._url)
        elif identity is None or self._clock() < self._seen.get(identity, -AGAIN_SECONDS) + AGAIN_SECONDS:
            return
        if identity is not None:
            with self._telling:
                self._tell(identity)
        entry.info[TOLD] = identity

    def _tell(self, identity: DatabaseIdentity) -> None:
        told = self._seen.get(identity)
        if told is None:
            for keyring_id in tuple(self._keyrings):
                self._write(keyring_id, identity)
        elif self._clock() < told + AGAIN_SECONDS:
            return
        self._seen[identity] = self._clock()
        if told is not None:
            with suppress(KmsError, SQLAlchemyError):  # it is registered, and nothing depends on the date
                for keyring_id in tuple(self._keyrings):
                    self._write(keyring_id, identity)

    def _write(self, keyring_id: bytes, identity: DatabaseIdentity) -> None:
        """Of an async engine beside its loop, which goes on meanwhile."""
        if self._is_async and in_greenlet():
            await_only(asyncio.to_thread(self._see, keyring_id, identity))
        else:
            self._see(keyring_id, identity)


_announcing: WeakKeyDictionary[Dialect, Announcing] = WeakKeyDictionary()
_beginning = threading.Lock()


def announce(engine: Engine, see: See) -> Announcing:
    """The engine's, made the first time."""
    with _beginning:
        found = _announcing.get(engine.dialect)
        if found is None:
            found = _announcing[engine.dialect] = Announcing(engine, see)
        return found
