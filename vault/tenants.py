"""Vaults of tenants: each tenant's keyring, opened when first used; which one serves is a context variable's say.

The context variable belongs to the running task or thread, so that neither can be given another's keys.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, NoReturn, SupportsIndex

from kms.fork import forget_in_child
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.open_provider import FormerKek, open_routed
from kms.provider import KeyProvider
from kms.provider_settings import ProviderSettings
from vault.databases.opening_news import OpeningNews, Tell
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_definition import CompoundDefinition
from vault.errors import TenantError
from vault.index.home import IndexHomes
from vault.opened import OpenedVault

__all__ = ["TenantVaults", "open_tenants"]

# Ours: how many keyrings are kept open. Each has a thread that renews its leases.
MOST_OPEN: Final = 100
NONE_IN_FORCE: Final = "no tenant is in force: say whose keys these are by `with vaults.tenant(name):`"


@dataclass(slots=True)
class _Open:
    """A tenant's vault. used: since the last look for one to let go."""

    vault: OpenedVault
    used: bool = True


class TenantVaults:
    """A vault for each tenant, whose name is its keyring's. One a process, shared by its threads, tasks and engines.

    Keyrings that were not used lately are let go of when there are too many; those who still use one keep it.
    """

    def __init__(self, key_store: KeyStore, open_keyring: Callable[[str], Keyring], most_open: int = MOST_OPEN) -> None:
        """open_keyring: gives the opened keyring of a tenant. most_open: how many are kept, at least 1."""
        if most_open < 1:
            raise TenantError(f"at least one keyring is kept open, not {most_open}")
        self.key_store = key_store
        self.most_open = most_open
        self._open_keyring = open_keyring
        self._in_force: ContextVar[str | None] = ContextVar("tenant in force", default=None)
        self._open: dict[str, _Open] = {}
        self._homes = IndexHomes(open_keyring)
        self._of_homes: dict[str, OpenedVault] = {}
        self._definitions: dict[FieldDefinition, None] = {}
        self._compounds: dict[CompoundDefinition, None] = {}
        self._closed = False
        self._news = OpeningNews()
        self.forget_after_fork()
        forget_in_child(self)

    def __repr__(self) -> str:
        return f"<vaults of tenants, {len(self._open)} open>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("vaults of tenants are not pickled: a worker opens its own")

    def forget_after_fork(self) -> None:
        """The parent may have held the locks."""
        self._changing = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}

    @contextmanager
    def tenant(self, name: str) -> Iterator[None]:
        """Within the block, in this task or thread, name is the tenant in force. No key is asked for yet.

        Raises: TenantError for what is no name.
        """
        if not isinstance(name, str) or not name:
            raise TenantError(f"a tenant is named by a text that is not empty, not by {type(name).__name__}")
        token = self._in_force.set(name)
        try:
            yield
        finally:
            self._in_force.reset(token)

    @property
    def in_force(self) -> str | None:
        """The tenant in force here and now."""
        return self._in_force.get()

    def current(self) -> OpenedVault:
        """The vault of the tenant in force. Raises: TenantError when there is none, KmsError."""
        name = self._in_force.get()
        if name is None:
            raise TenantError(NONE_IN_FORCE)
        return self.vault(name)

    def vault(self, name: str) -> OpenedVault:
        """That tenant's vault, whoever is in force: for jobs, and to warm it before its first request.

        Raises: KmsError when there is no such keyring; DefinitionChangedError, IndexChangedError when a field or index
        of an attached engine was defined otherwise when this tenant's data was written.
        """
        held = self._open.get(name)
        if held is None:
            return self._opened(name)
        held.used = True
        return held.vault

    def opened(self) -> list[OpenedVault]:
        """The vaults of the tenants that are open now."""
        return [held.vault for held in list(self._open.values())]

    def home(self, name: str) -> OpenedVault:
        """What makes the terms of the indexes that live in the keyring of that name, whoever is in force, or nobody."""
        held = self._of_homes.get(name)
        if held is None:
            made = OpenedVault(self._homes(name), self.key_store, self._homes)
            held = self._of_homes.setdefault(name, made)  # the first, if two threads made one
        return held

    async def warm_async(self, name: str) -> frozenset[bytes]:
        """Open that tenant's vault and keys while the event loop goes on, so that its first statement need not wait."""
        return await asyncio.to_thread(lambda: self.vault(name).warm())

    def declare(self, definitions: Sequence[FieldDefinition], compounds: Sequence[CompoundDefinition] = ()) -> None:
        """Register these with each keyring, those that are open now and those that will be.

        compounds: the indexes over several columns.
        Raises: DefinitionChangedError, IndexChangedError, KmsError.
        """
        with self._changing:
            self._definitions |= dict.fromkeys(definitions)
            self._compounds |= dict.fromkeys(compounds)
            vaults = [held.vault for held in self._open.values()]
        for vault in vaults:
            _register(vault, definitions, compounds)

    def at_opening(self, tell: Tell) -> None:
        """Call it with each tenant's keyring, and each that indexes live in, now or when it is opened."""
        self._homes.at_opening(tell)
        with self._changing:
            vaults = [held.vault for held in self._open.values()]
            self._news.to(tell)
        for vault in vaults:
            tell(vault.keyring)

    def close(self) -> None:
        """Close every keyring and the key store; whoever uses a field afterwards gets an error."""
        with self._changing:
            self._closed = True
            held, self._open = self._open, {}
        for one in held.values():
            one.vault.keyring.close()
        self._homes.close()
        self.key_store.close()

    def _opened(self, name: str) -> OpenedVault:
        with self._changing:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:  # one opens, and only those who want the same wait
            held = self._open.get(name)
            if held is not None:
                return held.vault
            try:
                vault = self._with_definitions(name)
            finally:
                with self._changing:
                    self._opening.pop(name, None)
            return self._keep(name, vault)

    def _with_definitions(self, name: str) -> OpenedVault:
        vault = OpenedVault(self._news.told(self._open_keyring(name)), self.key_store, self._homes)
        _register(vault, list(self._definitions), list(self._compounds))
        return vault

    def _keep(self, name: str, vault: OpenedVault) -> OpenedVault:
        with self._changing:
            if self._closed:
                vault.keyring.close()
                raise TenantError("these vaults of tenants were closed: open them again")
            kept = self._open.setdefault(name, _Open(vault))  # the first, if two opened it after all
            while len(self._open) > self.most_open:
                self._let_go_one(but=name)
            return kept.vault

    def _let_go_one(self, but: str) -> None:
        """The first that was not used since the last look; it is not closed, for a statement may be using it."""
        while True:
            for name, held in list(self._open.items()):
                if name == but:
                    continue
                if not held.used:
                    del self._open[name]
                    return
                held.used = False
                self._open[name] = self._open.pop(name)  # looked at last the next time


def _register(
    vault: OpenedVault, definitions: Iterable[FieldDefinition], compounds: Iterable[CompoundDefinition]
) -> None:
    for definition in definitions:
        vault.field(definition)
    for compound in compounds:
        vault.compound(compound)


def open_tenants(
    key_store_url: str,
    kek_uri: str | Callable[[str], str],
    settings: ProviderSettings = ProviderSettings(),
    *,
    former_keks: Sequence[FormerKek] = (),
    most_open: int = MOST_OPEN,
) -> TenantVaults:
    """Vaults whose keyrings have the tenants' names. Nothing is opened before it is used.

    kek_uri: of the KEK that wraps every tenant's keys, or a function from a tenant's name to the URI of its own, as
    crypto-shredding one tenant needs. former_keks: as open_vault takes them.
    Raises: KmsError when the KEK's URI is wrong.
    """
    store = KeyStore.from_url(key_store_url)
    provider_of: Callable[[str], KeyProvider]
    if callable(kek_uri):
        uri_of = kek_uri
        provider_of = lambda name: open_routed(uri_of(name), settings, former_keks)  # noqa: E731
    else:
        shared = open_routed(kek_uri, settings, former_keks)
        provider_of = lambda _name: shared  # noqa: E731
    return TenantVaults(store, lambda name: Keyring.open(store, provider_of(name), name), most_open)
