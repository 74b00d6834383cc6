"""keys shred: all keys of the keyring erased, and until when a backup can still undo it."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer
from rich.console import Console

from kms import KeyStore, LeaseSettings
from kms.shredding import KekFate, Shredded, shred
from vault.cli.options import (
    POLICY,
    PolicyOption,
    former_settings,
    load_policy,
    local_key_file,
    provider_settings,
)
from vault.errors import PolicyError
from vault.project import open_keks, require_files

_AGE: Final = re.compile(r"([0-9]{1,5})([hdw])")
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def shred_keyring(
    confirm: Annotated[str, typer.Option("--confirm", metavar="NAME", help="The keyring's name.")],
    destroy_kek: Annotated[
        bool, typer.Option("--destroy-kek", help="Destroy the key-encryption key too; no other key store may need it.")
    ] = False,
    waiting_days: Annotated[
        int, typer.Option("--waiting-days", min=7, max=30, help="How long AWS KMS keeps a key that is to be destroyed.")
    ] = 30,
    backups_kept: Annotated[
        str | None,
        typer.Option("--backups-kept", metavar="AGE", help="The age at which key store backups go: 35d, 5w."),
    ] = None,
    policy: PolicyOption = POLICY,
) -> None:
    """Erase every key of the keyring: nothing that it sealed can be opened again. May be run again."""
    kept = None if backups_kept is None else age(backups_kept)
    rules, console = load_policy(policy), Console(soft_wrap=True, markup=False, highlight=False)
    require_files(rules)
    with closing(KeyStore.from_url(rules.keys_url)) as store:
        store.check_schema()
        state, file = store.load(rules.vault.keyring), local_key_file(rules.vault.kek)
        gone = file is not None and not file.exists()  # by a run before this one, which was stopped
        keks = None if gone else open_keks(rules, provider_settings(rules.vault.kek), former_settings(rules))
        done = shred(
            store,
            keks,
            state,
            confirm=confirm,
            leases=LeaseSettings(),
            destroy_keks=destroy_kek and (not gone or any(record.kept for record in state.records)),
            waiting_days=waiting_days,
        )
    if gone:
        console.print(f"the key file {file} is not there any more")
    for line in told(done, kept):
        console.print(line)


def told(done: Shredded, kept: timedelta | None) -> Iterator[str]:
    """What became of the keyring, what is left, and from when on it is gone; a line each."""
    yield f"keyring {done.keyring}: {done.erased} keys erased; every key is destroyed since {moment(done.at)}"
    for fate in done.keks:
        yield f"{fate.kek}: {what_became_of(fate)}"
    until, effective = done.recoverable_until(kept), done.effective(kept)
    hour = f"processes that held a key may open values until {moment(done.held_until)}"
    if effective is None:
        yield (
            "not crypto-shredded: recoverable for as long as a backup of the key store exists; say how long they are"
            " kept by --backups-kept"
        )
        yield hour
    elif done.is_crypto_shredded:
        yield f"crypto-shredded: in effect from {moment(effective)} on, whatever backups of the key store there are"
    else:
        yield f"not crypto-shredded: recoverable from backups of the key store until {moment(until or effective)}"
        yield hour


def what_became_of(fate: KekFate) -> str:
    end = fate.end
    if end is None and fate.shared_with:
        return f"stays, keyring {', '.join(fate.shared_with)} needs it"
    if end is None:
        return f"not destroyed by this run; backups up to {moment(fate.until)} have keys under it"
    remains = f"; {end.remains}" if end.remains else ""
    if not end.final:
        return f"backups up to {moment(fate.until)} have keys under it{remains}"
    return f"destroyed for good on {moment(end.effective)}{remains}"


def age(text: str) -> timedelta:
    """35d as a duration. Raises: PolicyError."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise PolicyError(f"--backups-kept is a number of hours, days or weeks, such as 35d, not {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
