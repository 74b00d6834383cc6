"""rotate: a new key, by hand or when the active one is due."""

from datetime import timedelta
from typing import Annotated, Final

import typer
from rich.console import Console

from kms import Keyring, KeyState, Purpose
from vault.cli.audit_events import tell_audit_of_keys
from vault.cli.duration import parse_duration
from vault.cli.options import POLICY, PolicyOption, load_policy, open_keys

NEXT: Final = {
    Purpose.DATA: "Services seal with the new key within {lease:g} s; then type: noisevault reencrypt",
    Purpose.INDEX: "Each index keeps the key of its slot until it is moved: noisevault reindex --all",
    Purpose.LEDGER: "New entries and answers are signed and sealed by it; older ones need the older keys for ever.",
}


def rotate(
    purpose: Annotated[Purpose, typer.Option(help="Which key: data, index or ledger.")] = (Purpose.DATA),
    if_older_than: Annotated[
        timedelta | None,
        typer.Option(parser=parse_duration, metavar="DURATION", help="Only if the key is active for longer, as 90d."),
    ] = None,
    if_more_than: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only if it sealed more than N values of one field.")
    ] = None,
    policy: PolicyOption = POLICY,
) -> None:
    """Make a new key active: new values are sealed with it, old ones still open. Then: reencrypt, or reindex."""
    console = Console(soft_wrap=True, markup=False, highlight=False)
    with open_keys(policy) as keyring:
        old = active_key_id(keyring, purpose)
        due = None
        if if_older_than is not None or if_more_than is not None:
            due = keyring.lifecycle.rotation_due(purpose, max_age=if_older_than, max_seals=if_more_than)
            if due is None:
                told = f"{purpose} key {old}" if old else f"the keyring is closed for {purpose}"
                console.print(f"{told}: nothing is due, nothing was changed")
                return
            console.print(f"{purpose} key {due.key_id.hex()} is due: {due.reason}")
        record = keyring.lifecycle.rotate(purpose, due)
        before = f"{old} opens only" if old else "the keyring was closed"
        console.print(f"active {purpose} key {record.key_id.hex()}, sequence {record.sequence}; {before}.")
        console.print(NEXT[purpose].format(lease=keyring.leases.sealing))
        tell_audit_of_keys(load_policy(policy), keyring)


def active_key_id(keyring: Keyring, purpose: Purpose) -> str | None:
    active = [record for record in keyring.records(purpose) if record.state is KeyState.ACTIVE]
    return active[-1].key_id.hex() if active else None
