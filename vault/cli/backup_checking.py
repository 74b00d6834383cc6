"""keys check --backup: what a backup of the key store needs to be of use, and what it would bring back."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rich.console import Console

from kms.backup_check import BackupCheck, KekNeed, check_backup
from kms.key_backup import read_backup, read_keyrings
from vault.cli.key_faults import fault, say_faults
from vault.cli.options import former_settings, load_policy, provider_settings
from vault.project import keyring_under, open_keks, require_files


def check_backup_of(place: str, policy: Path) -> None:
    """Say which KEK versions the backup and the store need; exits with 1 if a key of the backup does not unwrap."""
    console, rules = Console(soft_wrap=True, markup=False, highlight=False), load_policy(policy)
    require_files(rules)
    keks = open_keks(rules, provider_settings(rules.vault.kek), former_settings(rules))
    keyring, store = keyring_under(rules, keks)
    with closing(store), closing(keyring):
        backup = read_backup(place)
        done = check_backup(backup, read_keyrings(store.engine), keks, keyring.id)
    for line in told(done):
        console.print(line)
    say_faults(console, faults(done, rules.vault.keyring, any(state.keyring_id == keyring.id for state in backup)))
    asked = sum(need.in_backup for need in done.needs if need.asked)
    console.print(f"all {asked} keys of the backup that were asked for unwrap")


def told(done: BackupCheck) -> Iterator[str]:
    for need in done.needs:
        yield f"{need.kek}, version {need.version}: {counted(need)}"
    for kek, lowest in done.keep().items():
        if lowest is None:
            yield f"keep {kek} with all its versions, for this backup and the store"
        else:
            yield f"keep {kek} from version {lowest} on, for this backup and the store: trim nothing at or above it"
    for record in done.come_back:
        yield f"key {record.key_id.hex()} ({record.purpose} {record.sequence}) is destroyed since: would come back"
    for record in done.unknown:
        yield f"key {record.key_id.hex()} ({record.purpose} {record.sequence}) is not in the store at all"


def counted(need: KekNeed) -> str:
    asked = "" if need.asked or not need.in_backup else " (not asked: no such key-encryption key in the policy)"
    return f"{need.in_backup} keys in the backup{asked}, {need.in_store} in the store"


def faults(done: BackupCheck, keyring: str, is_in: bool) -> Iterator[str]:
    if not is_in:
        yield f"the backup has no keyring {keyring}: is it one of another key store?"
    for record, error in done.failures:
        yield fault(record, error)
