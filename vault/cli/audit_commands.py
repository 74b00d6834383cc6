"""audit: the commands on the ledger's audit log, together."""

import typer

from vault.cli import audit_exporting, audit_heads, audit_recovering, audit_showing, audit_verifying, watching

__all__ = ["app"]

app = typer.Typer(add_completion=False, help="The audit log of the ledger.", no_args_is_help=True)


@app.callback()
def audit() -> None:
    """The audit log of the ledger."""


app.command(name="verify")(audit_verifying.verify_audit)
app.command(name="export")(audit_exporting.export_audit)
app.command(name="show")(audit_showing.show_audit)
app.command(name="head")(audit_heads.audit_head)
app.command(name="recover")(audit_recovering.recover)
app.command(name="watch")(watching.watch_log)
