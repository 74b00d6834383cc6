"""A provider in memory that counts its calls and fails when told to."""

import threading
from collections.abc import Callable, Sequence

from kms.errors import KmsError
from kms.provider import Opens, Wrapped
from kms.providers.local import LocalProvider
from kms.secret import SecretKey


class ScriptedProvider:
    """fail: raised by every unwrap while set. refuse: contexts whose keys do not open. before: run in each unwrap."""

    def __init__(self, kek: bytes = bytes(32)) -> None:
        self._real = LocalProvider(SecretKey(kek))
        self.fail: KmsError | None = None
        self.refuse: dict[bytes, KmsError] = {}
        self.before: Callable[[], None] = lambda: None
        self.batches: list[int] = []
        self._lock = threading.Lock()

    def opens(self, kek: str) -> Opens:
        return self._real.opens(kek)

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return self._real.wrap(key, context)

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        with self._lock:
            self.batches.append(len(wrapped))
        self.before()
        if self.fail is not None:
            raise self.fail
        for _, context in wrapped:
            if context in self.refuse:
                raise self.refuse[context]
        return self._real.unwrap(wrapped)
