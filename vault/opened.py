"""Opened vault: a keyring with the fields that it serves. One a process, shared by its threads and engines."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NoReturn, SupportsIndex

from kms.fork import forget_in_child
from kms.key_store import KeyStore
from kms.keyring import Keyring
from kms.lease import LeaseSettings
from kms.open_provider import FormerKek, open_routed
from kms.provider_settings import ProviderSettings
from vault.databases.opening_news import Tell
from vault.definition_store import register, register_compound
from vault.definitions.definition import FieldDefinition
from vault.definitions.index_definition import CompoundDefinition
from vault.field import Field
from vault.index.compound_terms import CompoundTerms
from vault.index.home import IndexHomes, no_home
from vault.index.news import index_news
from vault.modes.mode import Modes
from vault.modes.recorded_modes import RecordedModes

__all__ = ["OpenedVault", "open_vault"]


class OpenedVault:
    """Gives the field object of a definition, which it registers in the key store the first time."""

    def __init__(self, keyring: Keyring, key_store: KeyStore, home: Callable[[str], Keyring] = no_home) -> None:
        """key_store: where the keyring was opened from; definitions are recorded beside its keys.

        home: gives the keyring of that name, for fields with an index that lives in another than theirs.
        """
        self.keyring = keyring
        self.key_store = key_store
        self._home = home
        self.modes: Modes = RecordedModes(key_store, keyring)
        self._fields: dict[FieldDefinition, Field] = {}
        self._compounds: dict[CompoundDefinition, CompoundTerms] = {}
        self.forget_after_fork()
        forget_in_child(self)

    def __repr__(self) -> str:
        return f"<vault of keyring {self.keyring.name!r}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("an opened vault is not pickled: a worker opens its own")

    def forget_after_fork(self) -> None:
        """The parent may have held the lock."""
        self._registering = threading.Lock()

    def at_opening(self, tell: Tell) -> None:
        """Call it with the keyring, and with each that an index of its fields lives in, now or when it is opened."""
        tell(self.keyring)
        if isinstance(self._home, IndexHomes):
            self._home.at_opening(tell)

    def warm(self) -> frozenset[bytes]:
        """Open every live key at once, and count seals ahead for the fields given so far; the ids of those that open.

        The keyrings that indexes of these fields live in are opened as well.
        Raises: KmsError when the key service refuses altogether.
        """
        for home in self._homes():
            home.warm()
        return self.keyring.warm(self._labels())

    async def warm_async(self) -> frozenset[bytes]:
        """As warm, while the event loop goes on: await it once at start, after attach(engine, vault, metadata)."""
        return await asyncio.to_thread(self.warm)

    def look_again(self) -> None:
        """See at once what another process changed: keys, and the slots and phases of indexes. Raises: KmsError."""
        for keyring in (self.keyring, *self._homes()):
            keyring.records()
            keyring.beside.end()

    def close(self) -> None:
        """Close the keyring and the key store; whoever uses a field afterwards gets KeyringError."""
        self.keyring.close()
        for home in self._homes():
            home.close()
        self.key_store.close()

    def _homes(self) -> list[Keyring]:
        return self._home.opened() if isinstance(self._home, IndexHomes) else []

    def _labels(self) -> list[str]:
        return [definition.label for definition in list(self._fields)]

    def field(self, definition: FieldDefinition) -> Field:
        """The field, the same object each time.

        Raises: DefinitionChangedError when the field's data was written by another definition; KmsError.
        """
        field = self._fields.get(definition)
        if field is None:
            with self._registering:
                field = self._fields.get(definition)
                if field is None:
                    (registration,) = register(self.key_store.engine, [definition], self.keyring, self._home)
                    field = self._fields[definition] = registration.field(self.keyring)
        return field

    def compound(self, definition: CompoundDefinition) -> CompoundTerms:
        """The terms of an index over several columns, the same object each time.

        Raises: IndexChangedError when its terms were made by another definition; KmsError.
        """
        terms = self._compounds.get(definition)
        if terms is None:
            with self._registering:
                terms = self._compounds.get(definition)
                if terms is None:
                    slots = register_compound(self.key_store.engine, definition, self.keyring)
                    news = index_news(self.key_store.engine, self.keyring)
                    terms = self._compounds[definition] = CompoundTerms(definition, self.keyring, slots, news)
        return terms


def open_vault(
    key_store_url: str,
    kek_uri: str,
    keyring: str = "main",
    settings: ProviderSettings = ProviderSettings(),
    *,
    former_keks: Sequence[FormerKek] = (),
    leases: LeaseSettings = LeaseSettings(),
) -> OpenedVault:
    """Open a keyring and what it serves. The key store has an engine of its own.

    former_keks: URIs of KEKs that stored keys may be wrapped by too, such as while they are moved; they unwrap and
    never wrap. Each is opened by the same settings, or is given with its own: (uri, settings). leases: how long the
    process goes on without news, no longer than the policy of the operator's commands says.
    Raises: KmsError when there is no such keyring, or its keys cannot be had.
    """
    provider = open_routed(kek_uri, settings, former_keks)
    store = KeyStore.from_url(key_store_url)

    def opened(name: str) -> Keyring:
        return Keyring.open(store, provider, name, leases=leases)

    with ExitStack() as undone:
        undone.callback(store.close)
        vault = OpenedVault(opened(keyring), store, IndexHomes(opened))
        undone.pop_all()
    return vault
