"""find, show: rows found through a blind index, and a table's first rows, opened or as a thief would see them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text
from sqlalchemy import Table, select

from vault.cli.importing import only_table
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.errors import PolicyError
from vault.files.cell import EXPECTED, converter
from vault.mapping import find_all, via
from vault.policy import ColumnPolicy, ColumnType
from vault.rows.raw_table import raw_table
from vault.rows.tenant_rows import require_no_tenants

# Ours: wider rows are shown one below the other.
MOST_COLUMNS: Final = 6
TableOption = Annotated[str | None, typer.Option("--table", help="The table; not needed when the policy has one.")]


def find(
    column: Annotated[str, typer.Argument(help="A sealed column with an index, or a plain one.")],
    value: Annotated[str, typer.Argument(help="The value to look up.")],
    table: TableOption = None,
    index: Annotated[
        str | None, typer.Option(help="The index to ask, by name; a partial one is asked for a part.")
    ] = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rows in which COLUMN equals VALUE; exits with 1 when there is none."""
    with open_project(policy, models) as project:
        name = table or only_table(project)
        found = project.table(name)
        require_no_tenants(found)
        declared = project.policy.table[name].column
        if column not in declared:
            raise PolicyError(f"table {name} has no column {column!r} to look up by; it has: {', '.join(declared)}")
        if declared[column].sealed and not declared[column].indexes:
            raise PolicyError(
                f"{name}.{column} is sealed without an index, so that nothing can be looked up by it: give it one, such"
                ' as index = { normalise = "exact" } or BlindIndex(); where data is stored already, see docs/reindex.md'
            )
        asked = asked_of(index, value, column, declared[column])
        with project.engine.connect() as connection:
            if declared[column].sealed:
                rows: Iterable[Mapping[Any, Any]] = list(find_all(connection, found, by={found.c[column]: asked}))
            else:
                rows = connection.execute(select(found).where(found.c[column] == asked)).mappings().all()
        print_rows(visible(found), rows, as_json=as_json)
        if not rows:
            typer.echo(f"no row of {name} has that {column}", err=True)
            raise typer.Exit(1)


def asked_of(index: str | None, value: str, column: str, declared: ColumnPolicy) -> object:
    """What to look up. Raises: PolicyError for an index that there is not."""
    names = [one.name for one in declared.indexes]
    if index is None:
        if names and all(one.partial for one in declared.indexes):
            raise PolicyError(f"{column} has only partial indexes; name one, as --index {names[0]}, and give a part")
        return typed(value, column, declared.type)
    for one in declared.indexes:
        if one.name == index:
            return via(index, value if one.partial else typed(value, column, declared.type))
    raise PolicyError(f"{column} has no index {index!r}; it has: {', '.join(names) or 'none'}")


def show(
    table: Annotated[str | None, typer.Argument(help="The table; not needed when the policy has one.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many rows.")] = 5,
    raw: Annotated[bool, typer.Option("--raw", help="The stored bytes, as a thief of the disk sees them.")] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the first rows of a table in key order."""
    with open_project(policy, models) as project:
        name = table or only_table(project)
        if not raw:
            require_no_tenants(project.table(name))
        shown = raw_table(project.table(name)) if raw else project.table(name)
        names = visible(shown)
        statement = select(shown).order_by(*shown.primary_key.columns).limit(limit)
        with project.engine.connect() as connection:
            rows = connection.execute(statement).mappings().all()
        print_rows(names, rows, as_json=as_json)


def typed(value: str, column: str, kind: ColumnType) -> object:
    """The text of the command line as a value of the column. Raises: PolicyError naming the kind that is expected."""
    found = converter(kind)(value)
    if found is None:
        raise PolicyError(f"{column} holds {EXPECTED[kind]}, and what was given is none")
    return found


def visible(table: Table) -> list[str]:
    """The columns that a SELECT of the table has: without those of terms, unless they are shown raw."""
    return [column.name for column in select(table).selected_columns]


def print_rows(names: Sequence[str], rows: Iterable[Mapping[Any, Any]], *, as_json: bool) -> None:
    if as_json:
        for row in rows:
            typer.echo(json.dumps({name: in_json(row[name]) for name in names}, ensure_ascii=False))
        return
    shown = [[in_words(row[name]) for name in names] for row in rows]
    if len(names) <= MOST_COLUMNS:
        grid = Grid(*(Column(name, overflow="fold") for name in names))
        for cells in shown:
            grid.add_row(*map(Text, cells))
        Console().print(grid)
        return
    for cells in shown:
        grid = Grid(Column(overflow="fold"), Column(overflow="fold"), show_header=False)
        for name, cell in zip(names, cells, strict=True):
            grid.add_row(name, Text(cell))
        Console().print(grid)


def in_json(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def in_words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 40 else f"{value[:24].hex()}… ({len(value)} bytes)"
    return str(value)
