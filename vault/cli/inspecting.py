"""inspect leakage: what the indexes of a table's columns tell, measured on the values, which never leave memory."""

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from vault.cli.importing import only_table
from vault.cli.looking import TableOption
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.codecs import codec_named
from vault.codecs.padding import unpadded_id
from vault.definitions.definition import FieldDefinition
from vault.errors import InvalidValueError, PolicyError
from vault.leakage import Leakage, Width
from vault.normalise import Normaliser, exact
from vault.project import Project
from vault.rows.scan import Scan
from vault.terms.term import equality_encoding

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Measure what stored data tells.")


@app.callback()
def inspect() -> None:
    """Measure what stored data tells."""


@app.command()
def leakage(
    column: Annotated[str | None, typer.Argument(help="A sealed column; all of the table unless named.")] = None,
    table: TableOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report how often values repeat in the real columns, and what an index of each width would show and cost.

    A column without an index is measured as an exact one would see it. Every value is read and opened; none is shown.
    """
    with open_project(policy, models) as project:
        name = table or only_table(project)
        fields = project.fields(project.table(name))
        if column is not None and column not in fields:
            raise PolicyError(f"table {name} has no sealed column {column!r}; it has: {', '.join(fields) or 'none'}")
        wanted = [column] if column is not None else list(fields)
        project.require_sealed(project.table(name), wanted)
        for one in wanted:
            for normaliser, bits in measured_by(fields[one].definition).items():
                found = measure(project, name, one, normaliser)
                widths = found.widths(bits)
                if as_json:
                    place = {"column": f"{name}.{one}", "normaliser": normaliser.id}
                    typer.echo(json.dumps(place | members(found, widths)))
                else:
                    say(f"{name}.{one} by {normaliser.id}", found, widths)


def measured_by(definition: FieldDefinition) -> dict[Normaliser, list[int]]:
    """The normalisers of a field's indexes, each with the bits of those that have it; exact where there is none."""
    found: dict[Normaliser, list[int]] = {}
    for index in definition.indexes:
        found.setdefault(index.normaliser, []).append(index.bits)
    return found or {exact: []}


def measure(project: Project, table: str, column: str, normaliser: Normaliser) -> Leakage:
    """Of the values that open; the others are for `noisevault check`."""
    fields = project.fields(project.table(table))
    encode = equality_encoding(codec_named(unpadded_id(fields[column].definition.codec)), normaliser)
    live = project.opened.keyring.warm()

    def encoded(value: object) -> bytes | None:
        try:
            return None if value is None else encode(value)
        except InvalidValueError:  # stored without an index, which would not take it, such as NaN
            return None

    def encodings() -> Iterator[bytes | None]:
        for batch in Scan(project.engine, project.table(table), fields, (column,), live).batches():
            yield from map(encoded, batch.columns[column])

    return Leakage.measured(encodings())


def members(found: Leakage, widths: Iterable[Width]) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "without_term": found.without_term,
        "distinct": found.distinct,
        "most_common_share": found.most_common_share,
        "min_entropy_bits": found.min_entropy,
        "false_positives": {str(width.bits): width.false_positives for width in widths},
        "advice": found.advice,
    }


def say(title: str, found: Leakage, widths: Iterable[Width]) -> None:
    console = Console(highlight=False)
    grid = Grid("bits", "false positives a look-up", title=None)
    for width in widths:
        grid.add_row(str(width.bits), f"{width.false_positives:.4g}")
    console.print(title, style="bold", markup=False)
    console.print(
        f"{found.rows} rows with a term, {found.without_term} without; {found.distinct} distinct values; the most"
        f" common one has {found.most_common_share:.2%} of the rows; min-entropy {found.min_entropy:.2f} bits",
        soft_wrap=True,
    )
    if found.rows:
        console.print(grid)
    console.print(f"advice: {found.advice}\n", markup=False, soft_wrap=True)
