"""KEK version hold: from when a version of a key-encryption key is in no backup of the key store that may be restored.

A service is told the lowest version that it still has to open. So a version is given up together with all below it, and
one that wraps no key waits for a lower one that does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kms.kek_versions import KekVersionUse

__all__ = ["KekVersionHold", "versions_held"]


@dataclass(frozen=True, slots=True)
class KekVersionHold:
    """wraps: keys now. free_from: when it may be given up; None while it, or a lower one, wraps a key.

    command: what gives it up and all below it, as the service has it; empty where a version is not given up by itself.
    """

    kek: str
    version: str
    wraps: int
    left_at: datetime | None
    free_from: datetime | None
    command: str


def versions_held(uses: Sequence[KekVersionUse], retention: timedelta) -> list[KekVersionHold]:
    """uses: by KEK and version, lowest first. retention: how old a backup of the key store gets."""
    found: list[KekVersionHold] = []
    kek, free_from = "", None
    for use in uses:
        own = None if use.left_at is None else use.left_at + retention
        lowest = use.kek != kek
        if lowest or own is None:
            free_from = own
        elif free_from is not None:
            free_from = max(free_from, own)
        kek = use.kek
        command = "" if free_from is None else _command(use.kek, use.version)
        found.append(KekVersionHold(use.kek, use.version, use.wraps, use.left_at, free_from, command))
    return found


def _command(kek: str, version: str) -> str:
    scheme, _, rest = kek.partition("://")
    if scheme != "hcvault" or not version.isdecimal():
        return ""  # AWS KMS keeps the versions of a key for ever, a key file and an object on a token have one
    return f"bao write {rest.partition('/')[2]}/config min_decryption_version={int(version) + 1}"
