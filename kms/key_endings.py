"""Key endings: how a key stops sealing, is retired, comes back or is destroyed, each in one transaction.

ACTIVE -> DEACTIVATED -> RETIRED -> DESTROYED        RETIRED -> DEACTIVATED: restored
"""

from contextlib import AbstractContextManager
from datetime import timedelta

from kms.errors import KeyringError
from kms.key_database import erase_old_pages
from kms.key_record import KeyRecord, KeyState
from kms.key_store import KeyStore
from kms.locked_keyring import LockedKeyring, locked
from kms.utc_text import to_the_second

__all__ = ["KeyEndings"]


class KeyEndings:
    """Of one keyring, by its id. Two processes may race: one wins, the other is told what the key is by then."""

    def __init__(self, store: KeyStore, keyring_id: bytes, *, rest: float) -> None:
        """rest: seconds for which a key must have been DEACTIVATED before it is retired."""
        self._store = store
        self._id = keyring_id
        self._rest = timedelta(seconds=rest)

    def deactivate(self, key_id: bytes) -> None:
        """ACTIVE -> DEACTIVATED, without a successor. Raises: KeyringError, UnavailableError."""
        with self._locked() as keyring:
            record = keyring.record(key_id)
            if record.state is not KeyState.ACTIVE:
                raise KeyringError(f"key {key_id.hex()} is {record.state} already: only an active key is deactivated")
            keyring.set_state(record, KeyState.DEACTIVATED)

    def require_retirable(self, key_id: bytes) -> None:
        """That no process seals with the key any more. Raises: as retire."""
        with self._locked() as keyring:
            self._retirable(keyring, key_id)

    def retire(self, key_id: bytes, wait: timedelta) -> None:
        """DEACTIVATED or PRE-ACTIVE -> RETIRED, to be destroyed after `wait`.

        Raises: KeyringError if the key is another's, seals or did so until less than `rest` ago; UnavailableError.
        """
        with self._locked() as keyring:
            record = self._retirable(keyring, key_id)
            keyring.set_state(record, KeyState.RETIRED, destroy_after=keyring.clocks.later + wait)

    def restore(self, key_id: bytes) -> None:
        """RETIRED -> DEACTIVATED, or PRE-ACTIVE if its turn to seal has not come, at any time until it is destroyed.

        Raises: KeyringError, UnavailableError.
        """
        with self._locked() as keyring:
            record = keyring.record(key_id)
            if record.state is KeyState.DESTROYED:
                raise KeyringError(
                    f"key {key_id.hex()} was destroyed at {to_the_second(record.changed_at)}: only a backup of the key"
                    " store that is older may have it"
                )
            if record.state is not KeyState.RETIRED:
                raise KeyringError(f"key {key_id.hex()} is {record.state}: only a retired key is restored")
            comes_later = keyring.state.has_turn_to_come(record)
            keyring.set_state(record, KeyState.PRE_ACTIVE if comes_later else KeyState.DEACTIVATED)

    def require_destroyable(self, key_id: bytes) -> bool:
        """That the waiting period is over; False for a tombstone. Raises: as destroy."""
        with self._locked() as keyring:
            return _destroyable(keyring, key_id).kept

    def destroy(self, key_id: bytes) -> None:
        """RETIRED -> DESTROYED: erase the wrapped bytes, keep the tombstone. Again: only what is left in a log.

        Raises: KeyringError if the key is another's, is not retired or waits still; UnavailableError if its bytes
        could not be erased everywhere.
        """
        with self._locked() as keyring:
            record = _destroyable(keyring, key_id)
            if record.kept:
                keyring.set_state(record, KeyState.DESTROYED)
        erase_old_pages(self._store.engine)

    def _locked(self) -> AbstractContextManager[LockedKeyring]:
        return locked(self._store.engine, self._id, self._store.now())

    def _retirable(self, keyring: LockedKeyring, key_id: bytes) -> KeyRecord:
        record = keyring.record(key_id)
        match record.state:
            case KeyState.ACTIVE:
                raise KeyringError(f"key {key_id.hex()} is active: rotate first, or deactivate it")
            case KeyState.RETIRED | KeyState.DESTROYED:
                raise KeyringError(
                    f"key {key_id.hex()} is {record.state} since {to_the_second(record.changed_at)} already"
                )
            case KeyState.DEACTIVATED if keyring.clocks.earlier < record.changed_at + self._rest:
                raise KeyringError(
                    f"key {key_id.hex()} was deactivated at {to_the_second(record.changed_at)}, less than"
                    f" {self._rest.total_seconds():g} seconds ago ({keyring.clocks}): some process may seal with it"
                    " still; wait that long, and re-encrypt"
                )
        return record


def _destroyable(keyring: LockedKeyring, key_id: bytes) -> KeyRecord:
    record = keyring.record(key_id)
    if record.state is KeyState.DESTROYED:
        return record
    if record.destroy_after is None:
        raise KeyringError(f"key {key_id.hex()} is {record.state} and waits for nothing: a key is retired first")
    if keyring.clocks.earlier < record.destroy_after:
        raise KeyringError(
            f"key {key_id.hex()} waits until {to_the_second(record.destroy_after)} for backups to age out, and"
            f" {keyring.clocks}: both must be past it"
        )
    return record
