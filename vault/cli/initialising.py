"""init: make the key file, the keyring, the tables and the budgets that the policy names."""

from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dp.ledger import Ledger
from kms import KeyFileError
from kms.providers.local import create_key_file
from vault.budgets import declare_budgets
from vault.cli.audit_events import tell_audit
from vault.cli.budget_display import in_one_line as budget_in_one_line
from vault.cli.budget_remarks import differences_told
from vault.cli.models import ModelsOption, load_models
from vault.cli.options import (
    POLICY,
    PolicyOption,
    former_settings,
    load_policy,
    local_key_file,
    provider_settings,
    read_passphrase,
    require_named,
)
from vault.dataset_sources import dataset_sources
from vault.errors import PolicyError
from vault.opened_ledger import open_ledger
from vault.project import Project, has_keyring, require_no_lost_keyring


def init(
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    example: Annotated[bool, typer.Option("--example", help="Write an example policy instead, to edit.")] = False,
    passphrase: Annotated[
        bool,
        typer.Option("--passphrase", help="Protect the new key file by one: typed, or of NOISEVAULT_PASSPHRASE_FILE."),
    ] = False,
) -> None:
    """Make the key file, the keyring, the tables and the budgets that the policy names; what is there stays.

    The tables of --models are left to the application, as to: alembic upgrade head.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if example:
        write_example(policy)
        console.print(f"wrote {policy}; edit it, then type: noisevault init")
        return
    mapped = load_models(models)
    rules = load_policy(policy, mapped)
    require_named(rules)
    key_file = local_key_file(rules.vault.kek)
    if passphrase and (key_file is None or key_file.exists()):
        raise PolicyError("--passphrase is for a new local key file; this policy's key is there already or elsewhere")
    settings = None
    if key_file is not None and not key_file.exists():
        if has_keyring(rules):
            raise KeyFileError(
                f"the keyring {rules.vault.keyring} was made with a key file that is not at {key_file}:"
                " put it back there from its copy, a new one would open nothing"
            )
        require_no_lost_keyring(rules, mapped)
        secret = read_passphrase(confirm=True) if passphrase else None
        create_key_file(key_file, passphrase=secret)
        settings = replace(provider_settings(), passphrase=secret)
        console.print(f"key-encryption key: {key_file} (mode 0600); keep a copy elsewhere, without it nothing opens")
        if passphrase:
            console.print("without the passphrase it does not open either; nobody can recover it")
    project = Project.create(rules, settings or provider_settings(rules.vault.kek), former_settings(rules), mapped)
    with closing(project), closing(open_ledger(rules, project.opened.keyring)) as ledger:
        sources = dataset_sources(project)
        warnings = declare_budgets(ledger, rules, sources)
        say_what_is_there(console, project, ledger)
        for line in (*(f"warning: {one}" for one in warnings), *differences_told(ledger, rules, sources)):
            console.print(line)
        tell_audit(project)


def say_what_is_there(console: Console, project: Project, ledger: Ledger) -> None:
    rules = project.policy
    console.print(f"keyring {rules.vault.keyring}: active data key {project.active_data_key_id}")
    told = "tables, which you make" if project.mapped else "tables"
    console.print(f"{told}: {', '.join(project.tables)}; datasets: {', '.join(rules.dataset) or 'none'}")
    for name in rules.dataset:
        console.print(budget_in_one_line(name, ledger.status(name)))


def write_example(path: Path, name: str = "example.toml") -> None:
    """Copy a policy of ours to `path`. Raises: PolicyError if a file is there already."""
    if path.exists():
        raise PolicyError(f"{path} is there already; it was left as it is")
    path.write_text(files("vault.demonstration").joinpath(name).read_text(encoding="utf-8"), encoding="utf-8")
