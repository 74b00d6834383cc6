"""Fresh vault: one with a keyring of its own on this machine's disk, for a benchmark."""

from pathlib import Path

from kms import Keyring, KeyStore, open_key_database, open_provider
from kms.providers.local import create_key_file
from vault.opened import OpenedVault

__all__ = ["fresh_vault"]


def fresh_vault(folder: Path) -> OpenedVault:
    """A vault whose keys are in folder, which must be empty."""
    create_key_file(folder / "kek")
    store = KeyStore(open_key_database(f"sqlite:///{folder / 'keys.db'}"))
    store.create_schema()
    return OpenedVault(Keyring.create(store, open_provider(f"local:{folder / 'kek'}"), "bench"), store)
