"""ask: noisy answers for the epsilon they cost, one by one or as a batch."""

import getpass
import json
from contextlib import closing
from typing import Annotated

import typer
from rich.console import Console

import dp
from dp.delta import parse_delta
from vault.bridge import answer, answers
from vault.cli.answer_display import ShownAnswer
from vault.cli.batch_display import ShownBatch
from vault.cli.budget_display import in_one_line
from vault.cli.budget_remarks import say_differences
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace
from vault.cli.sharing import DaskOption, sharing
from vault.cli.spending import EpsilonOption, RhoOption, Spending
from vault.errors import PolicyError
from vault.opened_ledger import open_ledger
from vault.policy import Policy
from vault.question import Question, admit, parse
from vault.shared_scan import SharedScan

AskWorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Processes that share the reading; one by default.")
]
BatchOption = Annotated[
    bool, typer.Option("--batch", help="Charge all of them at once; each is still answered at its --epsilon.")
]
DeltaOption = Annotated[
    str | None, typer.Option(help="What a --batch may use to cost less epsilon, as plan tells; none by default.")
]
RequestIdOption = Annotated[
    str | None,
    typer.Option(
        "--request-id", metavar="ID", help="Your own name for this request: sent again, it is no second charge."
    ),
]


def ask(
    questions: Annotated[list[str], typer.Argument(help='Such as "mean(medical_spending) where female = 1 by site".')],
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    batch: BatchOption = False,
    delta: DeltaOption = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset; not needed when the policy has one.")] = None,
    who: Annotated[str | None, typer.Option(help="The name in the audit log; your login by default.")] = None,
    request_id: RequestIdOption = None,
    workers: AskWorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for aggregates, charged each on its own or all at once. For trusted users: this command holds the keys."""
    spending = Spending.of(epsilon, rho)
    atto_delta = batch_delta(delta, batch=batch)
    who = who or login()
    asked = [parse(text) for text in questions]
    if request_id is not None and len(asked) > 1 and not batch:
        raise dp.ParameterError("request_id", "it names one request; ask one question, or add --batch")
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
        sharing(project, None if dask is not None else workers or 1, dask) as shared,
    ):
        name = dataset or only_dataset(project.policy)
        asked = [admit(question, project.policy, name) for question in asked]
        say_differences(ledger, project.policy)  # before a refusal by a budget that the policy does not name
        prices = {question: spending.price(project.policy.dataset[name], question) for question in asked}

        def scan() -> SharedScan | None:
            return None if shared.workers is None else SharedScan(shared.workers, CommandPlace.of(policy, models))

        def show(question: Question, released: dp.Answer) -> None:
            shown = ShownAnswer.of(project.policy, name, question, released)
            if as_json:
                typer.echo(json.dumps(shown.in_json()))
            else:
                Console().print(shown.in_a_table())

        if batch:
            together = answers(
                project, ledger, name, prices, atto_delta=atto_delta, who=who, request_id=request_id, shared=scan()
            )
            for question in asked:
                show(question, together.to(question.canonical()))
            whole = ShownBatch.of(together)
            if as_json:
                typer.echo(json.dumps(whole.in_json()))
            else:
                Console().print(whole.in_one_line(), highlight=False)
        else:
            for question in asked:
                price = prices[question]
                show(
                    question,
                    answer(project, ledger, name, question, price=price, who=who, request_id=request_id, shared=scan()),
                )
        if not as_json:
            Console().print(in_one_line(name, ledger.status(name)), highlight=False)


def batch_delta(delta: str | None, *, batch: bool) -> int:
    """In units of 1e-18; 0 where none is said. Raises: dp.ParameterError for one of no batch, or one that is none."""
    if delta is None:
        return 0
    if not batch:
        raise dp.ParameterError("delta", "it is for questions that are charged at once; add --batch, or leave it out")
    return parse_delta(delta)


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
