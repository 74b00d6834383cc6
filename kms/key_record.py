"""Key record: what the store knows of one data key, which it holds wrapped or, once destroyed, not at all."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from kms.errors import KeyDestroyedError, KeyRetiredError
from kms.provider import KEY_ID_BYTES, KEYRING_ID_BYTES, Wrapped, wrap_context

__all__ = ["KeyRecord", "KeyState", "KeyringState", "Purpose", "ended_error"]


class Purpose(StrEnum):
    """What a data key is for; a key has one purpose for ever."""

    DATA = "data"
    INDEX = "index"
    LEDGER = "ledger"


class KeyState(StrEnum):
    """The states of NIST SP 800-57 part 1, section 7, that a data key passes through in this order; RETIRED is ours."""

    PRE_ACTIVE = "pre-active"  # opens, does not seal yet
    ACTIVE = "active"  # seals; one a purpose
    DEACTIVATED = "deactivated"  # opens only
    RETIRED = "retired"  # neither seals nor opens, may come back; waits for backups to age out
    DESTROYED = "destroyed"  # wrapped bytes erased; the row stays, so that its id is never used again

    def may_become(self, later: "KeyState") -> bool:
        """Whether a key may go from this state to the later one."""
        return later in _NEXT_STATES[self]


_NEXT_STATES: Final = {
    KeyState.PRE_ACTIVE: frozenset({KeyState.ACTIVE, KeyState.RETIRED}),
    KeyState.ACTIVE: frozenset({KeyState.DEACTIVATED}),
    KeyState.DEACTIVATED: frozenset({KeyState.RETIRED}),
    KeyState.RETIRED: frozenset({KeyState.PRE_ACTIVE, KeyState.DEACTIVATED, KeyState.DESTROYED}),
    KeyState.DESTROYED: frozenset[KeyState](),
}


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One data key of a keyring. Times are UTC; changed_at is when it entered its state.

    destroy_after: of a RETIRED key, the end of its waiting period.
    """

    keyring_id: bytes
    purpose: Purpose
    key_id: bytes
    sequence: int
    state: KeyState
    wrapped: Wrapped | None
    created_at: datetime
    changed_at: datetime
    destroy_after: datetime | None = None

    def __post_init__(self) -> None:
        if len(self.keyring_id) != KEYRING_ID_BYTES:
            raise ValueError(f"a keyring id is {KEYRING_ID_BYTES} bytes")
        if len(self.key_id) != KEY_ID_BYTES or not any(self.key_id):
            raise ValueError(f"a key id is {KEY_ID_BYTES} bytes, not all zero")
        if self.sequence < 1:
            raise ValueError(f"sequences begin with 1, not {self.sequence}")
        if (self.wrapped is None) != (self.state is KeyState.DESTROYED):
            raise ValueError(f"key {self.key_id.hex()} is {self.state}: only a destroyed key has no wrapped bytes")
        if (self.destroy_after is None) == (self.state is KeyState.RETIRED):
            raise ValueError(f"key {self.key_id.hex()} is {self.state}: a retired key waits, and no other")

    @property
    def kept(self) -> bool:
        """Whether its wrapped bytes are there: it opens, or may be brought back, and so moves with its KEK."""
        return self.wrapped is not None

    @property
    def live(self) -> bool:
        """Whether the key opens what it sealed."""
        return self.kept and self.state is not KeyState.RETIRED

    @property
    def context(self) -> bytes:
        """The place its wrapped bytes are bound to."""
        return wrap_context(self.keyring_id, self.purpose.value, self.key_id, self.sequence)


@dataclass(frozen=True, slots=True)
class KeyringState:
    """A keyring as read from its store at one moment, records by purpose and sequence."""

    keyring_id: bytes
    name: str
    records: tuple[KeyRecord, ...]

    def of(self, purpose: Purpose) -> tuple[KeyRecord, ...]:
        """The records of one purpose, tombstones included, lowest sequence first."""
        return tuple(record for record in self.records if record.purpose is purpose)

    def find(self, key_id: bytes) -> KeyRecord | None:
        """The record with this id, or None."""
        return next((record for record in self.records if record.key_id == key_id), None)

    def active(self, purpose: Purpose) -> KeyRecord | None:
        """The key that seals: the highest sequence past PRE-ACTIVE, retired and destroyed ones aside, if it is ACTIVE.

        None if it was deactivated without a successor: the purpose is closed.
        """
        past = [record for record in self.of(purpose) if record.live and record.state is not KeyState.PRE_ACTIVE]
        return past[-1] if past and past[-1].state is KeyState.ACTIVE else None

    @property
    def shredded(self) -> bool:
        """Whether every key was destroyed: the first ledger key goes in no other way, and then nothing is made anew."""
        return bool(self.records) and not any(record.kept for record in self.records)

    def newest_sequence(self, purpose: Purpose) -> int:
        """The highest sequence past PRE-ACTIVE, or 0: a key that becomes ACTIVE has a higher one."""
        past = [record.sequence for record in self.of(purpose) if record.state is not KeyState.PRE_ACTIVE]
        return max(past, default=0)

    def has_turn_to_come(self, record: KeyRecord) -> bool:
        """Whether the key never sealed and may become ACTIVE later: PRE-ACTIVE, or retired from there."""
        if record.state is KeyState.PRE_ACTIVE:
            return True
        active = self.active(record.purpose)
        return record.state is KeyState.RETIRED and active is not None and active.sequence < record.sequence

    def waiting(self, purpose: Purpose) -> KeyRecord | None:
        """The PRE-ACTIVE key whose turn is next."""
        newest = self.newest_sequence(purpose)
        ready = (r for r in self.of(purpose) if r.state is KeyState.PRE_ACTIVE and r.sequence > newest)
        return next(ready, None)


def ended_error(keyring: str, record: KeyRecord) -> KeyRetiredError | KeyDestroyedError:
    """Why a key that is not live opens nothing. keyring: its name."""
    if record.destroy_after is not None:
        return KeyRetiredError(keyring, record.key_id, record.changed_at, record.destroy_after)
    return KeyDestroyedError(keyring, record.key_id)
