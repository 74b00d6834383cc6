"""KEK findings: wrapped keys that the key-encryption keys of today do not unwrap."""

from collections.abc import Iterator, Sequence

from kms import KeyProvider, KeyringState, KmsError
from kms.backup_check import check_backup
from vault.restoration.finding import Finding, FindingKind

__all__ = ["kek_findings"]


def kek_findings(states: Sequence[KeyringState], provider: KeyProvider, keyring_id: bytes) -> Iterator[Finding]:
    """Of the keyring, and of the others as far as the provider claims their KEK."""
    try:
        done = check_backup(states, states, provider, keyring_id)
    except KmsError as error:
        yield Finding(FindingKind.KEK_AWAY, "key-encryption key", 0, str(error))
        return
    for record, reason in done.failures:
        text = f"{record.purpose} {record.sequence}, {record.state}: {reason}"
        yield Finding(FindingKind.KEK_FAILS, record.wrapped.kek if record.wrapped else "", 1, text, record.key_id)
