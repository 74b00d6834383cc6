"""Key lifecycle: what an operator does to the keys of a keyring, from one key to the next until they are destroyed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from kms.each_alone import unwrapped_alone
from kms.errors import KeyringError, KmsError
from kms.key_changes import KeyChanges
from kms.key_endings import KeyEndings
from kms.key_record import KeyRecord, KeyringState, Purpose
from kms.key_store import KeyStore
from kms.lease import LeaseSettings
from kms.moving import move
from kms.new_key import RandomBytes
from kms.provider import KeyProvider
from kms.rewrap_due import rewrap_due
from kms.rewrapping import rewrap
from kms.rotation_due import RotationDue, rotation_due
from kms.seal_counter import SealCounter
from kms.shredding import Shredded, shred

__all__ = ["DEFAULT_WAIT", "LONGEST_WAIT", "SHORTEST_WAIT", "KeyLifecycle"]

# As key services do (AWS KMS: 7 to 30 days, 30 unless told; Google Cloud KMS: 30), for backups that are older.
DEFAULT_WAIT: Final = timedelta(days=30)
SHORTEST_WAIT: Final = timedelta(days=7)
LONGEST_WAIT: Final = timedelta(days=3650)


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
        """The kept keys whose stored bytes do not unwrap now, each with the reason; what is held here does not count.

        Raises: KmsError when the service does not answer at all.
        """
        records = self._read().records
        _, failures = unwrapped_alone(self._provider.unwrap, records)
        return [(record, failures[record.key_id]) for record in records if record.key_id in failures]

    def rewrap_due(self) -> list[KeyRecord]:
        """The kept keys that rewrap() would bring under a newer KEK, or KEK version. Raises: KmsError."""
        return rewrap_due(self._provider, self._read().records)

    def rewrap(self) -> list[KeyRecord]:
        """Wrap every kept key, retired or not, by the newest KEK, or KEK version, and give those that were changed.

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

    def rotate(self, purpose: Purpose, due: RotationDue | None = None) -> KeyRecord:
        """Make a new key ACTIVE (a PRE-ACTIVE one if there is), deactivate the one that was, give the new one.

        If another process rotates at the same time, one of them does it and both get the same new key.
        due: rotate only if the key that is due is ACTIVE still, else give the one that is.
        """
        return self._changes.rotate(self._read, purpose, instead_of=None if due is None else due.key_id)

    def rotation_due(
        self, purpose: Purpose, *, max_age: timedelta | None = None, max_seals: int | None = None
    ) -> RotationDue | None:
        """Why the purpose's ACTIVE key should be followed by another, if it should; never for a closed keyring.

        max_age: since it became ACTIVE. max_seals: of the values of one label, see rotation_due.py.
        """
        active = self._read().active(purpose)
        if active is None:
            return None
        counts = SealCounter(self._store.engine).counts()
        return rotation_due(active, counts, now=self._store.now(), max_age=max_age, max_seals=max_seals)

    def prepare(self, purpose: Purpose) -> KeyRecord:
        """Add a PRE-ACTIVE key, which every process can open before the next rotate() makes it seal."""
        record = self._changes.prepare(self._read, purpose)
        self._read()
        return record

    def deactivate(self, key_id: bytes) -> None:
        """Let the ACTIVE key of a purpose seal no more, without a successor: what was sealed still opens.

        Other processes stop sealing within a sealing lease. rotate() makes a key that seals again.
        Raises: KeyringError if the key is not ACTIVE or of another keyring.
        """
        self._endings().deactivate(key_id)
        self._read()

    def retire(
        self,
        key_id: bytes,
        wait: timedelta = DEFAULT_WAIT,
        *,
        shortest: timedelta = SHORTEST_WAIT,
        look: Callable[[KeyRecord], None] = lambda _: None,
    ) -> KeyRecord:
        """Take a DEACTIVATED (or PRE-ACTIVE) key out of use: it opens nothing, and may be destroyed after `wait`.

        Other processes that hold it unwrapped open by it for another soft lease (5 minutes), and one that cannot
        read the key store until its hard lease ends as well (65 minutes); nobody seals with it.
        shortest: what `wait` is at least; a lower one has to be asked for. It is at most ten years.
        look: called once no process seals with the key any more, to raise if something still needs it.
        Raises: KeyringError if the key is ACTIVE, was until less than a sealing lease ago, or is of another keyring;
        for the first ledger key, by which every ledger finds its questions for ever; and for a wait out of bounds.
        """
        if not timedelta(0) <= shortest <= wait <= LONGEST_WAIT:
            raise KeyringError(
                f"a retired key waits for {shortest.days} to {LONGEST_WAIT.days} days before it may be destroyed, not"
                f" {wait}: backups older than that must not need it"
            )
        record, endings = self._record(key_id), self._endings()
        endings.require_retirable(key_id)
        look(record)
        endings.retire(key_id, wait)
        return self._record(key_id)

    def restore(self, key_id: bytes) -> KeyRecord:
        """Bring a RETIRED key back to DEACTIVATED (to PRE-ACTIVE, if its turn to seal has not come).

        Raises: KeyringError if it is not RETIRED, or was destroyed.
        """
        self._endings().restore(key_id)
        return self._record(key_id)

    def destroy(self, key_id: bytes, *, look: Callable[[KeyRecord], None] = lambda _: None) -> None:
        """Erase a RETIRED key whose waiting period is over; its tombstone stays. What it sealed is in old backups only.

        The period is over when this machine's clock and the database's both say so. Again on a tombstone: erases
        what an interrupted call may have left in the database's log.
        look: called once the period is over, to raise if something still needs the key.
        Raises: KeyringError if the key is not RETIRED, waits still, or is of another keyring.
        """
        record, endings = self._record(key_id), self._endings()
        if endings.require_destroyable(key_id):
            look(record)
        endings.destroy(key_id)
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

    def _endings(self) -> KeyEndings:
        return KeyEndings(self._store, self._read().keyring_id, rest=self._leases.sealing)

    def _record(self, key_id: bytes) -> KeyRecord:
        """Raises: KeyringError if the keyring has no such key, or it is the one that stays for ever."""
        record = self._read().find(key_id)
        if record is None:
            raise KeyringError(f"the keyring has no key {key_id.hex()}")
        if record.purpose is Purpose.LEDGER and record.sequence == 1:
            raise KeyringError(f"key {key_id.hex()} is the first ledger key: without it no ledger opens, so it stays")
        return record
