"""keys databases, keys forget-database: where the keyring's values lie, and what depends on each key there."""

import json
from contextlib import closing
from typing import Annotated, Any

import typer
from rich.console import Console

from kms import KeyStore, Purpose
from vault.cli.ending_keys import ConfirmOption, require_confirmed
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy, open_project
from vault.cli.still_needed import StillNeeded
from vault.databases.database_identity import identity_of
from vault.databases.database_register import DatabaseRegister, RegisteredDatabase
from vault.errors import PolicyError
from vault.mapping.definitions import sealed_columns
from vault.project import Project, require_files
from vault.retirement.clearances import Clearances
from vault.retirement.database_report import database_rows
from vault.rows.header_counts import header_counts

__all__ = ["forget_database", "list_databases"]


def list_databases(policy: PolicyOption = POLICY, models: ModelsOption = None, as_json: JsonOption = False) -> None:
    """The databases of the keyring, and what needs each key there: here now, elsewhere when it was last counted."""
    with open_project(policy, models) as project:
        rows, name = _count(project), project.policy.vault.keyring
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"keyring {name}")
    for row in rows:
        _show(console, row)


def _count(project: Project) -> list[dict[str, Any]]:
    """And note what was found, for who asks elsewhere."""
    opened, needed = project.opened, StillNeeded(project)
    register, clearances = DatabaseRegister(opened.key_store), Clearances(opened.key_store, opened.keyring.id)
    here = identity_of(project.engine)
    register.see(opened.keyring.id, here)
    begun = clearances.now()
    tables = [header_counts(project.engine, table) for table in project.tables.values() if sealed_columns(table)]
    records = opened.keyring.records()
    now = {
        one.key_id: needed.uses_counted(one, tables)
        for one in records
        if one.kept and one.purpose is not Purpose.LEDGER  # which no database of data names
    }
    for key_id, uses in now.items():
        clearances.note(here.digest, key_id, begun, sum(use.count for use in uses))
    kept = [one for one in records if one.purpose is not Purpose.LEDGER]
    return database_rows(register.databases(opened.keyring.id), kept, clearances.scans(), here.digest, now)


def _show(console: Console, row: dict[str, Any]) -> None:
    forgotten = f", forgotten {row['forgotten_at'][:10]}" if row["forgotten_at"] else ""
    this = ", of this policy" if row["here"] else ""
    console.print(f"{row['database']}  {row['place']}{this}, last seen {row['last_seen']}{forgotten}")
    for key in row["keys"]:
        console.print(f"  {key['purpose']} key {key['key_id']}, {key['state']}: {_told(key)}")


def _told(key: dict[str, Any]) -> str:
    if key["uses"] is None:
        return "never counted there"
    if key["where"]:
        return f"needed by {', '.join(key['where'])}"
    cleared = f"; refused by triggers and cleared {key['cleared_at']}" if key["cleared_at"] else ""
    when = "" if key["counted_at"] == "now" else f" when counted {key['counted_at']}"
    return f"{key['uses'] or 'nothing'} needed it{when}{cleared}" if when else f"nothing needs it{cleared}"


def forget_database(
    place: Annotated[str, typer.Argument(metavar="DATABASE", help="Its 12 digits, or its whole place, as listed.")],
    confirm: ConfirmOption,
    policy: PolicyOption = POLICY,
) -> None:
    """Say that a registered database is no more, so that no key waits for it."""
    require_confirmed(policy, confirm)
    rules = load_policy(policy)
    require_files(rules)
    with closing(KeyStore.from_url(rules.keys_url)) as store:
        store.check_schema()
        keyring_id = store.load(rules.vault.keyring).keyring_id
        register = DatabaseRegister(store)
        found = _named(register.databases(keyring_id), place)
        register.forget(keyring_id, found.digest)
        Clearances(store, keyring_id).void(found.digest)
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"{found.name}  {found.place} is forgotten: no key waits for it")
    console.print(
        "If it lives, what a destroyed key sealed there is lost. It counts again when a service uses it: one that"
        " starts at once, others within the hour."
    )


def _named(databases: list[RegisteredDatabase], place: str) -> RegisteredDatabase:
    """Raises: PolicyError for none and for two."""
    found = [one for one in databases if place in {one.name, one.place}]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{one.name} ({one.place})" for one in (found or databases)) or "none is registered"
    raise PolicyError(
        f"{'two databases have' if found else 'no database has'} that name: {listed}; write its 12 digits"
    )
