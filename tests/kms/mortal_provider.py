"""A provider whose KEK can be destroyed, for every process that has its file."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from kms.errors import CannotUnwrapError, KeyNotFoundError
from kms.provider import KekEnd, Wrapped
from kms.secret import SecretKey
from tests.kms.scripted_provider import ScriptedProvider


class MortalProvider(ScriptedProvider):
    """grave: exists once the KEK is destroyed. waits: as a service does. before, after: run around the destruction."""

    def __init__(self, grave: Path, kek: bytes = bytes(32), waits: bool = False) -> None:
        super().__init__(kek)
        self.grave = grave
        self.waits = waits
        self.guarded: Exception | None = None
        self.asked: Callable[[], object] = lambda: None
        self.before_end: Callable[[], object] = lambda: None
        self.after_end: Callable[[], object] = lambda: None

    def unwrap(self, wrapped: Sequence[tuple[Wrapped, bytes]]) -> list[SecretKey]:
        if self.grave.exists():
            raise KeyNotFoundError("destroyed")
        return super().unwrap(wrapped)

    def require_destroyable(self, kek: str) -> None:
        self.asked()
        if kek != self._real.kek:
            raise CannotUnwrapError("another key")
        if self.guarded is not None:
            raise self.guarded

    def destroy_kek(self, kek: str, *, waiting_days: int, now: datetime) -> KekEnd:
        self.require_destroyable(kek)
        self.before_end()
        if not self.grave.exists():
            end = now + timedelta(days=waiting_days) if self.waits else now
            self.grave.write_text(end.isoformat())
        self.after_end()
        return KekEnd(kek, datetime.fromisoformat(self.grave.read_text()), final=True)
