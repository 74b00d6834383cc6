"""check: whether policy, database, keys and ledger fit together, and whether every value opens."""

from collections.abc import Iterator
from contextlib import closing

from rich.console import Console

from dp import DpError
from kms import KeyState, KmsError
from vault.cli.budget_remarks import copies_told, differences_told
from vault.cli.key_clearing import KeyClearing
from vault.cli.key_faults import key_faults, say_faults
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project
from vault.dataset_sources import dataset_sources
from vault.errors import VaultError
from vault.opened_ledger import open_ledger
from vault.policy import unbound_fields
from vault.project import Project
from vault.rows.scan import Scan


def check(policy: PolicyOption = POLICY, models: ModelsOption = None) -> None:
    """Verify policy, keys, audit log and every sealed value; exits with 1 when something is wrong."""
    console = Console()
    with open_project(policy, models) as project:
        say_faults(console, faults(project))
        with closing(open_ledger(project.policy, project.opened.keyring)) as ledger:
            for line in copies_told(ledger, project.policy):
                console.print(f"warning: {line}", highlight=False, markup=False, soft_wrap=True)
        console.print("keys open, values authenticate, the audit log is whole, datasets bind their unit")


def faults(project: Project) -> Iterator[str]:
    for dataset, table, column in unbound_fields(project.policy):
        yield (
            f"dataset.{dataset}: {table}.{column} does not bind the unit; add it to the column's bind before data is"
            " stored, or accept the risk in words: accept_unbound"
        )
    keyring = project.opened.keyring
    yield from key_faults(keyring)
    live = keyring.warm()
    with closing(open_ledger(project.policy, keyring)) as ledger:
        try:
            ledger.verify_audit()
            yield from differences_told(ledger, project.policy, dataset_sources(project))
        except (DpError, KmsError, VaultError) as error:
            yield str(error)
    for name in project.tables:
        yield from unreadable_values(project, name, live)
    yield from unrefused_keys(project)


def unreadable_values(project: Project, name: str, live: frozenset[bytes]) -> Iterator[str]:
    table = project.table(name)
    fields = project.fields(table)
    for column in fields:
        scan = Scan(project.engine, table, fields, (column,), live)
        count = sum(batch.unreadable for batch in scan.batches())
        if count:
            yield f"{name}.{column}: {count} values do not open"


def unrefused_keys(project: Project) -> Iterator[str]:
    """Destroyed keys by which a process that slept may write a row that nobody ever opens."""
    destroyed = {record.key_id for record in project.opened.keyring.records() if record.state is KeyState.DESTROYED}
    for table, gone in KeyClearing(project).unrefused() if destroyed else ():
        ids = sorted(key_id.hex() for key_id in gone & destroyed)
        if ids:
            yield (
                f"{table.fullname} was made anew, and no trigger refuses what destroyed keys sealed ({', '.join(ids)});"
                f" make them by: noisevault keys destroy {ids[0]} --confirm {project.opened.keyring.name}"
            )
