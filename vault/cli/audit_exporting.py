"""audit export: the audit log as lines of JSON in a file, with its signed head."""

import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dp.ledger import AuditHead, Ledger
from vault.cli.audit_events import tell_audit
from vault.cli.audit_head_file import read_head
from vault.cli.audit_verifying import CheckpointOption
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, PolicyOption, open_project
from vault.opened_ledger import open_ledger

__all__ = ["export_audit"]


def export_audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written whole or not at all; one that is there goes.")],
    checkpoint: CheckpointOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
) -> None:
    """Write every entry of the audit log into FILE, when each is signed and follows the one before.

    Verify it, also where the ledger is not, by: noisevault audit verify FILE. Exit status: 0 written, 1 refused.
    """
    kept = None if checkpoint is None else read_head(checkpoint)
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        tell_audit(project)
        head = _written(ledger, file, kept)
    Console(soft_wrap=True, markup=False, highlight=False).print(f"{file}: audit entries 1 to {head.sequence}")


def _written(ledger: Ledger, file: Path, kept: AuditHead | None) -> AuditHead:
    handle, draft = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as content:
            head = ledger.export_audit(content.write, kept)
            content.flush()
            os.fsync(content.fileno())
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return head
