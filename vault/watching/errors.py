"""What goes wrong while the log is read; the message is the ledger's."""

from vault.errors import VaultError

__all__ = ["WatchingError"]


class WatchingError(VaultError):
    """The ledger cannot be read."""
