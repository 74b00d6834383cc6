"""Key changes: making, preparing and rotating keys, which two processes may try at once without losing one."""

import os
from collections.abc import Callable
from typing import Final

from kms.errors import KeyringError
from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.new_key import RandomBytes, draw_key_id, new_key
from kms.provider import KEYRING_ID_BYTES, KeyProvider

__all__ = ["KeyChanges", "active_key"]

# Ours: how often an id that another keyring took, or a change by another process, is met with another try.
ATTEMPTS: Final = 16
LONGEST_NAME: Final = 200


class KeyChanges:
    """Wraps outside of any transaction; the store then takes the key only if nothing changed meanwhile."""

    def __init__(self, store: KeyStore, provider: KeyProvider, random: RandomBytes = os.urandom) -> None:
        self._store = store
        self._provider = provider
        self._random = random

    def create(self, name: str) -> None:
        """A keyring with one ACTIVE key for each purpose. Raises: KeyringError if the name is taken, KmsError."""
        if not 0 < len(name) <= LONGEST_NAME:
            raise KeyringError(f"a keyring's name has 1 to {LONGEST_NAME} characters, not {len(name)}")
        for _ in range(ATTEMPTS):
            state = KeyringState(self._random(KEYRING_ID_BYTES), name, ())
            for purpose in Purpose:
                made = self._new_key(state, purpose, KeyState.ACTIVE)
                state = KeyringState(state.keyring_id, name, (*state.records, made))
            if self._store.create_keyring(state):
                return
        raise KeyringError("the random source keeps giving ids that are taken: it is broken, make no keys with it")

    def rotate(self, read: Callable[[], KeyringState], purpose: Purpose) -> KeyRecord:
        """Make a PRE-ACTIVE key, or a new one, ACTIVE instead of the one that is; give the key that is ACTIVE then.

        read: gives the state as it is now. If another process rotates meanwhile, its new key is the answer.
        Raises: KmsError, also if the provider does not open the key that is ACTIVE.
        """
        before = active_key(read(), purpose)
        for _ in range(ATTEMPTS):
            state = read()
            active = active_key(state, purpose)
            if active.key_id != before.key_id:
                return active
            waiting = [r for r in state.of(purpose) if r.state is KeyState.PRE_ACTIVE and r.sequence > active.sequence]
            self._require_opens(active, *waiting[:1])
            record = waiting[0] if waiting else self._new_key(state, purpose, KeyState.ACTIVE)
            if self._store.activate(record, instead_of=active.key_id):
                return active_key(read(), purpose)
        raise self._keeps_changing(before)

    def prepare(self, read: Callable[[], KeyringState], purpose: Purpose) -> KeyRecord:
        """Add a PRE-ACTIVE key. Raises: as rotate."""
        before = active_key(read(), purpose)
        self._require_opens(before)
        for _ in range(ATTEMPTS):
            record = self._new_key(read(), purpose, KeyState.PRE_ACTIVE)
            if self._store.add(record):
                return record
        raise self._keeps_changing(before)

    def _require_opens(self, *records: KeyRecord) -> None:
        """Under another KEK, such as the wrong key file's, a new key would seal nowhere but here."""
        self._provider.unwrap([(record.wrapped, record.context) for record in records if record.wrapped is not None])

    def _new_key(self, state: KeyringState, purpose: Purpose, key_state: KeyState) -> KeyRecord:
        return new_key(
            self._provider,
            keyring_id=state.keyring_id,
            purpose=purpose,
            key_id=draw_key_id(self._random, {record.key_id for record in state.records}),
            sequence=max((record.sequence for record in state.of(purpose)), default=0) + 1,
            state=key_state,
            now=self._store.now(),
            random=self._random,
        )

    def _keeps_changing(self, record: KeyRecord) -> KeyringError:
        return KeyringError(f"the {record.purpose} keys of {record.keyring_id.hex()} keep changing: try again")


def active_key(state: KeyringState, purpose: Purpose) -> KeyRecord:
    """The key of a purpose that seals. Raises: KeyringError if there is none."""
    active = state.active(purpose)
    if active is None and state.records and not any(record.live for record in state.records):
        raise KeyringError(f"keyring {state.name!r} was shredded: all its keys were destroyed, and nothing is sealed")
    if active is None:
        raise KeyringError(f"keyring {state.name!r} has no active {purpose} key: its store was changed by hand")
    return active
