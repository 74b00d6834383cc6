"""dp selftest: whether the noise of this installation is what it claims to be. No project, no keys and no data."""

import dataclasses
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from dp.selftest.audit import LEAST_DRAWS, audit
from dp.selftest.finding import Finding, Verdict
from vault.cli.options import JsonOption

app = typer.Typer(add_completion=False, no_args_is_help=True, help="The noise of the answers.")

DrawsOption = Annotated[
    int, typer.Option("--draws", metavar="N", help="Numbers to draw of each sampler: more tell smaller faults.")
]


@app.callback()
def dp() -> None:
    """The noise of the answers."""


@app.command()
def selftest(draws: DrawsOption = LEAST_DRAWS, as_json: JsonOption = False) -> None:
    """Audit the samplers, the step of answers, forks and thresholds of this installation; exits with 1 on a failure.

    By chance alone a check fails one time in a million.
    """
    tell(list(audit(draws)), as_json=as_json)


def tell(findings: list[Finding], *, as_json: bool) -> None:
    """Print them; ends the command with 1 when one failed."""
    failed = any(finding.verdict is Verdict.FAIL for finding in findings)
    if as_json:
        typer.echo(json.dumps({"passed": not failed, "checks": [dataclasses.asdict(f) for f in findings]}, indent=2))
    else:
        say(findings)
    if failed:
        raise typer.Exit(1)


def say(findings: list[Finding]) -> None:
    console = Console(markup=False, highlight=False)
    table = Table(Column("check", overflow="fold"), "statistic", "p value", "verdict", box=None, pad_edge=False)
    for finding in findings:
        figures = ("" if figure is None else f"{figure:.4g}" for figure in (finding.statistic, finding.p_value))
        table.add_row(finding.check, *figures, str(finding.verdict))
    console.print(table)
    failed = sum(finding.verdict is Verdict.FAIL for finding in findings)
    skipped = sum(finding.verdict is Verdict.SKIPPED for finding in findings)
    console.print(f"{len(findings) - failed - skipped} checks passed, {failed} failed, {skipped} skipped")
    if failed:
        console.print(
            "Run it again: by chance a check fails one time in a million. If the same one fails, ask nothing of this"
            " installation, and report it as SECURITY.md says.",
            soft_wrap=True,
        )
