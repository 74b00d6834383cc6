"""Shredding: erasing all keys of a keyring, and saying truthfully from when on nobody can bring them back.

1. Refuse, or ask the services whether they would destroy what they are to destroy: nothing was changed yet.
2. Erase all wrapped keys of the keyring in one transaction.
3. Destroy the KEKs. Their names are still in the tombstones, so that whoever dies in between runs it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kms.errors import CannotUnwrapError, KeyringError, KmsError
from kms.kek_uses import KekUse
from kms.key_record import KeyringState
from kms.key_store import KeyStore
from kms.lease import LeaseSettings
from kms.provider import DestroysKek, KekEnd, KeyProvider
from kms.routed_provider import RoutedProvider
from kms.same_kek import may_be_same_kek

__all__ = ["KekFate", "Shredded", "shred"]


@dataclass(frozen=True, slots=True)
class KekFate:
    """A KEK by which a backup of the key store gives the erased keys back.

    until: the last moment at which a backup got one. shared_with: other keyrings that need it, by name.
    end: what its service said when it was destroyed; None while it is there.
    """

    kek: str
    until: datetime
    shared_with: tuple[str, ...]
    end: KekEnd | None

    @property
    def destroyed(self) -> bool:
        """For good, from its end on."""
        return self.end is not None and self.end.final

    def usable_until(self, kept: timedelta | None) -> datetime | None:
        """When it gives nothing back any more: destroyed, or the last such backup gone. None: nobody can say."""
        gone = [self.end.effective] if self.end is not None and self.end.final else []
        return min([*gone, *([] if kept is None else [self.until + kept])], default=None)


@dataclass(frozen=True, slots=True)
class Shredded:
    """What became of a keyring. erased: keys, by this call. at: when the last of its keys was erased."""

    keyring: str
    erased: int
    at: datetime
    leases: LeaseSettings
    keks: tuple[KekFate, ...]

    @property
    def is_crypto_shredded(self) -> bool:
        """Whether every KEK that ever wrapped its keys, as far as the store tells, is destroyed and nobody else's."""
        return bool(self.keks) and all(fate.destroyed for fate in self.keks)

    def recoverable_until(self, kept: timedelta | None = None) -> datetime | None:
        """Until when a backup of the key store can bring a key back. kept: the age at which backups are deleted.

        None: for as long as there is one.
        """
        ends = [fate.usable_until(kept) for fate in self.keks]
        known = [end for end in ends if end is not None]
        return None if len(known) < len(ends) else max([self.at, *known])

    @property
    def held_until(self) -> datetime:
        """When the last process that had a key is done with it.

        One that cannot reach the key store goes by what it read last for the hard lease, and may unwrap a key at the
        very end of it, which is then good for the soft lease. One whose KEK is gone unwraps nothing any more.
        """
        hard, soft = timedelta(seconds=self.leases.unwrapped_hard), timedelta(seconds=self.leases.unwrapped_soft)
        if self.is_crypto_shredded:
            return max([self.at, *(fate.end.effective for fate in self.keks if fate.end is not None)]) + hard
        return self.at + hard + soft

    def effective(self, kept: timedelta | None = None) -> datetime | None:
        """From when on nobody can open what the keyring sealed: processes that hold a key are done by then too."""
        end, hard = self.recoverable_until(kept), timedelta(seconds=self.leases.unwrapped_hard)
        if end is None:
            return None
        return end + hard if self.is_crypto_shredded else max(end + hard, self.held_until)


def shred(
    store: KeyStore,
    provider: KeyProvider | None,
    state: KeyringState,
    *,
    confirm: str,
    leases: LeaseSettings,
    destroy_keks: bool = False,
    waiting_days: int = 30,
) -> Shredded:
    """Erase every key of the keyring, the first ledger key too; nothing that it sealed opens again. May be run again.

    provider: None where its KEK cannot be opened any more. confirm: the keyring's name.
    destroy_keks: also the KEKs which wrapped its keys, if they are nobody else's. waiting_days: how long the service
    keeps a KEK that can still be had back, where it does.
    Raises: KeyringError, before anything is erased, for a KEK that is shared or that no provider destroys; KmsError.
    After the keys were erased an error says so, and the same call goes on from there.
    """
    if confirm != state.name:
        raise KeyringError(f"this is keyring {state.name!r}: confirm that name, everything it sealed will be lost")
    ending = _to_be_destroyed(store, provider, state) if destroy_keks else {}
    erased = store.erase_keyring(state.keyring_id)
    ends: dict[str, KekEnd] = {}
    for kek, destroyer in ending.items():
        failure = _destroyed(store, state, kek, destroyer, waiting_days, ends)
        if failure is not None:
            raise failure
    uses = store.kek_uses()
    own = [(use.kek, use.until) for use in uses if use.keyring_id == state.keyring_id]
    fates = tuple(
        KekFate(kek, until, _others(uses, state, kek), ends.get(kek)) for kek, until in own if until is not None
    )
    if len(fates) < len(own):
        raise KeyringError(f"a key was added to {state.name!r} while it was shredded: shred it again")
    return Shredded(state.name, erased, max((fate.until for fate in fates), default=store.now()), leases, fates)


def _destroyed(
    store: KeyStore,
    state: KeyringState,
    kek: str,
    destroyer: DestroysKek,
    waiting_days: int,
    ends: dict[str, KekEnd],
) -> KmsError | None:
    others = _others(store.kek_uses(), state, kek)  # again: somebody may have begun to use it meanwhile
    if others:
        return KeyringError(f"the keys are erased; {kek} stays, since keyring {', '.join(others)} came to use it")
    try:
        ends[kek] = destroyer.destroy_kek(kek, waiting_days=waiting_days, now=store.now())
    except KmsError as error:
        return type(error)(f"the keys are erased, {kek} is not destroyed yet: {error}; then type the same again")
    return None


def _to_be_destroyed(store: KeyStore, provider: KeyProvider | None, state: KeyringState) -> dict[str, DestroysKek]:
    """Who destroys which KEK. One that only old backups need is left out where it is not ours to destroy."""
    uses = store.kek_uses()
    ending: dict[str, DestroysKek] = {}
    for use in uses:
        if use.keyring_id == state.keyring_id:
            found = _destroyer(provider, use.kek, _others(uses, state, use.kek))
            if not isinstance(found, KmsError):
                ending[use.kek] = found
            elif use.until is None or not isinstance(found, CannotUnwrapError | KeyringError):
                raise found
    return ending


def _destroyer(provider: KeyProvider | None, kek: str, others: Sequence[str]) -> DestroysKek | KmsError:
    """Who destroys this KEK, asked whether it would, or why nobody does."""
    if others:
        return KeyringError(
            f"{kek} wraps keys of keyring {', '.join(others)} too, or may: nothing was erased; shred without destroying"
            " it, or move one of the keyrings to a key-encryption key of its own first"
        )
    found: object = None if provider is None else RoutedProvider.of(provider).provider_of(kek)
    if not isinstance(found, DestroysKek):
        return KeyringError(
            f"{kek} cannot be destroyed from here: nothing was erased; open the keyring with its URI, or shred without"
            " destroying it"
        )
    try:
        found.require_destroyable(kek)
    except KmsError as error:
        return type(error)(f"nothing was erased: {error}")
    return found


def _others(uses: Sequence[KekUse], state: KeyringState, kek: str) -> tuple[str, ...]:
    """The keyrings with live keys that this KEK, by whatever name, wraps or that a backup needs it for."""
    alive = {use.keyring_id for use in uses if use.until is None} - {state.keyring_id}
    return tuple(sorted({use.keyring for use in uses if use.keyring_id in alive and may_be_same_kek(use.kek, kek)}))
