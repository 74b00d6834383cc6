"""audit head: verify the audit log and write its head into a file, to be kept where the ledger is not."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vault.cli.audit_head_file import read_head, write_head
from vault.cli.options import POLICY, PolicyOption, load_policy, open_keys
from vault.opened_ledger import open_ledger

__all__ = ["audit_head"]


def audit_head(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Kept elsewhere: it tells a ledger that went back.")],
    policy: PolicyOption = POLICY,
) -> None:
    """Write sequence and MAC of the last entry of the audit log into FILE, when the log is whole.

    A head that is there already is replaced only by one that follows it. Exit status: 0 written, 1 refused.
    """
    before = read_head(file) if file.exists() else None
    rules = load_policy(policy)
    with open_keys(policy) as keyring, closing(open_ledger(rules, keyring)) as ledger:
        head = ledger.verify_audit(before).head  # else a ledger that went back would hide that it did
    write_head(file, head)
    Console(soft_wrap=True, markup=False, highlight=False).print(f"{file}: audit entry {head.sequence}")
