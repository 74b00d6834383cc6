"""ask, budget: noisy answers for the epsilon they cost, and what is left."""

import getpass
import json
from contextlib import closing
from typing import Annotated, Any

import typer
from rich.console import Console

import dp
from vault.bridge import answer, open_ledger
from vault.cli.answer_display import ShownAnswer
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace
from vault.cli.sharing import DaskOption, sharing
from vault.cli.spending import EpsilonOption, RhoOption, Spending
from vault.errors import PolicyError
from vault.policy import Policy
from vault.question import admit, parse
from vault.shared_scan import SharedScan

AskWorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Processes that share the reading; one by default.")
]


def ask(
    questions: Annotated[list[str], typer.Argument(help='Such as "mean(medical_spending) where female = 1 by site".')],
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset; not needed when the policy has one.")] = None,
    who: Annotated[str | None, typer.Option(help="The name in the audit log; your login by default.")] = None,
    workers: AskWorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for aggregates; each question is charged on its own. For trusted users: this command holds the keys."""
    spending = Spending.of(epsilon, rho)
    who = who or login()
    asked = [parse(text) for text in questions]
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
        sharing(project, None if dask is not None else workers or 1, dask) as shared,
    ):
        name = dataset or only_dataset(project.policy)
        asked = [admit(question, project.policy, name) for question in asked]
        prices = {question: spending.price(project.policy.dataset[name], question) for question in asked}
        for question in asked:
            others = shared.workers
            scan = None if others is None else SharedScan(others, CommandPlace.of(policy, models))
            price = prices[question]
            released = answer(project, ledger, name, question, price=price, who=who, shared=scan)
            shown = ShownAnswer.of(project.policy, name, question, released)
            if as_json:
                typer.echo(json.dumps(shown.in_json()))
            else:
                Console().print(shown.in_a_table())
        if not as_json:
            Console().print(in_one_line(name, ledger.status(name)), highlight=False)


def budget(policy: PolicyOption = POLICY, models: ModelsOption = None, as_json: JsonOption = False) -> None:
    """Show what each dataset may cost one person for ever, and what is left."""
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
    ):
        for name in project.policy.dataset:
            status = ledger.status(name)
            if as_json:
                amounts = {"lifetime": status.lifetime, "spent": status.spent, "remaining": status.remaining}
                if status.lifetime_nano_rho:
                    amounts |= {
                        "lifetime_rho": status.lifetime_nano_rho,
                        "spent_rho": status.spent_nano_rho,
                        "largest_question": status.largest_question,
                    }
                typer.echo(json.dumps({"dataset": name} | {key: dp.show(nano) for key, nano in amounts.items()}))
            else:
                Console().print(in_one_line(name, status), highlight=False)


def login() -> str:
    """Who the system says is asking. Raises: PolicyError where a user has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # KeyError until Python 3.12
        raise PolicyError("this user has no login name; say who asks: --who NAME") from None


def only_dataset(policy: Policy) -> str:
    if len(policy.dataset) != 1:
        raise PolicyError(f"say which dataset with --dataset; the policy names: {', '.join(policy.dataset) or 'none'}")
    return next(iter(policy.dataset))


def in_one_line(name: str, status: Any) -> str:
    spent, cap, left = (dp.show(nano) for nano in (status.spent, status.lifetime, status.remaining))
    line = f"dataset {name}: epsilon {spent} of {cap} spent by all askers together, {left} left, for ever"
    if not status.lifetime_nano_rho:
        return line
    nanos = (status.spent_nano_rho, status.lifetime_nano_rho, status.largest_question)
    rho, most, question = (dp.show(nano) for nano in nanos)
    return f"{line}; or, by lifetime_delta, rho {rho} of {most}: one more question may cost epsilon {question}"
