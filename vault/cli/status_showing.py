"""status: which keys the stored values and terms are under, what jobs run, which rows they left, what is changing."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from kms import Purpose
from kms.utc_text import to_the_second
from vault.cli.job_keys import names_tenant
from vault.cli.key_id import parse_key_id
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.still_needed import StillNeeded
from vault.errors import PolicyError
from vault.jobs.job_store import JobState, is_held
from vault.jobs.status import Status, read_status
from vault.mapping.definitions import sealed_columns
from vault.modes.recorded_modes import mode_of
from vault.project import Project
from vault.rows.header_counts import ColumnCounts
from vault.rows.key_uses import uses_in

Row = dict[str, Any]
# Ours: key ids of no keyring that are shown one by one; a table full of changed bytes has as many as rows.
SHOWN_UNKNOWN = 20


def status(
    table: Annotated[list[str] | None, typer.Argument(help="Tables; all of the policy when none is given.")] = None,
    key: Annotated[
        bytes | None,
        typer.Option(parser=parse_key_id, metavar="KEY_ID", help="Say only how much depends on this key."),
    ] = None,
    tenants: Annotated[bool, typer.Option("--tenants", help="Show every keyring of the key store.")] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count rows by key, generation and column; jobs, rows left in quarantine, changes under way.

    Each table is read once, counted by the database; nothing is opened.
    """
    with open_project(policy, models) as project:
        named = [project.table(name) for name in table or project.tables]
        by_tenant = tenants or any(names_tenant(column.type) for one in named for column in sealed_columns(one))
        found = read_status(
            project.engine,
            project.opened.key_store,
            named,
            None if by_tenant or key is not None else [project.opened.keyring.name],
        )
        if key is not None:
            _show_key(dependence(project, found, key), as_json=as_json)
        elif as_json:
            typer.echo(json.dumps(members(found), indent=2))
        else:
            show(found)


def dependence(project: Project, found: Status, key_id: bytes) -> Row:
    """What depends on one key. Raises: PolicyError for a key that is in no keyring and in no row."""
    known = next((key for key in found.keys if key.record.key_id == key_id), None)
    if known is None and not found.unknown.get(key_id):
        raise PolicyError(f"no keyring has a key {key_id.hex()}, and no row names it; see: noisevault keys list")
    if known is None:
        uses = [use for table in found.tables for use in uses_in(table, key_id)]
    else:
        uses = StillNeeded(project).uses_counted(known.record, found.tables)
    return {
        "key_id": key_id.hex(),
        "keyring": "" if known is None else known.keyring,
        "purpose": "" if known is None else known.record.purpose.value,
        "state": found.state_of(key_id),
        "rows": found.rows_naming(key_id),
        "uses": [{"where": use.where, "what": use.what, "count": use.count} for use in uses],
    }


def members(found: Status) -> Row:
    """For programs."""
    return {
        "keys": [
            {
                "keyring": key.keyring,
                "key_id": key.record.key_id.hex(),
                "purpose": key.record.purpose.value,
                "sequence": key.record.sequence,
                "state": key.record.state.value,
                "most_seals": key.seals,
                "rotate": key.rotate,
                "values": key.values,
                "terms": key.terms,
                "rows": key.rows,
            }
            for key in found.keys
        ],
        "tables": [
            {"table": table.table, "rows": table.rows, "columns": [_column(found, one) for one in table.columns]}
            for table in found.tables
        ],
        "unknown_keys": {key_id.hex(): rows for key_id, rows in found.unknown.items()},
        "jobs": [_job(row) for row in found.jobs],
        "quarantine": [{"job": j, "table": t, "rows": rows} for (j, t), rows in found.quarantined.items()],
        "changes": [
            {
                "keyring": keyring,
                "what": change.subject.label,
                "old": change.old,
                "new": change.new,
                "phase": int(change.phase),
                "mode": None if change.subject.index else mode_of(change).value,
                "since": change.since.isoformat(timespec="seconds"),
            }
            for keyring, change in found.changes
        ],
    }


def show(found: Status) -> None:
    """For people."""
    console = Console(markup=False, highlight=False)
    keys = _grid("key id", "keyring", "purpose", "state", "seals", "values", "terms", "rows")
    for key in found.keys:
        record, mark = key.record, "! " if key.rotate else ""
        cells = (record.key_id.hex(), key.keyring, record.purpose.value, record.state.value, f"{mark}{key.seals}")
        keys.add_row(*map(str, (*cells, key.values, key.terms, key.rows)))
    console.print(keys)
    rows = _grid("column", "holds", "key id", "state", "generation", "rows")
    for table in found.tables:
        for column in table.columns:
            for made in _cells(found, column):
                rows.add_row(f"{table.table}.{column.name}", column.holds, *made)
    console.print()
    console.print(rows)
    for line in _lines(found):
        console.print(line, soft_wrap=True)


def _lines(found: Status) -> Iterator[str]:
    for key in found.keys:
        if key.rotate:
            yield (
                f"! key {key.record.key_id.hex()} of {key.keyring} has sealed over 2**31 values of one field; at 2**32"
                f" sealing stops: noisevault rotate --purpose {Purpose.DATA}"
            )
    for row in found.jobs:
        if is_held(row["state"]) or row["state"] == JobState.STOPPED:
            yield (
                f"job {row['job']} of {row['table_name']}: {row['state']}, {row['seen']} of {row['total']} rows in pass"
                f" {row['number']}, last sign of it at {row['changed_at'][:19]} UTC"
            )
    for (job, table), rows in found.quarantined.items():
        yield f"quarantine: {rows} rows of {table} by {job}"
    for keyring, change in found.changes:
        since = f"since {to_the_second(change.since)}"
        if not change.subject.index:
            yield f"migrating: {change.subject.label} of keyring {keyring}, mode {mode_of(change).value} {since}"
            continue
        yield (
            f"changing: {change.subject.label} of keyring {keyring}, from {change.old or 'nowhere'} to"
            f" {change.new or 'nowhere'}, phase {int(change.phase)} of 4 {since}"
        )


def _cells(found: Status, column: ColumnCounts) -> Iterator[tuple[str, str, str, str]]:
    unknown = 0
    for made, number in sorted(column.made.items()):
        state = found.state_of(made.key_id)
        unknown += made.key_id in found.unknown
        if made.key_id not in found.unknown or unknown <= SHOWN_UNKNOWN:
            yield made.key_id.hex(), state, str(made.generation), str(number)
    if unknown > SHOWN_UNKNOWN:
        yield f"{unknown - SHOWN_UNKNOWN} more", "unknown", "", ""
    if column.other_format:
        yield "", "of another format", "", str(column.other_format.total())
    if column.foreign:
        yield "", f"no {column.holds[:-1]} at all", "", str(column.foreign)
    if column.null:
        yield "", "NULL", "", str(column.null)


def _column(found: Status, column: ColumnCounts) -> Row:
    made = [
        {"key_id": one.key_id.hex(), "state": found.state_of(one.key_id), "generation": one.generation, "rows": number}
        for one, number in sorted(column.made.items())
    ]
    other = {key_id.hex(): number for key_id, number in sorted(column.other_format.items())}
    counts = {"null": column.null, "foreign": column.foreign, "other_format": other}
    return {"column": column.name, "holds": column.holds, "by_key": made, **counts}


def _job(row: Any) -> Row:
    names = ("job", "part", "state", "wish", "number", "total", "seen", "failed", "rewritten", "begun_at", "changed_at")
    return {"table": row["table_name"], **{name: row[name] for name in names}}


def _show_key(row: Row, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(row))
        return
    console = Console(markup=False, highlight=False, soft_wrap=True)
    which = f"{row['purpose']} key {row['key_id']} of keyring {row['keyring']}" if row["keyring"] else row["key_id"]
    console.print(f"{which}, {row['state']}: {row['rows']} rows depend on it")
    for use in row["uses"]:
        console.print(f"  {use['count']} {use['what']} of {use['where']}")


def _grid(*names: str) -> Table:
    columns = (Column(name, overflow="fold", no_wrap=name == "key id") for name in names)
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
