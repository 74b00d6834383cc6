"""Unknown ids: key ids that the store was just asked for in vain, each remembered alone and shortly."""

from typing import Final

from kms.lease import Clock

__all__ = ["UnknownIds"]

# Ours: a value that names no key costs one reading of the store in this many seconds.
UNKNOWN_SECONDS: Final = 5.0
# Ours: ids come from stored bytes, which an attacker may choose; so what is remembered is bounded.
MOST_REMEMBERED: Final = 4096


class UnknownIds:
    """Shared by threads: each step is one operation on a dictionary."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[bytes, float] = {}

    def forget_after_fork(self) -> None:
        """Begin anew."""
        self._until = {}

    def is_known_unknown(self, key_id: bytes) -> bool:
        """Whether the id was asked for in vain within the last 5 seconds."""
        until = self._until.get(key_id)
        return until is not None and self._clock() < until

    def remember(self, key_id: bytes) -> None:
        """The id was asked for in vain just now."""
        if len(self._until) >= MOST_REMEMBERED:
            self._until = {}
        self._until[key_id] = self._clock() + UNKNOWN_SECONDS
