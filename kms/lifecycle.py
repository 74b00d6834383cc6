"""Key lifecycle: what an operator does to the keys of a keyring, from one key to the next until they are destroyed."""

from collections.abc import Callable

from kms.each_alone import all_or_each_alone
from kms.errors import KeyringError, KmsError
from kms.key_changes import KeyChanges
from kms.key_record import KeyRecord, KeyringState, Purpose
from kms.key_store import KeyStore
from kms.lease import LeaseSettings
from kms.moving import move
from kms.new_key import RandomBytes
from kms.provider import KeyProvider
from kms.rewrapping import rewrap
from kms.shredding import Shredded, shred

__all__ = ["KeyLifecycle"]


class KeyLifecycle:
    """Of one keyring, which has it as .lifecycle. Every call looks at the store first; two processes may race."""

    def __init__(
        self,
        store: KeyStore,
        provider: KeyProvider,
        read: Callable[[], KeyringState],
        leases: LeaseSettings,
        random: RandomBytes,
    ) -> None:
        """read: gives the state as it is now, and tells the keyring."""
        self._store = store
        self._provider = provider
        self._read = read
        self._leases = leases
        self._changes = KeyChanges(store, provider, random)

    def check(self) -> list[tuple[KeyRecord, KmsError]]:
        """The live keys whose stored bytes do not unwrap now, each with the reason; what is held here does not count.

        Raises: KmsError when the service does not answer at all.
        """
        records = self._read().records
        _, failures = all_or_each_alone(self._provider.unwrap, records)
        return [(record, failures[record.key_id]) for record in records if record.key_id in failures]

    def rewrap(self) -> list[KeyRecord]:
        """Wrap every live key by the newest KEK, or KEK version, and give those that this call changed, as they are.

        No data is touched. It may be called again at any time, and by two processes at once; what it did not come to
        opens as before. Other processes read the new bytes within a sealing lease, so retire the old version then.
        Raises: KmsError; if some keys cannot be rewrapped, after the others were, with the ids of these.
        """
        changed = {record.key_id for record in rewrap(self._store, self._provider, self._read())}
        return [record for record in self._read().records if record.key_id in changed]

    def move(self, to: KeyProvider) -> list[KeyRecord]:
        """Wrap every live key by another provider's KEK, and give those that this call changed, as they are.

        No data is touched. It may be called again at any time, and by two processes at once. Every process that uses
        the keyring, this one too, opens its keys afterwards only if it was given the other KEK: see docs/keys-move.md.
        Raises: KmsError; if some keys do not unwrap, after the others were moved, with the ids of these.
        """
        changed = {record.key_id for record in move(self._store, self._provider, to, self._read())}
        return [record for record in self._read().records if record.key_id in changed]

    def rotate(self, purpose: Purpose) -> KeyRecord:
        """Make a new key ACTIVE (a PRE-ACTIVE one if there is), deactivate the one that was, give the new one.

        If another process rotates at the same time, one of them does it and both get the same new key.
        """
        return self._changes.rotate(self._read, purpose)

    def prepare(self, purpose: Purpose) -> KeyRecord:
        """Add a PRE-ACTIVE key, which every process can open before the next rotate() makes it seal."""
        record = self._changes.prepare(self._read, purpose)
        self._read()
        return record

    def destroy(self, key_id: bytes) -> None:
        """Erase a DEACTIVATED (or PRE-ACTIVE) key; its tombstone stays. What it sealed is lost but for backups.

        Raises: KeyringError if the key is ACTIVE, was until less than a sealing lease ago, or is not of this keyring;
        and for the first ledger key, by which every ledger of this keyring finds its questions for ever.
        """
        state = self._read()
        record = state.find(key_id)
        if record is not None and record.purpose is Purpose.LEDGER and record.sequence == 1:
            raise KeyringError(f"key {key_id.hex()} is the first ledger key: without it no ledger opens, so it stays")
        self._store.destroy(state.keyring_id, key_id, rested=self._leases.sealing)
        self._read()

    def shred(self, *, confirm: str, destroy_keks: bool = False, waiting_days: int = 30) -> Shredded:
        """Erase every key of the keyring: nothing that it sealed opens again but by backups, of which the answer tells.

        confirm: the keyring's name. destroy_keks, waiting_days, and what is raised: see kms.shredding.shred().
        """
        done = shred(
            self._store,
            self._provider,
            self._read(),
            confirm=confirm,
            leases=self._leases,
            destroy_keks=destroy_keks,
            waiting_days=waiting_days,
        )
        self._read()
        return done
