"""plan: what questions cost together under each accountant, and how a budget is shared among them, without any data."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import dp
from dp.accounting.either_rule import Limits, Spent
from dp.delta import parse_delta
from dp.nano import show_atto
from dp.plan import Plan
from dp.plan import plan as planned
from dp.split import Wanted, equal_shares, split_by_error
from vault.cli.answer_display import shown_units
from vault.cli.asking import only_dataset
from vault.cli.models import ModelsOption, load_models
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy
from vault.cli.planned_question import PlannedQuestion, planned_questions
from vault.cli.previewing import CountOption, Previewed, in_a_table, parse_error, say_refusals
from vault.cli.spending import Spending
from vault.errors import PolicyError
from vault.policy import DatasetPolicy, Policy
from vault.question import admit, parse
from vault.translation import dp_question

FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Questions, a line each; after ; what is wished of one.")
]
DeltaOption = Annotated[
    str | None, typer.Option(help="What a batch may use for the finer accountants; half of lifetime_delta by default.")
]


def plan(
    questions: Annotated[list[str] | None, typer.Argument(help="As in ask, or as a line of --file.")] = None,
    file: FileOption = None,
    epsilon: Annotated[str | None, typer.Option(help="Of each question that has none of its own.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Instead: an epsilon to share among them, by wished error.")
    ] = None,
    delta: DeltaOption = None,
    count: CountOption = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset; not needed when the policy has one.")] = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what several questions would cost together, by each accountant. No key, no row, no ledger."""
    rules = load_policy(policy, load_models(models))
    name = dataset or only_dataset(rules)
    lines = [*(questions or []), *(file.read_text(encoding="utf-8").splitlines() if file else [])]
    wished = planned_questions(lines)
    if not wished:
        raise PolicyError("say which questions, or name a file that has one a line: --file FILE")
    if budget is None:
        spendings = [Spending.of(one.epsilon or epsilon, None) for one in wished]
    else:
        spendings = shared(rules, name, wished, dp.parse_epsilon(budget), count)
    found = [
        Previewed.at(rules, name, one.text, spending, count_of(one, count))
        for one, spending in zip(wished, spendings, strict=True)
    ]
    limits = Limits.of(rules.dataset[name].lifetime_nano, rules.dataset[name].lifetime_atto_delta)
    of_batch = limits.atto_delta if delta is None else parse_delta(delta)
    whole = Planned(planned([one.expected.price for one in found], of_batch), limits)
    if as_json:
        typer.echo(json.dumps({"questions": [one.in_json() for one in found], **whole.in_json()}))
        return
    Console().print(in_a_table(found))
    say_refusals(found)
    Console().print(whole.in_a_table())
    Console().print(whole.whole.advice, highlight=False)
    Console().print(whole.in_one_line(name, rules.dataset[name]), highlight=False)


def shared(
    policy: Policy, dataset: str, wished: list[PlannedQuestion], nano_epsilon: int, count: int | None
) -> list[Spending]:
    """A budget shared by the errors that are wished, or equally where none is."""
    if all(one.error is None for one in wished):
        return [Spending(share) for share in equal_shares(nano_epsilon, len(wished))]
    wanted = []
    for at, one in enumerate(wished, start=1):
        if one.error is None:
            raise dp.ParameterError("error", f"question {at} has none: write ; error NUMBER after each, or after none")
        question = admit(parse(one.text), policy, dataset)
        asked = dp_question(policy, dataset, question)
        wanted.append(Wanted(asked, parse_error(one.error), count_of(one, count)))
    return [Spending(share) for share in split_by_error(nano_epsilon, wanted)]


def count_of(one: PlannedQuestion, count: int | None) -> int | None:
    """Raises: dp.ParameterError for a count that is none."""
    if one.count is None:
        return count
    if not (one.count.isascii() and one.count.isdigit() and len(one.count) < 16):
        raise dp.ParameterError("count", "it is a whole number of rows, such as 1000")
    return int(one.count)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan beside the lifetime of its dataset, as if nothing of that were spent."""

    whole: Plan
    limits: Limits

    def in_a_table(self) -> Table:
        whole = self.whole
        with_delta = f" at delta {show_atto(whole.atto_delta)}" if whole.atto_delta else ", which needs a delta"
        table = Table("accountant", "epsilon of all together")
        table.add_row("sum of epsilon", shown_units(whole.pure_sum) or "none")
        table.add_row(f"as one batch (KOV){with_delta}", shown_units(whole.kov) or "none")
        table.add_row(f"sum of rho, converted{with_delta}", shown_units(whole.concentrated) or "none")
        return table

    def in_one_line(self, name: str, rules: DatasetPolicy) -> str:
        fits = self.whole.fits_one_by_one(self.limits, Spent())
        said = "fit" if fits else "do not fit"
        lifetime = dp.show(rules.lifetime_nano)
        return f"asked one by one they {said} into the lifetime of {name}, epsilon {lifetime}, were nothing of it spent"

    def in_json(self) -> dict[str, Any]:
        whole = self.whole
        return {
            "sum": shown_units(whole.pure_sum),
            "batch": shown_units(whole.kov),
            "concentrated": shown_units(whole.concentrated),
            "delta": show_atto(whole.atto_delta),
            "helps": whole.helps,
            "advice": whole.advice,
            "fits_one_by_one": whole.fits_one_by_one(self.limits, Spent()),
            "fits_as_batch": whole.fits_as_batch(self.limits, Spent()),
        }
