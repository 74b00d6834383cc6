"""deactivate, retire, restore, destroy: how an operator ends a key, each step refused while something needs it."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from kms import KeyRecord, Purpose
from kms.lifecycle import DEFAULT_WAIT, SHORTEST_WAIT
from kms.utc_text import to_the_minute
from vault.cli.duration import parse_duration
from vault.cli.key_id import parse_key_id
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, load_policy, open_keys, open_project
from vault.cli.still_needed import StillNeeded
from vault.errors import PolicyError

KeyIdArgument = Annotated[bytes, typer.Argument(parser=parse_key_id, metavar="KEY_ID", help="Its 8 hex digits.")]
ConfirmOption = Annotated[str, typer.Option(metavar="NAME", help="The keyring's name, to say that you mean it.")]
LookedAtOption = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE.COLUMN", help="A field outside of the policy of which you know that it needs no key."),
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


def retire(
    key_id: KeyIdArgument,
    confirm: ConfirmOption,
    wait: Annotated[
        timedelta | None,
        typer.Option(
            parser=parse_duration, metavar="DURATION", help="How old backups get: 7d or more, 30d unless said."
        ),
    ] = None,
    short_wait: Annotated[bool, typer.Option("--short-wait", help="Allow a wait of less than 7 days.")] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Take a key that nothing needs out of use. It can be restored until it is destroyed, after the wait."""
    require_confirmed(policy, confirm)
    with open_project(policy, models) as project:
        record = project.opened.keyring.lifecycle.retire(
            key_id,
            DEFAULT_WAIT if wait is None else wait,
            shortest=timedelta(0) if short_wait else SHORTEST_WAIT,
            look=lambda found: say_unknown(StillNeeded(project), found),
        )
        until = to_the_minute(record.destroy_after) if record.destroy_after else ""
        say(f"key {key_id.hex()} is retired: it seals and opens nothing")
        say(HELD)
        say(f"Until {until} it can only be restored: noisevault keys restore {key_id.hex()}")
        say(f"Then type: noisevault keys destroy {key_id.hex()} --confirm {confirm}")


def restore(key_id: KeyIdArgument, policy: PolicyOption = POLICY) -> None:
    """Bring a retired key back: it opens what it sealed."""
    with open_keys(policy) as keyring:
        record, lease = keyring.lifecycle.restore(key_id), keyring.leases.sealing
    say(f"key {key_id.hex()} is {record.state} again; every process opens by it within {lease:g} s")


def destroy(
    key_id: KeyIdArgument,
    confirm: ConfirmOption,
    looked_at: LookedAtOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Erase a retired key whose wait is over, for ever."""
    require_confirmed(policy, confirm)
    with open_project(policy, models) as project:

        def look(record: KeyRecord) -> None:
            needed = StillNeeded(project)
            say_unknown(needed, record)
            needed.refuse_unseen(record, looked_at or [])

        project.opened.keyring.lifecycle.destroy(key_id, look=look)
        say(f"key {key_id.hex()} is destroyed: its wrapped bytes are erased from the key store")
        say(
            "An older backup of the key store has them still: with its key-encryption key it opens what the key sealed."
        )


def require_confirmed(policy: Path, name: str) -> None:
    """Before any database is opened. Raises: PolicyError."""
    keyring = load_policy(policy).vault.keyring
    if name != keyring:
        raise PolicyError(f"--confirm takes the keyring's name, which is {keyring}; nothing was done")


def say_unknown(needed: StillNeeded, record: KeyRecord) -> None:
    """Refuse a key that is needed; then say what was not looked at."""
    needed.refuse_used(record)
    say(f"Nothing in the databases of this policy needs {record.purpose} key {record.key_id.hex()}.")
    say("Not looked at: other databases of this keyring, replicas, backups. What names the key there is lost with it.")
    unseen = needed.unseen(record) if record.purpose is Purpose.DATA else {}
    for label, count in unseen.items():
        say(f"Not looked at: {label}, of which the key sealed up to {count} values; the policy does not name it.")


def say(text: str) -> None:
    Console(soft_wrap=True, markup=False, highlight=False).print(text)
