"""keys kek-versions: how many keys each version of a key-encryption key wraps, and from when it may be given up."""

import json
from contextlib import closing
from typing import Any

import typer
from rich.console import Console

from kms import KeyStore
from kms.lifecycle import DEFAULT_WAIT
from kms.utc_text import to_the_minute
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy
from vault.duration import show_duration
from vault.project import require_files
from vault.retirement.kek_version_hold import KekVersionHold, versions_held

__all__ = ["list_kek_versions"]


def list_kek_versions(policy: PolicyOption = POLICY, as_json: JsonOption = False) -> None:
    """Versions of the key-encryption keys of all keyrings of the store; a backup may need one that wraps no key now."""
    rules = load_policy(policy)
    require_files(rules)
    declared = rules.vault.backup_retention
    with closing(KeyStore.from_url(rules.keys_url)) as store:
        store.check_schema()
        held = versions_held(store.kek_versions(), DEFAULT_WAIT if declared is None else declared)
    if as_json:
        typer.echo(json.dumps([_row(one) for one in held], indent=2))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    for one in held:
        console.print(f"{one.kek}, version {one.version}: {_told(one)}")
        if one.command:
            console.print(f"  {one.command}")
    kept = f"for {show_duration(DEFAULT_WAIT if declared is None else declared)}"
    console.print(
        f"Backups of the key store are kept {kept}, as the policy declares (backup_retention)."
        if declared is not None
        else f"The policy does not declare backup_retention: backups of the key store are taken to be kept {kept}."
    )
    console.print(
        "Not known: other key stores under the same KEK, and versions that were left before this was recorded."
    )


def _told(one: KekVersionHold) -> str:
    if one.wraps:
        return f"wraps {one.wraps} keys"
    left = "" if one.left_at is None else to_the_minute(one.left_at)
    if one.free_from is None:
        return f"wraps no key since {left}; stays while a lower version wraps one"
    return f"wraps no key since {left}; may be given up from {to_the_minute(one.free_from)} on"


def _row(one: KekVersionHold) -> dict[str, Any]:
    return {
        "kek": one.kek,
        "kek_version": one.version,
        "wraps": one.wraps,
        "left_at": "" if one.left_at is None else one.left_at.isoformat(timespec="seconds"),
        "free_from": "" if one.free_from is None else one.free_from.isoformat(timespec="seconds"),
        "command": one.command,
    }
