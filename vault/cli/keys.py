"""keys: what keys there are, whether they unwrap, under which key-encryption key; with the commands that end them."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from kms.kek_health import kek_health
from vault.cli import ending_keys
from vault.cli.audit_events import tell_audit_of_keys
from vault.cli.backup_checking import check_backup_of
from vault.cli.kek_health import keyring_to_list
from vault.cli.kek_versions import list_kek_versions
from vault.cli.key_databases import forget_database, list_databases
from vault.cli.key_faults import key_faults, say_faults
from vault.cli.key_policy import print_policy
from vault.cli.key_rows import SHOWN, key_rows, numbered_keks, shown
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy, open_keys

app = typer.Typer(add_completion=False, help="The data keys of the keyring.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """The data keys of the keyring."""


app.command(name="policy")(print_policy)


@app.command(name="list")
def list_keys(policy: PolicyOption = POLICY, as_json: JsonOption = False) -> None:
    """Key ids, states, ages, counted seals (! over half of them), and whether the KEK answers; never the keys."""
    with keyring_to_list(policy) as (keyring, provider, kek):
        records = keyring.records()
        health = {one.kek: str(one) for one in kek_health(provider, records)}
        rows = key_rows(records, keyring.seal_counts())
    if as_json:
        typer.echo(json.dumps([row | {"kek_health": health.get(str(row["kek"]), "")} for row in rows], indent=2))
        return
    # Nothing is cut off on a narrow screen: half an id names no key.
    columns = (Column(name, overflow="fold", no_wrap=name == "key_id") for name in SHOWN)
    table = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    keks = numbered_keks(rows)
    for row in rows:
        table.add_row(*shown(row, datetime.now(UTC), keks))
    console = Console(markup=False, highlight=False)
    console.print(f"keyring {keyring.name}", soft_wrap=True)
    console.print(table)  # what the database says is text, brackets too
    for (name, version), number in keks.items():
        console.print(f"kek {number}: {name}, version {version}", soft_wrap=True)
    for name, state in health.items():
        console.print(f"{name} {state}", soft_wrap=True)
    console.print(f"new keys are wrapped by {kek}", soft_wrap=True)


@app.command(name="check")
def check_keys(
    policy: PolicyOption = POLICY,
    backup: Annotated[
        str | None,
        typer.Option("--backup", metavar="FILE", help="A copy of the key store, or the URL of a restored one."),
    ] = None,
) -> None:
    """Unwrap every stored live key, or those of a backup; names what does not unwrap, and exits with 1 then."""
    if backup is not None:
        check_backup_of(backup, policy)
        return
    console = Console()
    with open_keys(policy) as keyring:
        say_faults(console, key_faults(keyring))
        kept = sum(record.kept for record in keyring.records())
        console.print(f"all {kept} keys of keyring {keyring.name} unwrap", markup=False, highlight=False)


@app.command(name="rewrap")
def rewrap_keys(policy: PolicyOption = POLICY) -> None:
    """Wrap the data keys by the newest key-encryption key; no row of data is touched. May be run again."""
    console = Console(soft_wrap=True, markup=False, highlight=False)
    with open_keys(policy) as keyring:
        changed = keyring.lifecycle.rewrap()
        for kek, version in sorted({(r.wrapped.kek, r.wrapped.kek_version) for r in changed if r.wrapped is not None}):
            console.print(f"now wrapped by {kek}, version {version}")
        kept = sum(record.kept for record in keyring.records())
        console.print(f"{len(changed)} of {kept} keys rewrapped")
        if changed:
            console.print(
                f"Services read this within {keyring.leases.sealing:g} s. Type: noisevault keys check\n"
                "Old versions of the key-encryption key stay for as long as a backup may be restored: noisevault keys"
                " kek-versions"
            )
            tell_audit_of_keys(load_policy(policy), keyring)


for command in (ending_keys.deactivate, ending_keys.retire, ending_keys.restore, ending_keys.destroy):
    app.command()(command)
app.command(name="databases")(list_databases)
app.command(name="forget-database")(forget_database)
app.command(name="kek-versions")(list_kek_versions)
