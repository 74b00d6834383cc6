"""KEK findings: wrapped keys that the key-encryption keys of today do not unwrap."""

from collections.abc import Iterable, Iterator, Sequence

from kms import KeyProvider, KeyringState, KmsError, RoutedProvider
from kms.backup_check import check_backup
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.needed_keys import KeyNeed

__all__ = ["kek_findings", "untried_keys"]


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


def untried_keys(needs: Iterable[KeyNeed], provider: KeyProvider, keyring_id: bytes) -> Iterator[KeyNeed]:
    """Those that were not unwrapped: of other keyrings, under a KEK that nobody claims here."""
    routed = RoutedProvider.of(provider)
    for need in needs:
        record = need.record
        if record is None or record.wrapped is None or record.keyring_id == keyring_id:
            continue
        if routed.provider_of(record.wrapped.kek) is None:
            yield need
