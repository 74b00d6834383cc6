"""budget: what is spent and left of every budget; bring those of the policy to the ledger; let answers be new."""

import json
from contextlib import closing
from typing import Annotated

import typer
from rich.console import Console

from dp.errors import UnknownDatasetError
from dp.ledger.errors import SoftLimitError
from vault.budgets import apply_budgets
from vault.cli.budget_display import ShownBudget
from vault.cli.budget_remarks import say_differences
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.dataset_sources import dataset_sources
from vault.errors import PolicyError
from vault.opened_ledger import open_ledger

__all__ = ["app"]

app = typer.Typer(add_completion=False, help="Show what each dataset may cost one person, and what is left; change it.")
ReasonOption = Annotated[str, typer.Option(metavar="TEXT", help="Why; it goes into the audit log, without any value.")]
WIDEST = 1000  # ours, in characters: no table of budgets is as wide


@app.callback(invoke_without_command=True)
def budget(
    context: typer.Context, policy: PolicyOption = POLICY, models: ModelsOption = None, as_json: JsonOption = False
) -> None:
    """Show what each dataset may cost one person, by window and for ever, and what is left."""
    if context.invoked_subcommand is not None:
        if policy != POLICY or models is not None or as_json:
            raise PolicyError(f"write the options behind {context.invoked_subcommand}, not before it")
        return
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        for name in project.policy.dataset:
            try:
                shown = ShownBudget.of(ledger, name)
            except UnknownDatasetError:
                continue  # told below
            if as_json:
                typer.echo(json.dumps(shown.in_json()))
                continue
            for line in shown.in_lines():
                Console(soft_wrap=True).print(line, highlight=False, markup=False)
            Console(width=WIDEST).print(shown.in_a_table())
        say_differences(ledger, project.policy)


@app.command()
def apply(
    reason: ReasonOption,
    i_accept: Annotated[
        bool, typer.Option("--i-accept", help="Also budgets above epsilon 10 a year, which protect hardly anybody.")
    ] = False,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the ledger's budgets to the policy's. What was spent stays spent, and each change is in the audit log."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        changed = False
        sources = dataset_sources(project)
        try:
            for place, said in apply_budgets(ledger, project.policy, sources, reason=reason, accept=i_accept):
                if as_json:
                    typer.echo(json.dumps({"place": place, "changed": said.changed, "warnings": said.warnings}))
                    continue
                if said.changed:
                    console.print(f"{place}: the ledger has the policy's budgets now")
                    changed = True
                for warning in said.warnings:
                    console.print(f"warning: {warning}")
        except SoftLimitError as error:
            refused = str(error)
        else:
            if not changed and not as_json:
                console.print("the ledger has the policy's budgets; nothing was changed")
            return
    raise PolicyError(f"{refused}: --i-accept")


@app.command()
def epoch(
    dataset: Annotated[str, typer.Argument(help="The dataset whose data is new.")],
    reason: ReasonOption,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer every question anew from now on, each at a new charge out of the same budget."""
    if not reason.strip():
        raise PolicyError("say why by --reason, for the audit log")
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        if dataset not in project.policy.dataset:
            names = ", ".join(project.policy.dataset) or "none"
            raise PolicyError(f"there is no dataset {dataset!r} in the policy; it names: {names}")
        number = ledger.advance_epoch(dataset, reason)
    if as_json:
        typer.echo(json.dumps({"dataset": dataset, "epoch": number}))
        return
    Console(soft_wrap=True, highlight=False, markup=False).print(
        f"dataset {dataset}: epoch {number}; what was asked before is answered anew, at a new charge"
    )
