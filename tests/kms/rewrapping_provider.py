"""A provider in memory whose KEK has versions, which rewraps and retires them as Transit does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kms.errors import KeyVersionRetiredError
from kms.provider import Wrapped
from kms.secret import SecretKey
from tests.kms.scripted_provider import ScriptedProvider


class RewrappingProvider(ScriptedProvider):
    """version: the newest. oldest: the oldest that still unwraps. in_rewrap: run before each rewrap answers."""

    def __init__(self, kek: bytes = bytes(32)) -> None:
        super().__init__(kek)
        self.version, self.oldest = 1, 1
        self.in_rewrap: Callable[[], None] = lambda: None
        self.rewraps: list[int] = []

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        return replace(super().wrap(key, context), kek_version=str(self.version))

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        if any(int(one.kek_version) < self.oldest for one, _ in wrapped):
            raise KeyVersionRetiredError("too old")
        return super().unwrap(wrapped)

    def rewrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[Wrapped]:
        self.rewraps.append(len(wrapped))
        keys = self.unwrap(wrapped)
        self.in_rewrap()
        return [self.wrap(key, context) for key, (_, context) in zip(keys, wrapped, strict=True)]
