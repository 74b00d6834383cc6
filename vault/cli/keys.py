"""keys, rotate: what keys there are, and a new one."""

import json

import typer
from rich.console import Console
from rich.table import Column, Table

from kms import Purpose
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project

app = typer.Typer(help="The data keys of the keyring.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """The data keys of the keyring."""


@app.command(name="list")
def list_keys(policy: PolicyOption = POLICY, as_json: JsonOption = False) -> None:
    """Key ids, purposes, states and ages; never the keys."""
    project = open_project(policy)
    rows = [
        {
            "key_id": record.key_id.hex(),
            "purpose": record.purpose.value,
            "sequence": record.sequence,
            "state": record.state.value,
            "created_at": record.created_at.isoformat(timespec="seconds"),
            "kek": record.wrapped.kek if record.wrapped else "",
            "kek_version": record.wrapped.kek_version if record.wrapped else "",
        }
        for record in project.opened.keyring.records()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    # Nothing is cut off on a narrow screen: half an id names no key.
    columns = (Column(name, overflow="fold", no_wrap=name == "key_id") for name in rows[0])
    table = Table(*columns, title=f"keyring {project.opened.keyring.name}")
    for row in rows:
        table.add_row(*(str(cell) for cell in row.values()))
    Console(markup=False).print(table)  # what the database says is text, brackets too


def rotate(policy: PolicyOption = POLICY) -> None:
    """Make a new data key active: new values are sealed with it, old ones still open. Then: noisevault reencrypt."""
    project = open_project(policy)
    old = project.active_data_key_id
    record = project.opened.keyring.rotate(Purpose.DATA)
    Console(markup=False).print(
        f"active data key {record.key_id.hex()}, sequence {record.sequence}; {old} opens only.\n"
        "Services seal with the new key within 180 s; then type: noisevault reencrypt",
        highlight=False,
    )
