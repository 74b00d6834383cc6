"""preview: how far an answer will lie from the truth and what it costs, or what an error costs, without any data."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dp.answer import RANK_LABEL
from dp.epsilon import exact_number
from dp.nano import show_atto
from dp.preview import Preview, price_for
from dp.preview import preview as previewed
from vault.cli.answer_display import decimals_of, number, shown_noise, shown_price, shown_units
from vault.cli.asking import only_dataset
from vault.cli.models import ModelsOption, load_models
from vault.cli.options import POLICY, JsonOption, PolicyOption, load_policy
from vault.cli.price_limits import beyond
from vault.cli.spending import EpsilonOption, RhoOption, Spending
from vault.policy import Policy
from vault.question import Question, admit, parse
from vault.reporting.page import visible
from vault.translation import dp_question, price_of

CountOption = Annotated[
    int | None, typer.Option("--count", min=1, help="How many rows to assume in a group; means and variances need it.")
]


def preview(
    questions: Annotated[list[str], typer.Argument(help="As in ask.")],
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    error: Annotated[str | None, typer.Option(help="Instead: the error that is wanted; tells the epsilon.")] = None,
    count: CountOption = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset; not needed when the policy has one.")] = None,
    policy: PolicyOption = POLICY,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an answer would cost and how far it would be off. It reads the policy: no key, no row, no ledger."""
    rules = load_policy(policy, load_models(models))
    name = dataset or only_dataset(rules)
    if error is None:
        spending = Spending.of(epsilon, rho)
        found = [Previewed.at(rules, name, text, spending, count) for text in questions]
    else:
        found = [Previewed.within(rules, name, text, parse_error(error), count) for text in questions]
    if as_json:
        for one in found:
            typer.echo(json.dumps(one.in_json()))
    else:
        Console().print(in_a_table(found))
        say_refusals(found)


@dataclass(frozen=True, slots=True)
class Previewed:
    """question: as it was admitted. decimals: as of its answer. refused: why it would be, by the policy alone."""

    question: Question
    expected: Preview
    decimals: int
    refused: tuple[str, ...] = ()

    @classmethod
    def at(cls, policy: Policy, dataset: str, text: str, spending: Spending, count: int | None) -> Self:
        """At a price. Raises: QuestionError, dp.ParameterError."""
        question = admit(parse(text), policy, dataset)
        price = spending.price(policy.dataset[dataset], question)
        expected = previewed(dp_question(policy, dataset, question), price, count)
        refused = beyond(policy, dataset, question.columns, price)
        return cls(question, expected, decimals_of(policy, dataset, question), refused)

    @classmethod
    def within(cls, policy: Policy, dataset: str, text: str, error: Fraction, count: int | None) -> Self:
        """At the smallest epsilon that gives this error. Raises: QuestionError, dp.ParameterError."""
        question = admit(parse(text), policy, dataset)
        asked, rules = dp_question(policy, dataset, question), policy.dataset[dataset]
        price = price_for(asked, error, count, price_of=lambda nano: price_of(rules, question, nano))
        refused = beyond(policy, dataset, question.columns, price)
        return cls(question, previewed(asked, price, count), decimals_of(policy, dataset, question), refused)

    def in_json(self) -> dict[str, Any]:
        """Numbers as in an answer."""
        expected, price = self.expected, self.expected.price
        return {
            "question": self.question.canonical(),
            "epsilon": shown_units(price.nano_epsilon),
            "rho": shown_units(price.nano_rho),
            "delta": show_atto(price.atto_delta),
            "error": float(expected.error),
            "width": float(expected.width),
            "interval_label": expected.interval_label,
            "mechanism": expected.mechanism,
            "noise": [shown_noise(noise) for noise in expected.noise],
            "count": expected.count,
            "refused": list(self.refused),
        }


def in_a_table(found: list[Previewed]) -> Table:
    table = Table("question", "costs", "error (95 %)", "interval's width")
    for one in found:
        expected = one.expected
        of_rank = " rows of rank" if expected.interval_label == RANK_LABEL else ""
        assumed = "" if expected.count is None else f" ({expected.count:,} rows assumed)"
        table.add_row(
            Text(f"{visible(one.question.canonical())}{assumed}"),
            shown_price(expected.price),
            f"{number(expected.error, one.decimals)}{of_rank}",
            f"{number(expected.width, one.decimals)}{of_rank}",
        )
    return table


def say_refusals(found: list[Previewed]) -> None:
    """Below the table: which would be refused whatever is spent, and why."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for one in found:
        for why in one.refused:
            console.print(f"would be refused: {visible(one.question.canonical())}: {why}")


def parse_error(text: str) -> Fraction:
    """An error in the unit of the answer, exactly. Raises: dp.ParameterError."""
    return exact_number(text, "error", "write how far an answer may be off in 95 of 100 cases, such as 25")
