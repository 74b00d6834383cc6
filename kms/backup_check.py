"""Backup check: which KEK versions the keys in a backup need, whether they unwrap, and what would come back."""

from collections.abc import Sequence
from dataclasses import dataclass

from kms.each_alone import unwrapped_alone
from kms.errors import KmsError
from kms.key_record import KeyRecord, KeyringState
from kms.provider import KeyProvider
from kms.routed_provider import RoutedProvider

__all__ = ["BackupCheck", "KekNeed", "check_backup"]


@dataclass(frozen=True, slots=True)
class KekNeed:
    """How many live keys one version of a KEK wraps. asked: whether a provider for it was there."""

    kek: str
    version: str
    in_backup: int
    in_store: int
    asked: bool


@dataclass(frozen=True, slots=True)
class BackupCheck:
    """failures: live keys of the backup that do not unwrap now. come_back: those that are destroyed in the store.

    unknown: live keys of the backup of which the store has no row. needs: of backup and store, by KEK and version.
    """

    keys: int
    needs: tuple[KekNeed, ...]
    failures: tuple[tuple[KeyRecord, KmsError], ...]
    come_back: tuple[KeyRecord, ...]
    unknown: tuple[KeyRecord, ...]

    def keep(self) -> dict[str, str | None]:
        """By KEK, the lowest version that is not to be trimmed; None where versions have no order: keep all of them."""
        versions: dict[str, list[str]] = {}
        for need in self.needs:
            versions.setdefault(need.kek, []).append(need.version)
        return {
            kek: min(those, key=int) if all(one.isascii() and one.isdecimal() for one in those) else None
            for kek, those in versions.items()
        }


def check_backup(
    backup: Sequence[KeyringState], store: Sequence[KeyringState], provider: KeyProvider, keyring_id: bytes
) -> BackupCheck:
    """Unwrap every live key of the backup, bound as it is to its own place, and compare with the store of today.

    All keyrings are counted, since they may share a KEK; keys of others than keyring_id whose KEK the provider does
    not open are not asked for. Raises: KmsError when a service does not answer at all.
    """
    copied = [record for state in backup for record in state.records if record.kept]
    today = {record.key_id: record for state in store for record in state.records}
    routed = RoutedProvider.of(provider)
    asked = [record for record in copied if record.keyring_id == keyring_id or _claims(routed, record)]
    _, failures = unwrapped_alone(routed.unwrap, asked)
    return BackupCheck(
        keys=len(copied),
        needs=_needs(copied, [record for record in today.values() if record.kept], asked),
        failures=tuple((record, failures[record.key_id]) for record in asked if record.key_id in failures),
        come_back=tuple(r for r in copied if r.key_id in today and not today[r.key_id].kept),
        unknown=tuple(r for r in copied if r.key_id not in today),
    )


def _claims(routed: RoutedProvider, record: KeyRecord) -> bool:
    return record.wrapped is not None and routed.provider_of(record.wrapped.kek) is not None


def _needs(copied: Sequence[KeyRecord], live: Sequence[KeyRecord], asked: Sequence[KeyRecord]) -> tuple[KekNeed, ...]:
    counts = [_count(records) for records in (copied, live, asked)]
    return tuple(
        KekNeed(*place, counts[0].get(place, 0), counts[1].get(place, 0), place in counts[2])
        for place in sorted(counts[0].keys() | counts[1].keys(), key=_in_order)
    )


def _count(records: Sequence[KeyRecord]) -> dict[tuple[str, str], int]:
    count: dict[tuple[str, str], int] = {}
    for record in records:
        if record.wrapped is not None:
            place = record.wrapped.kek, record.wrapped.kek_version
            count[place] = count.get(place, 0) + 1
    return count


def _in_order(place: tuple[str, str]) -> tuple[str, int, str]:
    kek, version = place
    return kek, int(version) if version.isascii() and version.isdecimal() else 0, version
