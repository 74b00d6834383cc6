"""Key changes: making, preparing and rotating keys, which two processes may try at once without losing one."""

import os
from collections.abc import Callable
from typing import Final

from kms.errors import KeyringClosedError, KeyringError
from kms.key_record import KeyRecord, KeyringState, KeyState, Purpose
from kms.key_store import KeyStore
from kms.new_key import RandomBytes, draw_key_id, new_key
from kms.provider import KEYRING_ID_BYTES, KeyProvider
from kms.utc_text import to_the_minute

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

    def rotate(
        self, read: Callable[[], KeyringState], purpose: Purpose, *, instead_of: bytes | None = None
    ) -> KeyRecord:
        """Make a PRE-ACTIVE key, or a new one, ACTIVE instead of the one that is, if one is; give the ACTIVE key then.

        read: gives the state as it is now. If another process rotates meanwhile, its new key is the answer.
        instead_of: id of the key that is to be replaced; if another is ACTIVE by now, that one is the answer, and if
        none is, the keyring was closed meanwhile and stays so: KeyringClosedError.
        Raises: KmsError, also if the provider does not open the keys that there are.
        """
        first = read().active(purpose)
        before = instead_of if instead_of is not None else None if first is None else first.key_id
        for _ in range(ATTEMPTS):
            state = read()
            _require_not_shredded(state)
            active = state.active(purpose) if instead_of is None else active_key(state, purpose)
            if active is not None and active.key_id != before:
                return active
            waiting = state.waiting(purpose)
            self._require_opens(state, purpose, *([] if waiting is None else [waiting]))
            record = waiting or self._new_key(state, purpose, KeyState.ACTIVE)
            if self._store.activate(record, instead_of=None if active is None else active.key_id):
                return active_key(read(), purpose)
        raise self._keeps_changing(read(), purpose)

    def prepare(self, read: Callable[[], KeyringState], purpose: Purpose) -> KeyRecord:
        """Add a PRE-ACTIVE key. Raises: as rotate."""
        self._require_opens(read(), purpose)
        for _ in range(ATTEMPTS):
            state = read()
            _require_not_shredded(state)
            record = self._new_key(state, purpose, KeyState.PRE_ACTIVE)
            if self._store.add(record):
                return record
        raise self._keeps_changing(read(), purpose)

    def _require_opens(self, state: KeyringState, purpose: Purpose, *records: KeyRecord) -> None:
        """Under another KEK, such as the wrong key file's, a new key would seal nowhere but here."""
        known = [record for record in (*state.records, *state.of(purpose)) if record.live]
        tried = [state.active(purpose) or known[-1] if known else None, *records]
        self._provider.unwrap([(r.wrapped, r.context) for r in tried if r is not None and r.wrapped is not None])

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

    def _keeps_changing(self, state: KeyringState, purpose: Purpose) -> KeyringError:
        return KeyringError(f"the {purpose} keys of {state.name!r} keep changing: try again")


def active_key(state: KeyringState, purpose: Purpose) -> KeyRecord:
    """The key of a purpose that seals. Raises: KeyringClosedError if it was deactivated and none followed it."""
    active = state.active(purpose)
    if active is not None:
        return active
    _require_not_shredded(state)
    past = [record for record in state.of(purpose) if record.state is not KeyState.PRE_ACTIVE]
    if not past:
        raise KeyringError(f"keyring {state.name!r} has no active {purpose} key: its store was changed by hand")
    last = past[-1]
    raise KeyringClosedError(
        f"keyring {state.name!r} is closed for {purpose}: its last key {last.key_id.hex()} is {last.state} since"
        f" {to_the_minute(last.changed_at)}, and what was sealed still opens; to seal again: noisevault rotate"
        f" --purpose {purpose}"
    )


def _require_not_shredded(state: KeyringState) -> None:
    if state.shredded:
        raise KeyringError(f"keyring {state.name!r} was shredded: all its keys were destroyed, and none is made anew")
