"""deactivate, retire, restore, destroy: how an operator ends a key, each step refused while something needs it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from kms import KeyRecord, Purpose
from kms.utc_text import to_the_minute
from vault.cli.audit_events import tell_audit, tell_audit_of_keys
from vault.cli.duration import parse_duration
from vault.cli.key_clearing import KeyClearing, end_with_not_cleared
from vault.cli.key_id import parse_key_id
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, load_policy, open_keys, open_project
from vault.cli.retirement_wait import retirement_wait
from vault.cli.still_needed import StillNeeded
from vault.duration import show_exactly
from vault.errors import NotClearedError, PolicyError
from vault.project import Project
from vault.retirement.clearances import Clearances
from vault.retirement.namesakes import namesakes
from vault.triggers.patient_ddl import PATIENCE

KeyIdArgument = Annotated[bytes, typer.Argument(parser=parse_key_id, metavar="KEY_ID", help="Its 8 hex digits.")]
ConfirmOption = Annotated[str, typer.Option(metavar="NAME", help="The keyring's name, to say that you mean it.")]
LookedAtOption = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE.COLUMN", help="A field outside of the policy of which you know that it needs no key."),
]
PatienceOption = Annotated[
    float, typer.Option("--patience", min=0, metavar="S", help="How long a transaction may hold a table, in seconds.")
]
HELD: Final = "Processes that hold it open by it for 5 minutes more, those that cannot read the key store for 65."


def deactivate(key_id: KeyIdArgument, policy: PolicyOption = POLICY) -> None:
    """Close a keyring: let its active key seal no more, without a successor. What was sealed opens."""
    with open_keys(policy) as keyring:
        purpose = next((r.purpose for r in keyring.records() if r.key_id == key_id), None)
        keyring.lifecycle.deactivate(key_id)
        lease = f"{keyring.leases.sealing:g} s"
        say(f"key {key_id.hex()} is deactivated: no process seals {purpose} after {lease}; what was sealed opens")
        say(f"To seal again, type: noisevault rotate --purpose {purpose}")
        tell_audit_of_keys(load_policy(policy), keyring)


def retire(
    key_id: KeyIdArgument,
    confirm: ConfirmOption,
    wait: Annotated[
        timedelta | None,
        typer.Option(
            parser=parse_duration,
            metavar="DURATION",
            help="How long it can be restored, if longer than the policy says.",
        ),
    ] = None,
    short_wait: Annotated[
        bool, typer.Option("--short-wait", help="Allow a wait of less than the policy says, or than 7 days.")
    ] = False,
    reencrypt: Annotated[
        bool,
        typer.Option("--reencrypt/--no-reencrypt", help="Move what a data key sealed, or refuse while there is any."),
    ] = True,
    patience: PatienceOption = PATIENCE,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Take a key out of use, when nothing in any database of the keyring needs it. It can be restored for a while.

    Exit status: 0 retired, 3 done in this database and not in all others, 4 stopped while it re-encrypts, 1 refused.
    """
    require_confirmed(policy, confirm)
    with open_project(policy, models) as project:
        own = retirement_wait(project.policy.vault.declared_wait, wait, short=short_wait)
        clearing = KeyClearing(project, reencrypt, patience, wait=own.length)
        waits = clearing.wait_with_others(key_id, own)
        asked = "" if wait is None else f" --wait {show_exactly(wait)}"
        options = asked + (" --short-wait" if short_wait else "")

        def look(found: KeyRecord) -> None:
            StillNeeded(project).refuse_namesakes(found)
            _require_cleared(clearing, found, found.changed_at, "retire", options)
            clearing.require_wait(found, waits)

        record = project.opened.keyring.lifecycle.retire(
            key_id,
            waits.length,
            shortest=waits.shortest,
            look=look,
        )
        until = to_the_minute(record.destroy_after) if record.destroy_after else ""
        say(f"key {key_id.hex()} is retired: it seals and opens nothing")
        say(HELD)
        say(waits.told)
        say(f"Until {until} it can only be restored: noisevault keys restore {key_id.hex()}")
        say(f"Then type: noisevault keys destroy {key_id.hex()} --confirm {confirm}")
        tell_audit(project)


def restore(key_id: KeyIdArgument, policy: PolicyOption = POLICY) -> None:
    """Bring a retired key back: it opens what it sealed."""
    with open_keys(policy) as keyring:
        record, lease = keyring.lifecycle.restore(key_id), keyring.leases.sealing
        tell_audit_of_keys(load_policy(policy), keyring)
    say(f"key {key_id.hex()} is {record.state} again; every process opens by it within {lease:g} s")


def destroy(
    key_id: KeyIdArgument,
    confirm: ConfirmOption,
    looked_at: LookedAtOption = None,
    patience: PatienceOption = PATIENCE,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Erase a retired key whose wait is over, for ever, when every database was scanned again since.

    Exit status: 0 destroyed, 3 scanned in this database and not in all others, 1 refused.
    """
    require_confirmed(policy, confirm)
    with open_project(policy, models) as project:

        def look(record: KeyRecord) -> None:
            StillNeeded(project).refuse_namesakes(record, looked_at or [])
            clearances = Clearances(project.opened.key_store, record.keyring_id)
            since = None if record.destroy_after is None else clearances.since_for_destroying(record.destroy_after)
            _require_cleared(KeyClearing(project, patience=patience), record, since, "destroy")
            # At last, so that the triggers are there for who looks at those fields by another policy.
            StillNeeded(project).refuse_unseen(record, looked_at or [])

        project.opened.keyring.lifecycle.destroy(key_id, look=look)
        for table in KeyClearing(project, patience=patience).refuse_again():  # typed again, when it was made anew
            say(f"{table} refuses again what was sealed by keys that ended")
        say(f"key {key_id.hex()} is destroyed: its wrapped bytes are erased from the key store")
        say(
            "An older backup of the key store has them still: with its key-encryption key it opens what the key sealed."
        )
        tell_audit(project)


def require_confirmed(policy: Path, name: str) -> None:
    """Before any database is opened. Raises: PolicyError."""
    keyring = load_policy(policy).vault.keyring
    if name != keyring:
        raise PolicyError(f"--confirm takes the keyring's name, which is {keyring}; nothing was done")


def _require_cleared(
    clearing: KeyClearing, record: KeyRecord, since: datetime | None, command: str, options: str = ""
) -> None:
    """Say what was looked at and what was not. Raises: KeyInUseError; typer.Exit where other databases are missing."""
    project = clearing.project
    try:
        clearing.require_cleared(record, record.changed_at if since is None else since)
    except NotClearedError as error:
        say_looked(project, record)
        end_with_not_cleared(error, record, command, project.policy.vault.keyring, options)
    say_looked(project, record)


def say_looked(project: Project, record: KeyRecord) -> None:
    """Of a database that was cleared: and what nobody looked at."""
    say(f"Nothing in the database of this policy needs {record.purpose} key {record.key_id.hex()}.")
    say("Not looked at: replicas that are behind, backups. What names the key there is lost with it.")
    for place in namesakes(project.engine, list(project.tables.values())):
        say(f"Not guarded: {place}, a table of the same name: clear it by a policy whose URL leads there.")
    unseen = StillNeeded(project).unseen(record) if record.purpose is Purpose.DATA else {}
    for label, count in unseen.items():
        say(f"Not looked at: {label}, of which the key sealed up to {count} values; the policy does not name it.")


def say(text: str) -> None:
    Console(soft_wrap=True, markup=False, highlight=False).print(text)
