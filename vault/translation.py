"""Translation: a question in dp's terms, its price, and how the groups of its answer are called, from the policy alone.

question: everywhere as admit() gives it, in its one form under the policy.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Final

import dp
from vault.exact_number import spell
from vault.expression import Expression
from vault.policy import Policy
from vault.policy.dataset import DatasetPolicy, GroupLabel
from vault.question import Question, QuestionRefusedError

Label = tuple[GroupLabel, ...]
# Of what values stand for that are no numbers: a hash of 62 bits.
HASHES: Final = dp.Grid(Fraction(1), 0, 2**62)
MOMENTS: Final[dict[str, Callable[[dp.Caps, dp.Grid, int], dp.Question]]] = {
    "sum": dp.Sum,
    "mean": dp.Mean,
    "variance": dp.Variance,
    "std": dp.StandardDeviation,
}


def dp_question(policy: Policy, dataset: str, question: Question) -> dp.Question:
    """The question in dp's terms.

    Raises: dp.ParameterError for bounds and caps that no question of the kind can have.
    """
    rules = policy.dataset[dataset]
    if undeclared(rules, question):
        return dp.UndeclaredGroups(dp.Caps(1, rules.groups_per_unit))
    n_groups = len(rules.group_labels(question.by))
    grouped = question.by or question.aggregate == "histogram"
    caps = dp.Caps(rules.rows_per_unit, rules.groups_per_unit if grouped else 1)
    if question.of is not None:
        return _of_values(policy, dataset, question, question.of, caps, n_groups)
    if question.aggregate == "count_units":
        return dp.CountUnits(dp.Caps(1, caps.groups), n_groups)
    if question.aggregate == "top":
        return dp.TopGroups(caps, question.first, n_groups)
    return dp.Count(caps, n_groups)


def _of_values(
    policy: Policy, dataset: str, question: Question, of: Expression, caps: dp.Caps, n_groups: int
) -> dp.Question:
    if question.aggregate == "count_distinct":
        return dp.CountDistinct(caps, HASHES, n_groups)
    grid = policy.grid(dataset, of)
    if question.aggregate == "quantile":
        return dp.Quantiles(caps, grid, tuple(map(Fraction, question.levels)), n_groups)
    if question.aggregate == "histogram":
        return dp.Histogram.of(caps, grid, policy.dataset[dataset].edges_of(of) or (), n_groups)
    return MOMENTS[question.aggregate](caps, grid, n_groups)


def price_of(rules: DatasetPolicy, question: Question, nano: int, *, gaussian: bool = False) -> dp.Price:
    """What the answer costs at this epsilon: of groups that nobody declared also the delta that the policy declares.

    nano: in units of 1e-9, of rho where the noise is to be Gaussian.
    Raises: QuestionRefusedError where it cannot be.
    """
    if gaussian and (undeclared(rules, question) or question.aggregate in ("quantile", "top")):
        raise QuestionRefusedError("rho", "this question is answered by no Gaussian noise; ask with an epsilon")
    if gaussian:
        return dp.Price.gaussian(nano)
    if undeclared(rules, question):
        return dp.Price.approximate(nano, rules.unknown[question.by[0]].atto_delta)
    return dp.Price.pure(nano)


def undeclared(rules: DatasetPolicy, question: Question) -> bool:
    """Whether it is about groups that nobody declared."""
    return any(name in rules.unknown for name in question.by)


def headings(rules: DatasetPolicy, question: Question) -> tuple[str, ...]:
    """What each part of a group's label is called."""
    if question.aggregate == "quantile":
        return (*question.by, "quantile")
    if question.aggregate == "histogram" and question.of is not None:
        return (*question.by, rules.named(question.of) or str(question.of))
    return question.by


def labels(rules: DatasetPolicy, question: Question) -> tuple[Label, ...]:
    """The label of every group that the answer can have, in order; of groups that nobody declared none."""
    if undeclared(rules, question):
        return ((),)
    own: tuple[Label, ...] = ((),)
    if question.aggregate == "quantile":
        own = tuple((spell(level),) for level in question.levels)
    elif question.aggregate == "histogram" and question.of is not None:
        own = tuple((one,) for one in bins(rules.edges_of(question.of) or ()))
    return tuple((*group, *part) for group, part in product(rules.group_labels(question.by), own))


def bins(edges: Iterable[Decimal]) -> list[str]:
    """The bins between edges: each has its lower edge, and the last one both."""
    pairs = [f"[{spell(low)}, {spell(high)})" for low, high in pairwise(edges)]
    return [*pairs[:-1], *(f"{last[:-1]}]" for last in pairs[-1:])]


def spelled(of: Iterable[Label]) -> tuple[str, ...]:
    """Labels as they are charged: a change of one makes another question."""
    return tuple(", ".join(map(repr, label)) for label in of)


def read_as(policy: Policy, dataset: str, question: Question) -> str:
    """Which rows a question is about and how their columns are read: with another type, other values fit."""
    rules = policy.dataset[dataset]
    kinds = policy.table[rules.table].column
    columns = (f"{name} {kinds[name].type}" for name in sorted({*question.columns, rules.unit}))
    return f"table {rules.table} unit {rules.unit} columns {', '.join(columns)}"
