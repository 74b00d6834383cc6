"""audit verify: whether the audit log is whole, in the ledger with all that it counts, or in an export without it."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dp.ledger import verify_export
from kms import Keyring
from vault.cli.audit_head_file import read_head
from vault.cli.options import (
    POLICY,
    JsonOption,
    PolicyOption,
    former_settings,
    load_policy,
    open_keys,
    provider_settings,
)
from vault.ledger_keys import LedgerAuditMacs
from vault.opened_ledger import open_ledger
from vault.project import open_keyring, require_files

__all__ = ["CheckpointOption", "verify_audit"]

CheckpointOption = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FILE", help="A head that was kept elsewhere: the log must go on from it."),
]


def verify_audit(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="An export, in place of the ledger, which is not opened.")
    ] = None,
    checkpoint: CheckpointOption = None,
    policy: PolicyOption = POLICY,
    as_json: JsonOption = False,
) -> None:
    """Check every entry, and in the ledger every counter, charge and answer; names the first that is wrong.

    The keys of the policy are needed. Exit status: 0 whole, 1 not, or refused.
    """
    kept = None if checkpoint is None else read_head(checkpoint)
    if file is None:
        with open_keys(policy) as keyring, closing(open_ledger(load_policy(policy), keyring)) as ledger:
            report = ledger.verify_audit(kept)
    else:
        with _keys_alone(policy) as keyring, file.open("rb") as lines:
            report = verify_export(lines, LedgerAuditMacs(keyring), kept)
    if as_json:
        counts = {"charges": report.charges, "answers": report.answers, "datasets": report.datasets}
        typer.echo(json.dumps({"sequence": report.head.sequence, "mac": report.head.mac} | counts))
        return
    text = (
        f"{file or 'audit log'}: {report.head.sequence} entries are whole; {report.charges} charges, {report.answers}"
        f" answers, {report.datasets} datasets"
    )
    against = "" if kept is None else f"; it goes on from entry {kept.sequence}, which {checkpoint} has"
    Console(soft_wrap=True, markup=False, highlight=False).print(text + against)


@contextmanager
def _keys_alone(policy: Path) -> Iterator[Keyring]:
    """The keyring of a policy whose data and ledger need not be here."""
    rules = load_policy(policy)
    if "keys" in rules.vault.missing_files():
        require_files(rules)
    keyring, store = open_keyring(rules, provider_settings(rules.vault.kek), former_settings(rules))
    with closing(store), closing(keyring):
        yield keyring
