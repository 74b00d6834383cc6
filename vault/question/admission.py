"""Admission: whether a policy allows a question, and its one text there, decided without any data."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final, NoReturn

from vault.exact_number import is_whole
from vault.expression import Column, Comparison, Expression
from vault.expression.grammar import MOST_PARTS
from vault.expression.words import LONGEST_QUESTION
from vault.policy import ColumnPolicy, DatasetPolicy, Policy
from vault.policy.expression_rules import expression_faults
from vault.question.errors import QuestionRefusedError, QuestionTextError
from vault.question.form import Question
from vault.question.grammar import parse
from vault.question.ranges import INT64, NothingMeetsError, in_ranges

# Ours: an answer is a table that a person reads, and every group of it costs work whether it has rows or not.
MOST_GROUPS: Final = 100_000
DISTINCT_TYPES: Final = ("int", "float", "str", "bytes", "uuid")
_COMPARED_TYPES: Final = ("int", "float", "str")
Columns = Mapping[str, ColumnPolicy]


def admit(question: Question, policy: Policy, dataset: str) -> Question:
    """The question in its one form under this policy, when the dataset declares all that it needs.

    An expression's name is written out, a filter's ranges are in their one spelling.

    Raises: QuestionRefusedError (a QuestionError) naming the parameter and what is allowed. It depends on the
    question and the policy only, so that a refusal tells nothing about the data.
    """
    opened = policy.dataset.get(dataset)
    if opened is None:
        raise QuestionRefusedError("dataset", f"there is no dataset {dataset!r}; {_there_are(policy.dataset)}")
    columns = policy.table[opened.table].column
    question = _written_out(question, opened, columns)
    if question.of is not None:
        _check_aggregated(question, question.of, opened, columns)
    for comparison in question.where:
        _check_comparison(comparison, columns)
    _check_groups(question, opened, columns)
    try:
        where = in_ranges(question.where, {name: column.type for name, column in columns.items()})
    except NothingMeetsError as error:
        nowhere = error.column
    else:
        found = replace(question, where=where)
        _check_length(found)
        return found
    raise QuestionRefusedError("where", f"no row can meet all conditions on {nowhere}; change one of them")


def _check_length(question: Question) -> None:
    """Its one form goes to those who read the rows as text, where numbers and expressions can be longer."""
    try:
        parse(question.canonical())
    except QuestionTextError:
        pass
    else:
        return
    raise QuestionRefusedError(
        "question", f"in its one form it has more than {LONGEST_QUESTION} characters or {MOST_PARTS} parts; ask less"
    )


def _written_out(question: Question, dataset: DatasetPolicy, columns: Columns) -> Question:
    of = question.of
    if isinstance(of, Column) and of.name not in columns and of.name in dataset.expressions:
        if question.aggregate == "count_distinct":
            raise QuestionRefusedError("count_distinct", f"{of.name} is an expression; name a column")
        return replace(question, of=dataset.expressions[of.name].expression)
    if question.aggregate == "count_distinct" and of == Column(dataset.unit):
        return replace(question, aggregate="count_units", of=None)
    return question


def _check_aggregated(question: Question, of: Expression, dataset: DatasetPolicy, columns: Columns) -> None:
    if isinstance(of, Column):
        _column("column", of.name, columns)
    else:
        for fault in expression_faults(of, columns):
            raise QuestionRefusedError("expression", fault)
    if question.aggregate == "count_distinct":
        _check_distinct(columns[str(of)], str(of))
    elif question.aggregate == "histogram":
        _check_edges(of, dataset)
    elif dataset.bounds_of(of) is None:
        _refuse_unbounded(of, dataset)


def _refuse_unbounded(of: Expression, dataset: DatasetPolicy) -> NoReturn:
    if isinstance(of, Column):
        raise QuestionRefusedError("column", f"{of} has no bounds in the dataset; {_there_are(dataset.bounds)}")
    named = (f"{name} ({declared.text})" for name, declared in dataset.expressions.items())
    raise QuestionRefusedError("expression", f"{of} has no bounds in the dataset; {_there_are(named)}")


def _check_edges(of: Expression, dataset: DatasetPolicy) -> None:
    if dataset.edges_of(of) is None:
        raise QuestionRefusedError("histogram", f"{of} has no edges in the dataset; {_there_are(dataset.edges)}")


def _check_distinct(column: ColumnPolicy, name: str) -> None:
    if column.type not in DISTINCT_TYPES:
        raise QuestionRefusedError(
            "count_distinct", f"{name} is {column.type}; count the values of one that is {', '.join(DISTINCT_TYPES)}"
        )


def _check_groups(question: Question, dataset: DatasetPolicy, columns: Columns) -> None:
    by = question.by
    for name in by:
        _column("by", name, columns)
        if name in dataset.unknown:
            _check_unknown(question, name)
        elif name not in dataset.groups:
            raise QuestionRefusedError(
                "by", f"{name} has no declared groups; {_there_are((*dataset.groups, *dataset.unknown))}"
            )
    edges = dataset.edges_of(question.of) if question.aggregate == "histogram" and question.of is not None else ()
    parts = max(1, len(edges or ()) - 1) * max(1, len(question.levels))
    n_groups = math.prod(len(dataset.groups[name]) for name in by if name in dataset.groups)
    _check_top(question, n_groups)
    if parts * n_groups > MOST_GROUPS:
        raise QuestionRefusedError("by", f"the columns make more than {MOST_GROUPS} groups; name fewer columns")


def _check_top(question: Question, n_groups: int) -> None:
    if question.first > n_groups:
        raise QuestionRefusedError("top", f"there are {n_groups} groups; ask for as many, or fewer")


def _check_unknown(question: Question, name: str) -> None:
    """Which groups there are is told only by how many units are in each."""
    if question.aggregate != "count_units":
        raise QuestionRefusedError(
            "by", f"the groups of {name} are not declared: write count_units(*) by {name}, or declare its groups"
        )
    if len(question.by) > 1:
        raise QuestionRefusedError("by", f"the groups of {name} are not declared: group by {name} alone")


def _check_comparison(comparison: Comparison, columns: Columns) -> None:
    name, column = comparison.column, _column("where", comparison.column, columns)
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
        if not INT64[0] <= value <= INT64[1]:
            _refuse(f"{name} is int; a number outside 64 bits equals none of its values")
    elif math.isinf(float(value)):
        _refuse(f"{name} is float; this number is beyond the largest float")


def _column(parameter: str, name: str, columns: Columns) -> ColumnPolicy:
    column = columns.get(name)
    if column is None:
        raise QuestionRefusedError(parameter, f"there is no column {name}; {_there_are(columns)}")
    return column


def _literal_of(column: ColumnPolicy) -> str:
    return "a 'text' in single quotes" if column.type == "str" else "a number"


def _there_are(names: Iterable[str]) -> str:
    return f"there are: {', '.join(names) or 'none'}"


def _refuse(problem: str) -> NoReturn:
    raise QuestionRefusedError("where", problem)
