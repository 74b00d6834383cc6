"""Translation: a question in dp's terms, and how the groups of its answer are called, from the policy alone."""

from collections.abc import Iterable

import dp
from vault.policy import Policy
from vault.policy.dataset import DatasetPolicy, GroupLabel
from vault.question import Question, QuestionRefusedError

Label = tuple[GroupLabel, ...]


def dp_question(policy: Policy, dataset: str, question: Question) -> dp.Question:
    """The question in dp's terms. question: as admit() gives it.

    Raises: dp.ParameterError for bounds and caps that no question of the kind can have.
    """
    rules = policy.dataset[dataset]
    n_groups = len(rules.group_labels(question.by))
    caps = dp.Caps(rules.rows_per_unit, rules.groups_per_unit if question.by else 1)
    if question.aggregate == "count":
        return dp.Count(caps, n_groups)
    if question.of is not None and question.aggregate in ("sum", "mean"):
        kind = dp.Sum if question.aggregate == "sum" else dp.Mean
        return kind(caps, policy.grid(dataset, question.of), n_groups)
    raise QuestionRefusedError(question.aggregate, "is not answered yet; ask for count, sum or mean")


def headings(question: Question) -> tuple[str, ...]:
    """What each part of a group's label is called."""
    return question.by


def labels(rules: DatasetPolicy, question: Question) -> tuple[Label, ...]:
    """The label of every group of the answer, in order."""
    return rules.group_labels(question.by)


def spelled(of: Iterable[Label]) -> tuple[str, ...]:
    """Labels as they are charged: a change of one makes another question."""
    return tuple(", ".join(map(repr, label)) for label in of)


def read_as(policy: Policy, dataset: str, question: Question) -> str:
    """Which rows a question is about and how their columns are read: with another type, other values fit."""
    rules = policy.dataset[dataset]
    kinds = policy.table[rules.table].column
    columns = (f"{name} {kinds[name].type}" for name in sorted({*question.columns, rules.unit}))
    return f"table {rules.table} unit {rules.unit} columns {', '.join(columns)}"
