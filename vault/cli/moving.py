"""keys move: the data keys under another key-encryption key, while services go on."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vault.cli.audit_events import tell_audit_of_keys
from vault.cli.options import POLICY, PolicyOption, former_settings, load_policy, provider_settings
from vault.errors import PolicyError
from vault.policy import Policy
from vault.policy.storage import NOTHING_TO_HIDE, holds_secret, placed_kek
from vault.project import keyring_under, open_keks, require_files


def move_keys(
    to: Annotated[str, typer.Option("--to", metavar="URI", help="kek, or one of kek_former, of the policy.")],
    policy: PolicyOption = POLICY,
) -> None:
    """Wrap the data keys by another key-encryption key; no row of data is touched. May be run again."""
    rules, console = load_policy(policy), Console(soft_wrap=True, markup=False, highlight=False)
    require_files(rules)
    place = place_of(to, rules, policy.parent.absolute())
    keks = open_keks(rules, provider_settings(rules.vault.kek), former_settings(rules))
    keyring, store = keyring_under(rules, keks)
    with closing(store), closing(keyring):
        changed = keyring.lifecycle.move((keks.first, *keks.formers)[place])
        live = sum(record.kept for record in keyring.records())
        tell_audit_of_keys(rules, keyring)
    for kek in sorted({record.wrapped.kek for record in changed if record.wrapped is not None}):
        console.print(f"now wrapped by {kek}")
    console.print(f"{len(changed)} of {live} keys moved")
    if place:
        console.print(
            f'Now, in the policy of every service: kek = "{to}", and the old one under kek_former. After'
            f" {keyring.leases.sealing:g} s type:"
            " noisevault keys check\n"
            "Keep the old key-encryption key for as long as a backup may be restored."
        )


def place_of(uri: str, policy: Policy, folder: Path) -> int:
    """0 for kek, from 1 on for kek_former. Raises: PolicyError: a service that is not told of it would stop."""
    if holds_secret(uri):
        raise PolicyError(NOTHING_TO_HIDE)
    known = (policy.vault.kek, *policy.vault.kek_former)
    named = placed_kek(uri, folder)
    if named not in known:
        raise PolicyError(
            f"{uri} is not in the policy: name it under kek_former there and in every service's first, such as"
            f' kek_former = ["{uri}"], else services that do not know it stop opening values'
        )
    return known.index(named)
