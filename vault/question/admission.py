"""Admission: whether a policy allows a question, decided from the two alone, without any data."""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NoReturn

from vault.exact_number import is_whole
from vault.policy import ColumnPolicy, DatasetPolicy, Policy, TablePolicy
from vault.question.errors import QuestionRefusedError
from vault.question.form import Comparison, Question

# Ours: an answer is a table that a person reads, and every group of it costs work whether it has rows or not.
MOST_GROUPS: Final = 100_000
_COMPARED_TYPES: Final = ("int", "float", "str")
_INT64: Final = (-(2**63), 2**63 - 1)


def validate(question: Question, policy: Policy, dataset: str) -> None:
    """Pass when the dataset declares all that the question needs.

    Raises: QuestionRefusedError (a QuestionError) naming the parameter and what is allowed. It depends on the
    question and the policy only, so that a refusal tells nothing about the data.
    """
    opened = policy.dataset.get(dataset)
    if opened is None:
        raise QuestionRefusedError("dataset", f"there is no dataset {dataset!r}; {_there_are(policy.dataset)}")
    table = policy.table[opened.table]
    if question.column is not None:
        _check_aggregated(question.column, opened, table)
    for comparison in question.where:
        _check_comparison(comparison, table)
    _check_groups(question.by, opened, table)


def _check_aggregated(name: str, dataset: DatasetPolicy, table: TablePolicy) -> None:
    _column("column", name, table)
    if name not in dataset.bounds:
        raise QuestionRefusedError("column", f"{name} has no bounds in the dataset; {_there_are(dataset.bounds)}")


def _check_groups(by: Iterable[str], dataset: DatasetPolicy, table: TablePolicy) -> None:
    for name in by:
        _column("by", name, table)
        if name not in dataset.groups:
            raise QuestionRefusedError("by", f"{name} has no declared groups; {_there_are(dataset.groups)}")
    if math.prod(len(dataset.groups[name]) for name in by) > MOST_GROUPS:
        raise QuestionRefusedError("by", f"the columns make more than {MOST_GROUPS} groups; name fewer columns")


def _check_comparison(comparison: Comparison, table: TablePolicy) -> None:
    name, column = comparison.column, _column("where", comparison.column, table)
    if column.type not in _COMPARED_TYPES:
        kinds = "bytes" if column.type == "bytes" else f"a {column.type}"
        _refuse(f"{name} holds {kinds}, and those cannot be compared in a question")
    for value in comparison.values:
        if isinstance(value, str) != (column.type == "str"):
            _refuse(f"{name} is {column.type}; compare it with {_literal_of(column)}")
        if isinstance(value, Decimal):
            _check_number(name, value, column)
    if column.type == "str" and comparison.operator not in ("=", "!=", "in"):
        _refuse(f"{name} is str, and texts have no order here; use = != or in")


def _check_number(name: str, value: Decimal, column: ColumnPolicy) -> None:
    if column.type == "int":
        if not is_whole(value):
            _refuse(f"{name} is int; compare it with a whole number")
        if not _INT64[0] <= value <= _INT64[1]:
            _refuse(f"{name} is int; a number outside 64 bits equals none of its values")
    elif math.isinf(float(value)):
        _refuse(f"{name} is float; this number is beyond the largest float")


def _column(parameter: str, name: str, table: TablePolicy) -> ColumnPolicy:
    column = table.column.get(name)
    if column is None:
        raise QuestionRefusedError(parameter, f"there is no column {name}; {_there_are(table.column)}")
    return column


def _literal_of(column: ColumnPolicy) -> str:
    return "a 'text' in single quotes" if column.type == "str" else "a number"


def _there_are(names: Iterable[str]) -> str:
    return f"there are: {', '.join(names) or 'none'}"


def _refuse(problem: str) -> NoReturn:
    raise QuestionRefusedError("where", problem)
