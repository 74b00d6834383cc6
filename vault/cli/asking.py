"""ask, budget: noisy answers for the epsilon they cost, and what is left."""

import getpass
import json
from contextlib import closing
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import dp
from vault.bridge import answer, open_ledger
from vault.cli.models import ModelsOption
from vault.cli.options import POLICY, JsonOption, PolicyOption, open_project
from vault.cli.recipes import CommandPlace
from vault.cli.sharing import DaskOption, sharing
from vault.errors import PolicyError
from vault.policy import Policy
from vault.question import Question, admit, parse
from vault.shared_scan import SharedScan
from vault.translation import labels as labels_of

AskWorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Processes that share the reading; one by default.")
]


def ask(
    questions: Annotated[list[str], typer.Argument(help='Such as "mean(medical_spending) where female = 1 by site".')],
    epsilon: Annotated[str, typer.Option(help="What each question may cost one person, such as 0.5; exact.")],
    dataset: Annotated[str | None, typer.Option(help="The dataset; not needed when the policy has one.")] = None,
    who: Annotated[str | None, typer.Option(help="The name in the audit log; your login by default.")] = None,
    workers: AskWorkersOption = None,
    dask: DaskOption = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for aggregates; each question is charged on its own. For trusted users: this command holds the keys."""
    price = dp.Price.pure(dp.parse_epsilon(epsilon))
    who = who or login()
    asked = [parse(text) for text in questions]
    with (
        open_project(policy, models) as project,
        closing(open_ledger(project.policy, project.opened.keyring)) as ledger,
        sharing(project, None if dask is not None else workers or 1, dask) as shared,
    ):
        name = dataset or only_dataset(project.policy)
        asked = [admit(question, project.policy, name) for question in asked]
        for question in asked:
            others = shared.workers
            scan = None if others is None else SharedScan(others, CommandPlace.of(policy, models))
            released = answer(project, ledger, name, question, price=price, who=who, shared=scan)
            named = labels_of(project.policy.dataset[name], question)
            if as_json:
                typer.echo(json.dumps(in_json(question, released, named)))
            else:
                Console().print(in_a_table(question, released, named))
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
    return f"dataset {name}: epsilon {spent} of {cap} spent by all askers together, {left} left, for ever"


def number(value: Fraction) -> str:
    """An exact answer in decimals; the grid's step decides how many."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.2f}"


def shown(nano: int | None) -> str | None:
    return None if nano is None else dp.show(nano)


def cost(released: dp.Answer) -> str:
    """What an answer cost: an epsilon, or, of Gaussian noise, a rho; and its delta where it has one."""
    spent = (
        f"rho {shown(released.nano_rho)}"
        if released.nano_epsilon is None
        else f"epsilon {shown(released.nano_epsilon)}"
    )
    return f"{spent}, delta {released.atto_delta}e-18" if released.atto_delta else spent


def in_a_table(question: Question, released: dp.Answer, labels: tuple[tuple[Any, ...], ...]) -> Table:
    scales = ", ".join(f"{noise.part} {float(noise.scale):,.6g}" for noise in released.noise)
    table = Table(
        *question.by,
        question.aggregate,
        f"interval ({released.interval_label})",
        title=Text(question.canonical(), style="table.title"),
        caption=f"{cost(released)}; {released.mechanism}, scale {scales}; "
        f"at most {released.caps.rows} rows a group, {released.caps.groups} groups a person",
    )
    for group in released.groups:
        low, high = group.interval
        table.add_row(
            *(Text(str(label)) for label in labels[group.group]), number(group.value), f"{number(low)} … {number(high)}"
        )
    return table


def in_json(question: Question, released: dp.Answer, labels: tuple[tuple[Any, ...], ...]) -> dict[str, Any]:
    """Every number as a float; the exact one stands beside it as a fraction."""
    return {
        "question": question.canonical(),
        "epsilon": shown(released.nano_epsilon),
        "rho": shown(released.nano_rho),
        "delta": f"{released.atto_delta}e-18" if released.atto_delta else "0",
        "mechanism": released.mechanism,
        "interval_label": released.interval_label,
        "noise": [{"part": n.part, "scale": str(n.scale), "epsilon": shown(n.nano_epsilon)} for n in released.noise],
        "caps": {"rows_per_unit": released.caps.rows, "groups_per_unit": released.caps.groups},
        "groups": [
            {
                "group": dict(zip(question.by, labels[group.group], strict=True)),
                "value": float(group.value),
                "exact": str(group.value),
                "interval": [float(bound) for bound in group.interval],
                "parts": {part.name: float(part.value) for part in group.parts},
            }
            for group in released.groups
        ],
    }
